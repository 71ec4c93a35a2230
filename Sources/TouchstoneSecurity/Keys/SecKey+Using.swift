internal import Crypto
internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneKeyAlgorithms

/// Whether a key can be used in some way.
///
/// - Parameters:
///   - key: A key.
///   - operation: What is to be done with it.
///   - algorithm: How.
/// - Returns: Whether the function for this operation takes them. Private keys of a curve sign, decrypt and exchange keys, public ones verify
///   and encrypt; private RSA keys also verify, and public ones also decrypt. The block of the algorithm must fit into the modulus. Keys of
///   P-192 and P-224 neither sign nor encrypt.
@discardableResult
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    algorithm.algorithm.map { key.implementation.supports(operation.operation, $0) } ?? false
}

/// Signs.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: Of its kind, and with what `dataToSign` is: a message, or a digest of the length that the hash has.
///   - dataToSign: The message or the digest.
///   - error: Takes `errSecParam` if the key does not support the algorithm or the digest has a wrong length. Of a key of the enclave
///     also an error of `LAErrorDomain` where the owner's proof was not had, -1009 where the access control does not grant
///     it; `CryptoTokenKit` -3 where the key can never be used again (AC-45, AC-52).
/// - Returns: The signature: of RSA as long as the modulus; of ECDSA a DER sequence (X9.62), or r and s, each as long as a coordinate (RFC 4754).
@discardableResult
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe storing(error, in: "\(key.kind) signing", as: NSError.keyUse) {
        try key.signature(for: dataToSign as Data, algorithm) as NSData
    }
}

/// Verifies.
///
/// - Parameters:
///   - key: A public key, or a private one of RSA.
///   - algorithm: The one that made the signature.
///   - signedData: The message or the digest.
///   - signature: The signature.
///   - error: Takes `errSecVerifyFailed` for another's signature, for one of something else and for what is not a signature; `errSecParam` where
///     the key does not support the algorithm or the digest has a wrong length.
/// - Returns: Whether the signature is that of the key.
@discardableResult
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    unsafe storing(error, in: "\(key.kind) verification") {
        let algorithm = try key.supported(.verify, algorithm)
        let publicKey = key.implementation.publicKey
        guard try publicKey.isValidSignature(signature as Data, for: signedData as Data, algorithm) else {
            throw Status.verifyFailed
        }
        return true
    } ?? false
}

/// Encrypts.
///
/// - Parameters:
///   - key: A public key.
///   - algorithm: Of its kind.
///   - plaintext: What to encrypt. With ECIES and with AES-GCM of any length, otherwise less than the modulus by the padding.
///   - error: Takes `errSecParam` if the key does not support the algorithm or the plaintext is too long.
/// - Returns: The ciphertext: of ECIES the ephemeral public key, what is encrypted and 16 bytes of tag.
@discardableResult
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe storing(error, in: "\(key.kind) encryption") {
        let algorithm = try key.supported(.encrypt, algorithm)
        return try key.implementation.publicKey.encrypt(plaintext as Data, algorithm) as NSData
    }
}

/// Decrypts.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: The one that encrypted.
///   - ciphertext: What `SecKeyCreateEncryptedData` returned.
///   - error: Takes `errSecParam` if the key does not support the algorithm, or for anything that was not encrypted to this key; else as
///     ``SecKeyCreateSignature(_:_:_:_:)``.
/// - Returns: The plaintext.
@discardableResult
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe storing(error, in: "\(key.kind) decryption", as: NSError.keyUse) {
        try key.plaintext(of: ciphertext as Data, algorithm) as NSData
    }
}

/// Agrees on a secret with the holder of another key.
///
/// - Parameters:
///   - privateKey: A private key of a curve.
///   - algorithm: One for key exchange.
///   - publicKey: The other's public key, of the same curve.
///   - parameters: Where the algorithm derives a key, `SecKeyKeyExchangeParameter.requestedSize`, in bytes, at most 1 MiB, and perhaps
///     `sharedInfo`, data, by their `rawValue`.
///   - error: Takes `errSecParam` if the key does not support the algorithm, the other does not fit, or a parameter is missing or wrong; else
///     as ``SecKeyCreateSignature(_:_:_:_:)``.
/// - Returns: What was derived; or the shared coordinate, as long as one of the curve.
@discardableResult
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe storing(error, in: "\(privateKey.kind) exchange", as: NSError.keyUse) {
        guard case .ecdhKeyExchange(let hash) = try privateKey.supported(.keyExchange, algorithm),
            case .ellipticCurvePublic(let other)? = publicKey.implementation as? SoftwareKey
        else { throw Status.param }
        var key = try privateKey.implementation.sharedSecret(with: other)
        if let hash {
            let info = parameters[SecKeyKeyExchangeParameter.sharedInfo.rawValue]
            guard let size = parameters[SecKeyKeyExchangeParameter.requestedSize.rawValue] as? NSNumber,
                let byteCount = Int(exactly: size.doubleValue), info == nil || info is NSData
            else { throw Status.param }
            key = try hash.deriveKey(from: key, info: info as? NSData as Data? ?? Data(), byteCount: byteCount)
        }
        return unsafe key.withUnsafeBytes { unsafe Data($0) } as NSData
    }
}

extension SecKey {
    /// - Throws: As the implementation of the key.
    func signature(for data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try implementation.signature(for: data, supported(.sign, algorithm))
    }

    /// - Throws: As the implementation of the key.
    func plaintext(of ciphertext: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try implementation.decrypt(ciphertext, supported(.decrypt, algorithm))
    }

    /// The algorithm of a name, where this key can be used with it.
    fileprivate func supported(_ operation: KeyOperation, _ name: SecKeyAlgorithm) throws(Status) -> KeyAlgorithm {
        guard let algorithm = name.algorithm, implementation.supports(operation, algorithm) else { throw .param }
        return algorithm
    }
}
