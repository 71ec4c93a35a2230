internal import Crypto
internal import Foundation
internal import TouchstoneCore
internal import TouchstoneKeyAlgorithms

extension SoftwareKey {
    /// As Apple's: a private RSA key verifies too, and a public one decrypts, which is to undo what the private one did.
    ///
    /// Unlike Apple's, a key of P-192 or P-224 makes nothing new: it neither signs nor is encrypted to.
    func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch (self, algorithm, operation) {
        case (.rsaPublic(let key), .rsaSignature(let scheme, let input), .verify): key.supports(scheme, input)
        case (.rsaPublic(let key), .rsaEncryption(let scheme), .encrypt): key.supports(scheme)
        case (.rsaPublic(let key), .rsaEncryption(let scheme), .decrypt): key.supports(scheme)
        case (.rsaPrivate(let key), .rsaSignature(let scheme, let input), .sign): key.supports(scheme, input)
        case (.rsaPrivate(let key), .rsaSignature(let scheme, let input), .verify): key.supports(scheme, input)
        case (.rsaPrivate(let key), .rsaEncryption(let scheme), .decrypt): key.supports(scheme)
        case (.ellipticCurvePublic, .ecdsaSignature, .verify): true
        case (.ellipticCurvePublic(let key), .eciesEncryption, .encrypt): !key.curve.isOld
        case (.ellipticCurvePrivate(let key), .ecdsaSignature, .sign): !key.publicKey.curve.isOld
        case (.ellipticCurvePrivate, .eciesEncryption, .decrypt): true
        case (.ellipticCurvePrivate, .ecdhKeyExchange, .keyExchange): true
        default: false
        }
    }

    func signature(for data: Data, _ algorithm: KeyAlgorithm) throws(Status) -> Data {
        switch (self, algorithm) {
        case (.rsaPrivate(let key), .rsaSignature(let scheme, let input)): try key.signature(for: data, scheme, input)
        case (.ellipticCurvePrivate(let key), .ecdsaSignature(let encoding, let input)):
            try key.signature(for: data, input, encoding)
        default: throw .param
        }
    }

    func isValidSignature(_ signature: Data, for data: Data, _ algorithm: KeyAlgorithm) throws(Status) -> Bool {
        switch (self, algorithm) {
        case (.rsaPublic(let key), .rsaSignature(let scheme, let input)):
            try key.isValidSignature(signature, for: data, scheme, input)
        case (.ellipticCurvePublic(let key), .ecdsaSignature(let encoding, let input)):
            try key.isValidSignature(signature, for: data, input, encoding)
        default: throw .param
        }
    }

    func encrypt(_ plaintext: Data, _ algorithm: KeyAlgorithm) throws(Status) -> Data {
        switch (self, algorithm) {
        case (.rsaPublic(let key), .rsaEncryption(let scheme)): try key.encrypt(plaintext, scheme)
        case (.ellipticCurvePublic(let key), .eciesEncryption(let scheme)): try scheme.encrypt(plaintext, to: key)
        default: throw .param
        }
    }

    func decrypt(_ ciphertext: Data, _ algorithm: KeyAlgorithm) throws(Status) -> Data {
        switch (self, algorithm) {
        case (.rsaPublic(let key), .rsaEncryption(let scheme)): try key.decrypt(ciphertext, scheme)
        case (.rsaPrivate(let key), .rsaEncryption(let scheme)): try key.decrypt(ciphertext, scheme)
        case (.ellipticCurvePrivate(let key), .eciesEncryption(let scheme)): try key.decrypt(ciphertext, scheme)
        default: throw .param
        }
    }

    func sharedSecret(with other: EllipticCurvePublicKey) throws(Status) -> SymmetricKey {
        guard case .ellipticCurvePrivate(let key) = self else { throw .param }
        return try key.sharedSecret(with: other)
    }
}
