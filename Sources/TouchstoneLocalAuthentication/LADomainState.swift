public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces

/// Names what the owner can be recognised by: keep it, and compare it with a later one (DS-09).
///
/// It advises: only `biometryCurrentSet` is enforced (DS-11).
///
/// > Source: DS-03...DS-05, DS-09. Without a device: every hash is nil.
///
/// > Concurrency: Its values never change. Not declared `Sendable`, as Apple's is not.
public final class LADomainState: NSObject {
    /// The part of fingers and faces.
    public let biometry: LADomainStateBiometry
    /// The part of companion devices, of which there are none.
    public let companion: LADomainStateCompanion

    /// Nil stands for no device.
    init(_ environment: AuthenticationInterface.Environment?) {
        biometry = LADomainStateBiometry(environment)
        companion = LADomainStateCompanion()
    }

    /// Names both parts together.
    ///
    /// Without companions it is that of `biometry`; nil if both are nil.
    public var stateHash: Data? { biometry.stateHash }
}

/// The part of a domain state that is of fingers and faces (DS-09).
///
/// > Concurrency: Its values never change. Not declared `Sendable`, as Apple's is not.
public final class LADomainStateBiometry: NSObject {
    /// The sensor that the device has, ready or not.
    public let biometryType: LABiometryType
    /// Names the set of enrolled fingers or faces: 32 bytes, others for every app (DS-05).
    ///
    /// Nil if nothing is enrolled, and as long as biometry is locked out.
    public let stateHash: Data?

    init(_ environment: AuthenticationInterface.Environment?) {
        biometryType = environment.map { LABiometryType($0.biometryType) } ?? .none
        stateHash = environment?.isBiometryLockedOut == false ? environment?.domainState : nil
    }
}

/// The part of a domain state that is of companion devices: there are none on Linux.
///
/// > Concurrency: Its values never change. Not declared `Sendable`, as Apple's is not.
public final class LADomainStateCompanion: NSObject {
    override init() {}

    /// The kinds of companions that are paired: none.
    public var availableCompanionTypes: Set<LACompanionType> { [] }

    /// Names all companions together: nil, as none is paired.
    public var stateHash: Data? { nil }

    /// Names the companions of one kind.
    ///
    /// - Parameter companionType: The kind.
    /// - Returns: Nil, as none is paired.
    @discardableResult
    public func stateHash(for companionType: LACompanionType) -> Data? { nil }
}
