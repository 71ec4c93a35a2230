public import Foundation
internal import TouchstoneCore

/// What the owner has to prove for a right (EV-64).
///
/// > Concurrency: Never changes. Not declared `Sendable`, as Apple's is not.
public final class LAAuthenticationRequirement: NSObject {
    let flags: AccessControl.Flags

    init(_ flags: AccessControl.Flags) {
        self.flags = flags
    }

    /// A finger or a face, else the passcode.
    public static var `default`: LAAuthenticationRequirement { LAAuthenticationRequirement(.userPresence) }

    /// A finger or a face, enrolled now or later.
    public static var biometry: LAAuthenticationRequirement { LAAuthenticationRequirement(.biometryAny) }

    /// A finger or a face of those that are enrolled when the right is saved: any change of the enrolment ends the right (AC-50).
    public static var biometryCurrentSet: LAAuthenticationRequirement {
        LAAuthenticationRequirement(.biometryCurrentSet)
    }

    /// A finger or a face, or something else in its place.
    ///
    /// - Parameter fallback: What else will do.
    /// - Returns: The requirement.
    @discardableResult
    public static func biometry(fallback: LABiometryFallbackRequirement) -> LAAuthenticationRequirement {
        LAAuthenticationRequirement(fallback.flags)
    }

    /// Whether another requirement asks for the same.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is such a requirement.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LAAuthenticationRequirement)?.flags == flags
    }

    /// The hash of what it asks for.
    public override var hash: Int { flags.hashValue }
}

/// What will do where a finger or a face will not (EV-64).
///
/// > Concurrency: Never changes. Not declared `Sendable`, as Apple's is not.
public final class LABiometryFallbackRequirement: NSObject {
    fileprivate let flags: AccessControl.Flags

    private init(_ flags: AccessControl.Flags) {
        self.flags = flags
    }

    /// The device's own: the passcode.
    public static var `default`: LABiometryFallbackRequirement { LABiometryFallbackRequirement(.userPresence) }

    /// The passcode.
    public static var devicePasscode: LABiometryFallbackRequirement {
        LABiometryFallbackRequirement([.biometryAny, .or, .devicePasscode])
    }

    /// Whether another fallback is the same.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is the same one.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LABiometryFallbackRequirement)?.flags == flags
    }

    /// The hash of what it is.
    public override var hash: Int { flags.hashValue }
}
