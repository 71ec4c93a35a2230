internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneKeyAlgorithms

/// How the older functions fill the block that a key works on; the empty set is Apple's `kSecPaddingNone`.
public struct SecPadding: OptionSet, Hashable, Sendable {
    /// Apple's bits.
    public let rawValue: UInt32

    /// Makes a padding.
    ///
    /// - Parameter rawValue: Apple's bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PKCS#1 v1.5: of any data for RSA; of a digest for a curve, whose signature is then a DER sequence.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP with SHA-1; encryption only.
    public static let OAEP = SecPadding(rawValue: 2)
    /// r and s of a curve, each as long as a coordinate.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    /// PKCS#1 v1.5 of an MD2 digest, which nothing supports.
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    /// PKCS#1 v1.5 of an MD5 digest, which nothing supports.
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    /// PKCS#1 v1.5 of a SHA-1 digest.
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    /// PKCS#1 v1.5 of a SHA-224 digest.
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    /// PKCS#1 v1.5 of a SHA-256 digest.
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    /// PKCS#1 v1.5 of a SHA-384 digest.
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    /// PKCS#1 v1.5 of a SHA-512 digest.
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}

/// Old name of `SecKeyCreateRandomKey`, with both halves.
///
/// - Parameters:
///   - parameters: As for `SecKeyCreateRandomKey`; nothing is stored but what has `kSecAttrIsPermanent`, as on iOS.
///   - publicKey: Takes the public key.
///   - privateKey: Takes the private key.
/// - Returns: `errSecSuccess`, or why `SecKeyCreateRandomKey` made none; then neither key is written.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    status {
        let key = try unsafe result { unsafe SecKeyCreateRandomKey(parameters, $0) }
        unsafe publicKey?.initialize(to: SecKeyCopyPublicKey(key))
        unsafe privateKey?.initialize(to: key)
    }
}

/// Old form of `SecKeyCreateSignature`, of a digest, as on iOS.
///
/// - Parameters:
///   - key: A private key.
///   - padding: For RSA none, `PKCS1` or that of a hash. For a curve `sigRaw`; anything else makes a DER sequence.
///   - dataToSign: The digest.
///   - dataToSignLen: Its bytes: those of the hash, where the padding names one.
///   - sig: Takes the signature.
///   - sigLen: The bytes that `sig` has room for; takes those of the signature.
/// - Returns: `errSecSuccess`; `errSecParam` for another padding, a digest of a wrong length or too little room, when nothing is written; or
///   why `SecKeyCreateSignature` made none.
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    status {
        let digest = try unsafe data(dataToSign, dataToSignLen)
        try unsafe write(key.signature(for: digest, key.signatureAlgorithm(padding)), sig, sigLen)
    }
}

/// Old form of `SecKeyVerifySignature`, of a digest, as on iOS.
///
/// - Parameters:
///   - key: A public key, or a private one of RSA.
///   - padding: That of the signature.
///   - signedData: The digest.
///   - signedDataLen: Its bytes.
///   - sig: The signature.
///   - sigLen: Its bytes.
/// - Returns: `errSecSuccess` for the key's signature of this digest; `errSSLCrypto` for any other; `errSecParam` for another padding or a
///   digest of a wrong length.
@discardableResult
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    let status = status {
        let digest = try unsafe data(signedData, signedDataLen)
        let signature = try unsafe data(sig, sigLen)
        let algorithm = try key.signatureAlgorithm(padding)
        _ = try unsafe result {
            unsafe SecKeyVerifySignature(key, algorithm, digest as NSData, signature as NSData, $0) ? true : nil
        }
    }
    // What these functions said before there was a code of its own.
    return status == errSecVerifyFailed ? errSSLCrypto : status
}

