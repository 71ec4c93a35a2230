internal import Crypto
public import Foundation

/// What the enclave signs, so that a host lets somebody in (PM-1).
///
/// Whoever answers has to have the enclave's key, and has to use it now and for this: there is nothing to keep, and nothing to use again.
public struct Challenge: Equatable, Sendable {
    /// Bytes of ``random``.
    public static let randomBytes = 32
    private static let label = "io.touchstone.pam 1"

    /// Drawn for this challenge alone.
    public var random: Data
    /// The number of the user who is to be confirmed.
    public var userID: UInt32
    /// The name of the PAM service, such as `sudo`.
    public var service: String
    /// The name of that user.
    public var user: String
    /// The terminal as the host names it; may be empty.
    public var terminal: String
    /// The kernel's name of this boot.
    public var bootID: String

    /// A challenge.
    ///
    /// - Parameters: As of the properties.
    public init(random: Data, userID: UInt32, service: String, user: String, terminal: String, bootID: String) {
        self.random = random
        self.userID = userID
        self.service = service
        self.user = user
        self.terminal = terminal
        self.bootID = bootID
    }

    /// All of it, each part behind its length in 4 bytes, the most significant first, so that no two challenges have the same bytes.
    public var bytes: Data {
        [
            Data(Self.label.utf8), random, Self.bytes(userID), Data(service.utf8), Data(user.utf8), Data(terminal.utf8),
            Data(bootID.utf8),
        ].reduce(into: Data()) { all, part in all += Self.bytes(UInt32(part.count)) + part }
    }

    private static func bytes(_ number: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
    }

    /// SHA-256 of ``bytes``: 32 bytes, which the enclave signs.
    public var digest: Data { Data(SHA256.hash(data: bytes)) }

    /// Whether the key of the enclave's signed this challenge.
    ///
    /// - Parameters:
    ///   - signature: r and s, 32 bytes each.
    ///   - publicKey: The point of P-256, uncompressed, 65 bytes.
    /// - Returns: false also for what is no signature, or no key.
    public func isSigned(_ signature: Data, by publicKey: Data) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: bytes))
    }
}
