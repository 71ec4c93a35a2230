public import Crypto
public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
public import TouchstoneLocalAuthentication
public import TouchstoneSecurity

extension SecureEnclave {
    /// Keys of the curve P-256.
    public enum P256: Sendable {
        /// Signatures (ECDSA).
        public enum Signing: Sendable {}
        /// Shared secrets (ECDH).
        public enum KeyAgreement: Sendable {}
    }
}

extension SecureEnclave.P256.Signing {
    /// A key that signs.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.P256.Signing.PublicKey

        /// Makes a key in the enclave; asks nobody.
        ///
        /// > Source: SE-02, SE-15.
        ///
        /// - Parameters:
        ///   - compactRepresentable: Whether the public key is to have a compact representation.
        ///   - accessControl: When the key can be used, and who has to prove what; bound to the fingers that are enrolled now.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError`.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl = SecureEnclave.defaultAccessControl,
            authenticationContext: LAContext? = nil
        ) throws {
            let key = try WrappedKey.p256(compactRepresentable, accessControl, authenticationContext)
            try self.init(key)
        }

        /// Takes up a key that was made before, on this device and by this app; asks nobody.
        ///
        /// > Source: SE-03.
        ///
        /// - Parameters:
        ///   - dataRepresentation: That of the key.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError.unwrapFailure` for anything else.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            try self.init(WrappedKey(.p256, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(x963Representation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Signs a digest; blocks while the owner is asked.
        ///
        /// > Source: SE-16, SE-20, SE-21.
        ///
        /// - Parameter digest: Of any hash; of one that is longer than 32 bytes the first 32 count.
        /// - Returns: A signature, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`.
        public func signature<D: Digest>(for digest: D) throws -> Crypto.P256.Signing.ECDSASignature {
            // As a number: a shorter one has zeros before it.
            let digest = Data(count: max(0, 32 - D.byteCount)) + Data(digest).prefix(32)
            return try .init(rawRepresentation: key.signature(ofDigest: digest))
        }

        /// Signs the SHA-256 digest of data; blocks while the owner is asked.
        ///
        /// > Source: SE-16, SE-20.
        ///
        /// - Parameter data: What to sign: of any length, and hashed in this process.
        /// - Returns: A signature, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`.
        public func signature<D: DataProtocol>(for data: D) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}

extension SecureEnclave.P256.KeyAgreement {
    /// A key that agrees on secrets with the holders of other keys, and opens what `HPKE` sealed for it.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: HPKEDiffieHellmanPrivateKey, Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.P256.KeyAgreement.PublicKey

        /// Makes a key in the enclave; asks nobody.
        ///
        /// > Source: SE-02, SE-15.
        ///
        /// - Parameters:
        ///   - compactRepresentable: Whether the public key is to have a compact representation.
        ///   - accessControl: When the key can be used, and who has to prove what; bound to the fingers that are enrolled now.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError`.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl = SecureEnclave.defaultAccessControl,
            authenticationContext: LAContext? = nil
        ) throws {
            let key = try WrappedKey.p256(compactRepresentable, accessControl, authenticationContext)
            try self.init(key)
        }

        /// Takes up a key that was made before, on this device and by this app; asks nobody.
        ///
        /// > Source: SE-03.
        ///
        /// - Parameters:
        ///   - dataRepresentation: That of the key.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError.unwrapFailure` for anything else.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            try self.init(WrappedKey(.p256, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(x963Representation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Agrees on a secret with the holder of another key; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameter publicKeyShare: The other's public key.
        /// - Returns: The secret, of which keys are derived.
        /// - Throws: `LAError` or `CryptoKitError`.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            try SharedSecret(coordinate: key.sharedSecret(with: publicKeyShare.x963Representation))
        }
    }
}