/// Old form of `SecKeyCreateEncryptedData`, for RSA.
///
/// - Parameters:
///   - key: A public key of RSA.
///   - padding: None, `PKCS1` or `OAEP`.
///   - plainText: What to encrypt.
///   - plainTextLen: Its bytes: at most those of the modulus less the padding.
///   - cipherText: Takes what is encrypted.
///   - cipherTextLen: The bytes that `cipherText` has room for; takes those of the ciphertext, as many as the modulus has.
/// - Returns: `errSecSuccess`; `errSecParam` for another key or padding, too long a text or too little room, when nothing is written.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    status {
        let plaintext = try unsafe data(plainText, plainTextLen)
        let algorithm = try key.encryptionAlgorithm(padding)
        let encrypted = try unsafe result { unsafe SecKeyCreateEncryptedData(key, algorithm, plaintext as NSData, $0) }
        try unsafe write(encrypted as Data, cipherText, cipherTextLen)
    }
}

/// Old form of `SecKeyCreateDecryptedData`, for RSA.
///
/// - Parameters:
///   - key: A private key of RSA.
///   - padding: That of the ciphertext. Without one, zeros at the start of the plaintext are left out.
///   - cipherText: What was encrypted.
///   - cipherTextLen: Its bytes.
///   - plainText: Takes the plaintext.
///   - plainTextLen: The bytes that `plainText` has room for; takes those of the plaintext.
/// - Returns: `errSecSuccess`; `errSecParam` for another key or padding, for what was not encrypted to this key, or too little room, when
///   nothing is written.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    status {
        let ciphertext = try unsafe data(cipherText, cipherTextLen)
        let plaintext = try key.plaintext(of: ciphertext, key.encryptionAlgorithm(padding))
        try unsafe write(padding.isEmpty ? plaintext.drop { $0 == 0 } : plaintext, plainText, plainTextLen)
    }
}

extension SecKey {
    fileprivate func signatureAlgorithm(_ padding: SecPadding) throws(Status) -> SecKeyAlgorithm {
        switch (implementation.keyType, padding) {
        case (.rsa, []): return .rsaSignatureRaw
        case (.rsa, .PKCS1): return .rsaSignatureDigestPKCS1v15Raw
        case (.rsa, .PKCS1SHA1): return .rsaSignatureDigestPKCS1v15SHA1
        case (.rsa, .PKCS1SHA224): return .rsaSignatureDigestPKCS1v15SHA224
        case (.rsa, .PKCS1SHA256): return .rsaSignatureDigestPKCS1v15SHA256
        case (.rsa, .PKCS1SHA384): return .rsaSignatureDigestPKCS1v15SHA384
        case (.rsa, .PKCS1SHA512): return .rsaSignatureDigestPKCS1v15SHA512
        case (.rsa, _): throw .param
        case (.ellipticCurve, .sigRaw): return .ecdsaSignatureRFC4754
        // PKCS1 chooses the hash by the length, which comes to the same signature as any other value.
        case (.ellipticCurve, _): return .ecdsaSignatureDigestX962
        }
    }

    fileprivate func encryptionAlgorithm(_ padding: SecPadding) throws(Status) -> SecKeyAlgorithm {
        switch (implementation.keyType, padding) {
        case (.rsa, []): .rsaEncryptionRaw
        case (.rsa, .PKCS1): .rsaEncryptionPKCS1
        case (.rsa, .OAEP): .rsaEncryptionOAEPSHA1
        default: throw .param
        }
    }
}

private func status(_ body: () throws -> Void) -> OSStatus {
    do {
        try body()
        return errSecSuccess
    } catch let failure {
        return Status(failure: failure).rawValue
    }
}

/// What one of the newer functions returns, its error as a status.
private func result<Result>(
    _ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Result?
) throws(Status) -> Result {
    var error: Unmanaged<CFError>?
    if let result = unsafe body(&error) { return result }
    guard let failure = unsafe error?.takeRetainedValue(), failure.domain == NSOSStatusErrorDomain,
        let code = Int32(exactly: failure.code)
    else { throw .internalError }
    throw Status(rawValue: code)
}

private func data(_ bytes: UnsafePointer<UInt8>, _ count: Int) throws(Status) -> Data {
    guard count >= 0 else { throw .param }
    return unsafe Data(bytes: bytes, count: count)
}

private func write(
    _ data: Data, _ bytes: UnsafeMutablePointer<UInt8>, _ count: UnsafeMutablePointer<Int>
) throws(Status) {
    guard unsafe data.count <= count.pointee else { throw .param }
    unsafe data.copyBytes(to: bytes, count: data.count)
    unsafe count.pointee = data.count
}
