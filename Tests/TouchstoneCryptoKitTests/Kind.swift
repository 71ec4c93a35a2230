import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing

/// A kind of key in the enclave: what holds for all of them is tested with each.
struct Kind: Sendable, CustomTestStringConvertible {
    /// A key, and what its kind does with it.
    struct Key {
        let dataRepresentation: Data
        let publicKey: Data
        /// Uses the private key; whether the public one agrees.
        let works: () throws -> Bool
    }

    let testDescription: String
    let make: @Sendable (SecAccessControl, LAContext?) throws -> Key
    let restore: @Sendable (Data, LAContext?) throws -> Key

    static let all = [
        Kind(
            testDescription: "P256.Signing",
            make: { Key(signing: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(signing: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
        Kind(
            testDescription: "P256.KeyAgreement",
            make: { Key(agreement: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(agreement: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
        Kind(
            testDescription: "MLKEM768",
            make: { Key(mlkem768: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(mlkem768: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
        Kind(
            testDescription: "MLKEM1024",
            make: { Key(mlkem1024: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(mlkem1024: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
        Kind(
            testDescription: "MLDSA65", make: { Key(mldsa65: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(mldsa65: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
        Kind(
            testDescription: "MLDSA87", make: { Key(mldsa87: try .init(accessControl: $0, authenticationContext: $1)) },
            restore: { Key(mldsa87: try .init(dataRepresentation: $0, authenticationContext: $1)) }),
    ]
}

private let message = Data("message".utf8)

extension Kind.Key {
    init(signing key: SecureEnclave.P256.Signing.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.x963Representation) {
            key.publicKey.isValidSignature(try key.signature(for: message), for: message)
        }
    }

    init(agreement key: SecureEnclave.P256.KeyAgreement.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.x963Representation) {
            let other = P256.KeyAgreement.PrivateKey()
            return try key.sharedSecretFromKeyAgreement(with: other.publicKey)
                == other.sharedSecretFromKeyAgreement(with: key.publicKey)
        }
    }

    init(mlkem768 key: SecureEnclave.MLKEM768.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.rawRepresentation) {
            let result = try key.publicKey.encapsulate()
            return try key.decapsulate(result.encapsulated) == result.sharedSecret
        }
    }

    init(mlkem1024 key: SecureEnclave.MLKEM1024.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.rawRepresentation) {
            let result = try key.publicKey.encapsulate()
            return try key.decapsulate(result.encapsulated) == result.sharedSecret
        }
    }

    init(mldsa65 key: SecureEnclave.MLDSA65.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.rawRepresentation) {
            key.publicKey.isValidSignature(try key.signature(for: message), for: message)
        }
    }

    init(mldsa87 key: SecureEnclave.MLDSA87.PrivateKey) {
        self.init(dataRepresentation: key.dataRepresentation, publicKey: key.publicKey.rawRepresentation) {
            key.publicKey.isValidSignature(try key.signature(for: message), for: message)
        }
    }
}
