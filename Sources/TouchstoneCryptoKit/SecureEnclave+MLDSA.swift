public import Crypto
public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
public import TouchstoneLocalAuthentication
public import TouchstoneSecurity

extension SecureEnclave {
    /// Keys of the signature algorithm ML-DSA-65 (FIPS 204).
    public enum MLDSA65: Sendable {}
    /// Keys of the signature algorithm ML-DSA-87 (FIPS 204).
    public enum MLDSA87: Sendable {}
}

extension SecureEnclave.MLDSA65 {
    /// A key that signs.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.MLDSA65.PublicKey

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
            try self.init(WrappedKey(.mldsa65, accessControl, authenticationContext))
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
            try self.init(WrappedKey(.mldsa65, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(rawRepresentation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Signs data; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameter data: What to sign: at most 512 KiB, because all of it goes to the enclave.
        /// - Returns: A signature of 3309 bytes, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`; `incorrectParameterSize` for more data.
        public func signature<D: DataProtocol>(for data: D) throws -> Data {
            try key.signature(for: Data(data))
        }

        /// Signs data in a context; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameters:
        ///   - data: What to sign: at most 512 KiB, because all of it goes to the enclave.
        ///   - context: What the signature is for, and is checked with: at most 255 bytes.
        /// - Returns: A signature of 3309 bytes, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`; `incorrectParameterSize` where either is too long.
        public func signature<D: DataProtocol, C: DataProtocol>(for data: D, context: C) throws -> Data {
            try key.signature(for: Data(data), context: Data(context))
        }
    }
}

extension SecureEnclave.MLDSA87 {
    /// A key that signs.
    ///
    /// What its members throw is told in <doc:ErrorsOfKeys>.
    public struct PrivateKey: Sendable {
        private let key: WrappedKey

        /// The public half, which anybody may have.
        public let publicKey: Crypto.MLDSA87.PublicKey

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
            try self.init(WrappedKey(.mldsa87, accessControl, authenticationContext))
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
            try self.init(WrappedKey(.mldsa87, dataRepresentation, authenticationContext))
        }

        private init(_ key: WrappedKey) throws {
            self.key = key
            publicKey = try .init(rawRepresentation: key.publicKey)
        }

        /// The key in the form that an app keeps: wrapped, and of no use on another device or to another app.
        public var dataRepresentation: Data { key.dataRepresentation }

        /// Signs data; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameter data: What to sign: at most 512 KiB, because all of it goes to the enclave.
        /// - Returns: A signature of 4627 bytes, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`; `incorrectParameterSize` for more data.
        public func signature<D: DataProtocol>(for data: D) throws -> Data {
            try key.signature(for: Data(data))
        }

        /// Signs data in a context; blocks while the owner is asked.
        ///
        /// > Source: SE-16.
        ///
        /// - Parameters:
        ///   - data: What to sign: at most 512 KiB, because all of it goes to the enclave.
        ///   - context: What the signature is for, and is checked with: at most 255 bytes.
        /// - Returns: A signature of 4627 bytes, another one each time.
        /// - Throws: `LAError` or `CryptoKitError`; `incorrectParameterSize` where either is too long.
        public func signature<D: DataProtocol, C: DataProtocol>(for data: D, context: C) throws -> Data {
            try key.signature(for: Data(data), context: Data(context))
        }
    }
}
