import Crypto
import Foundation
import TouchstoneCore

/// A private key as apps keep it (SE-03).
///
/// Version (1 byte; 2 has the generation of its class key, 4 bytes, little-endian, in front of the sealed key, 1 is of generation 0), then
/// AES-256-GCM under a key of this device alone of kind (1) ‖ class (1) ‖ flags (8, little-endian) ‖ enrolment hash (32, zero where the control does not want it) ‖ salt of the application
/// password (32, zero where there is none) ‖ access group ‖ public key (each a length of 2 bytes, little-endian, and its bytes) ‖ sealed key.
///
/// The sealed key is AES-256-GCM of the private key under its class key, with all that stands before it authenticated. So what the key is
/// can be read while its class is locked, and a key whose class key was destroyed is told from one that is another device's.
struct PrivateKeyBlob {
    var kind: KeyKind
    /// Whether the private key is in the root of trust's hardware: then what is sealed here is a ``HeldKey``.
    var isHeld = false
    var control: AccessControl
    /// Of the enrolment that it is bound to (AC-50).
    var enrolment = Data(count: fieldBytes)
    var passwordSalt = Data(count: fieldBytes)
    var accessGroup: AccessGroup
    var publicKey: Data
    /// Of the class key that seals it.
    var generation: UInt32 = 0
    var sealedKey = Data()

    private static let versions: ClosedRange<UInt8> = 1...2
    private static let fieldBytes = 32

    init(kind: KeyKind, control: AccessControl, accessGroup: AccessGroup, publicKey: Data) {
        self.kind = kind
        self.control = control
        self.accessGroup = accessGroup
        self.publicKey = publicKey
    }

    /// nil for anything that `sealed` does not make with this key.
    init?(_ blob: Data, key: SymmetricKey) {
        guard let version = blob.first, Self.versions.contains(version),
            let box = try? AES.GCM.SealedBox(combined: blob.dropFirst()),
            let plain = try? AES.GCM.open(box, using: key, authenticating: Self.context(version))
        else { return nil }
        var rest = plain[...]
        func take(_ count: Int) -> Data? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Data(rest.prefix(count))
        }
        func takeCounted() -> Data? {
            guard let count = take(2) else { return nil }
            return take(Int(count[0]) | Int(count[1]) << 8)
        }
        guard let number = take(1)?[0],
            let kind = number == Self.heldP256 ? .p256 : KeyKind(number: number),
            let protection = take(1).flatMap({ Accessibility(number: $0[0]) }),
            let flags = take(8)?.reversed().reduce(UInt64(0), { $0 << 8 | UInt64($1) }),
            let control = try? AccessControl(protection: protection, flags: .init(rawValue: flags)),
            let enrolment = take(Self.fieldBytes), let salt = take(Self.fieldBytes),
            let group = takeCounted().flatMap({ String(data: $0, encoding: .utf8) }), let publicKey = takeCounted()
        else { return nil }
        self.init(kind: kind, control: control, accessGroup: AccessGroup(group), publicKey: publicKey)
        isHeld = number == Self.heldP256
        self.enrolment = enrolment
        passwordSalt = salt
        if version == 2 {
            guard let number = take(4) else { return nil }
            generation = number.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        sealedKey = Data(rest)
    }

    func sealed(key: SymmetricKey, _ random: any RandomSource) throws -> Data {
        var plain = description
        let version: UInt8 = generation == 0 ? 1 : 2
        // As it was before there were generations, while there is only the first.
        if generation > 0 {
            for shift in stride(from: 0, to: 32, by: 8) { plain.append(UInt8(truncatingIfNeeded: generation >> shift)) }
        }
        return try Data([version])
            + random.seal(plain + sealedKey, using: key, authenticating: Self.context(version))
    }

    private static func context(_ version: UInt8) -> Data { Data("io.touchstone private key blob \(version)".utf8) }

    /// All but the sealed key, which it is authenticated with.
    var description: Data {
        var bytes = Data([isHeld ? Self.heldP256 : kind.number, control.protection.number])
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: control.flags.rawValue >> UInt64(shift)))
        }
        bytes.append(enrolment)
        bytes.append(passwordSalt)
        for counted in [Data(accessGroup.utf8), publicKey] {
            bytes.append(UInt8(truncatingIfNeeded: counted.count))
            bytes.append(UInt8(truncatingIfNeeded: counted.count >> 8))
            bytes.append(counted)
        }
        return bytes
    }

    /// In the place of a kind's number.
    private static let heldP256: UInt8 = 6

    /// Longest access group, in bytes.
    static let maximumGroupBytes = Int(UInt16.max)
}
