public import Crypto
public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
public import TouchstoneLocalAuthentication
public import TouchstoneSecurity

extension SecureEnclave {
    /// Keys of the key encapsulation mechanism ML-KEM-768 (FIPS 203).
    public enum MLKEM768: Sendable {}
    /// Keys of the key encapsulation mechanism ML-KEM-1024 (FIPS 203).
    public enum MLKEM1024: Sendable {}
}

extension SecureEnclave.MLKEM768 {
    /// A key that takes out the secrets which others encapsulated to its public half.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: KEMPrivateKey, Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.MLKEM768.PublicKey

        /// Makes a key in the enclave; asks nobody.
        ///
        /// > Source: SE-01, SE-02, SE-15.
        ///
        /// - Parameters:
        ///   - accessControl: When the key can be used, and who has to prove what; bound to the fingers that are enrolled now.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError`.
        public init(
            accessControl: SecAccessControl = SecureEnclave.defaultAccessControl,
            authenticationContext: LAContext? = nil
        ) throws {
            try self.init(WrappedKey(.mlkem768, accessControl, authenticationContext))
        }

        /// Makes a key that is usable while the device is unlocked, with nobody asked.
        ///
        /// - Returns: The key.
        /// - Throws: `CryptoKitError`.
        public static func generate() throws -> Self { try Self() }

        /// Takes up a key that was made before, on this device and by this app; asks nobody.
        ///
        /// > Source: SE-03.
        ///
        /// - Parameters:
        ///   - dataRepresentation: That of the key.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError.unwrapFailure` for anything else.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            try self.init(WrappedKey(.mlkem768, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(rawRepresentation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Takes out an encapsulated secret; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameter encapsulated: What `encapsulate()` of the public key returned beside the secret: 1088 bytes.
        /// - Returns: The secret, 256 bits. Of 1088 other bytes a secret that nobody has, as FIPS 203 wants it.
        /// - Throws: `LAError` or `CryptoKitError`.
        public func decapsulate<D: DataProtocol>(_ encapsulated: D) throws -> SymmetricKey {
            try key.decapsulate(Data(encapsulated))
        }
    }
}

extension SecureEnclave.MLKEM1024 {
    /// A key that takes out the secrets which others encapsulated to its public half.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: KEMPrivateKey, Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.MLKEM1024.PublicKey

        /// Makes a key in the enclave; asks nobody.
        ///
        /// > Source: SE-01, SE-02, SE-15.
        ///
        /// - Parameters:
        ///   - accessControl: When the key can be used, and who has to prove what; bound to the fingers that are enrolled now.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError`.
        public init(
            accessControl: SecAccessControl = SecureEnclave.defaultAccessControl,
            authenticationContext: LAContext? = nil
        ) throws {
            try self.init(WrappedKey(.mlkem1024, accessControl, authenticationContext))
        }

        /// Makes a key that is usable while the device is unlocked, with nobody asked.
        ///
        /// - Returns: The key.
        /// - Throws: `CryptoKitError`.
        public static func generate() throws -> Self { try Self() }

        /// Takes up a key that was made before, on this device and by this app; asks nobody.
        ///
        /// > Source: SE-03.
        ///
        /// - Parameters:
        ///   - dataRepresentation: That of the key.
        ///   - authenticationContext: On which the owner is asked when the key is used; nil for a new one each time.
        /// - Throws: `CryptoKitError.unwrapFailure` for anything else.
        public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
            try self.init(WrappedKey(.mlkem1024, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(rawRepresentation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Takes out an encapsulated secret; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameter encapsulated: What `encapsulate()` of the public key returned beside the secret: 1568 bytes.
        /// - Returns: The secret, 256 bits. Of 1568 other bytes a secret that nobody has, as FIPS 203 wants it.
        /// - Throws: `LAError` or `CryptoKitError`.
        public func decapsulate<D: DataProtocol>(_ encapsulated: D) throws -> SymmetricKey {
            try key.decapsulate(Data(encapsulated))
        }
    }
}
