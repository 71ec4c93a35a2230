import Crypto
import Foundation
import TouchstoneCircle
import TouchstoneMemory

/// A member's private keys.
struct CircleKeys: Sendable {
    let signing: P256.Signing.PrivateKey
    let sealing: Curve25519.KeyAgreement.PrivateKey

    var identity: MemberIdentity { MemberIdentity(signing: signing.publicKey, sealing: sealing.publicKey) }

    private static let keyBytes = 32
    private static let attempts = 8

    /// Draws new keys.
    ///
    /// - Returns: nil for a source that gives no number of the curve.
    init?(_ random: any RandomSource) {
        // One of 2^32 numbers is no private key of P-256.
        for _ in 0..<Self.attempts {
            var bytes = random.bytes(count: 2 * Self.keyBytes)
            defer { bytes.resetBytes(in: 0..<bytes.count) }
            guard let keys = Self(rawRepresentation: bytes) else { continue }
            self = keys
            return
        }
        return nil
    }

    init?(rawRepresentation: Data) {
        guard rawRepresentation.count == 2 * Self.keyBytes,
            let signing = try? P256.Signing.PrivateKey(rawRepresentation: rawRepresentation.prefix(Self.keyBytes)),
            let sealing = try? Curve25519.KeyAgreement.PrivateKey(
                rawRepresentation: rawRepresentation.suffix(Self.keyBytes))
        else { return nil }
        (self.signing, self.sealing) = (signing, sealing)
    }

    /// A recovery key's, out of the secret that its words stand for (SY-14).
    ///
    /// - Returns: nil for another length, and for one secret in 2^32, which is no number of the curve.
    init?(recoverySecret: SecretBytes, circle: Data) {
        guard recoverySecret.count == Self.recoverySecretBytes else { return nil }
        let keys = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: recoverySecret.symmetricKey, salt: circle, info: Purpose.recoveryKey.text,
            outputByteCount: 2 * Self.keyBytes)
        var bytes = unsafe keys.withUnsafeBytes { unsafe Data($0) }
        defer { bytes.resetBytes(in: 0..<bytes.count) }
        self.init(rawRepresentation: bytes)
    }

    private static let recoverySecretBytes = 16

    /// Whoever asks erases it.
    var rawRepresentation: Data { signing.rawRepresentation + sealing.rawRepresentation }

    /// r ‖ s, 64 bytes, of the SHA-256 of `bytes`.
    func sign(_ bytes: Data) throws -> Data { try signing.signature(for: bytes).rawRepresentation }
}

/// A circle whose chain was checked, with what its member may open.
struct CircleAccess {
    var keys: CircleKeys
    var chain: CircleChain
    /// nil: the present epoch's key was not sealed to this member as it should be.
    var epochs: EpochKeys?

    var me: MemberID { keys.identity.id }
}

/// The circle that was opened last: to check a chain and to open its epochs takes long.
///
/// > Concurrency: Used in the enclave's turn only.
final class OpenedCircle {
    private var links: [Data] = []
    private var epoch: UInt64?
    private var opened: CircleAccess?

    /// nil for another chain than was opened, or for other class keys.
    func access(_ links: [Data], epoch: UInt64) -> CircleAccess? {
        self.epoch == epoch && self.links == links ? opened : nil
    }

    func keep(_ opened: CircleAccess, _ links: [Data], epoch: UInt64) {
        (self.opened, self.links, self.epoch) = (opened, links, epoch)
    }

    func forget() { (opened, links, epoch) = (nil, [], nil) }
}

/// This device's way into a circle, which ends with the process: until it has joined, nothing was sealed to its keys that counts.
struct CircleApplicant: Sendable {
    var keys: CircleKeys
    var applicant: Applicant
}
