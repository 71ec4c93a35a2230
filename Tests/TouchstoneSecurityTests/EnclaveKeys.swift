import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

typealias Entries = [CFString: Any]

func control(
    _ flags: SecAccessControlCreateFlags, _ protection: CFString = kSecAttrAccessibleWhenUnlocked
) throws -> SecAccessControl {
    try #require(SecAccessControlCreateWithFlags(nil, protection, flags, nil))
}

/// The parameters of a key of the enclave.
func parameters(_ privateHalf: Entries = [:], _ whole: Entries = [:]) -> Entries {
    let own: Entries = [
        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: privateHalf,
    ]
    return own.merging(whole) { _, other in other }
}

/// A key of the enclave that is in no keychain.
func enclaveKey(
    _ flags: SecAccessControlCreateFlags? = nil, _ protection: CFString = kSecAttrAccessibleWhenUnlocked,
    _ privateHalf: Entries = [:], context: LAContext? = nil
) throws -> SecKey {
    var own: Entries = [kSecAttrIsPermanent: false]
    if let flags { own[kSecAttrAccessControl] = try control(flags, protection) }
    if let context { own[kSecUseAuthenticationContext] = context }
    return try randomKey(parameters(own.merging(privateHalf) { _, other in other }))
}

func randomKey(_ parameters: Entries) throws -> SecKey {
    try result { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
}

/// What a function of a key returns.
///
/// - Throws: Its error.
func result<R>(_ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> R?) throws -> R {
    var error: Unmanaged<CFError>?
    if let result = body(&error) {
        #expect(error == nil)
        return result
    }
    throw try #require(error).takeRetainedValue()
}

/// The status with which `body` fails; nil if it does not.
func status(_ body: () throws -> Void) -> OSStatus? {
    do {
        try body()
        return nil
    } catch {
        let error = error as NSError
        return error.domain == NSOSStatusErrorDomain ? OSStatus(error.code) : nil
    }
}

/// The code of LocalAuthentication with which `body` fails; nil if it fails with another error, or not.
func refusal(_ body: () throws -> Void) -> LAError.Code? {
    do {
        try body()
        return nil
    } catch let error as LAError {
        return error.code
    } catch {
        return nil
    }
}

/// Whether `body` fails as the use of a key that can never be used again (AC-52).
func saysThatTheKeyIsGone(_ body: () throws -> Void) -> Bool {
    do {
        try body()
        return false
    } catch {
        let error = error as NSError
        return error.domain == "CryptoTokenKit" && error.code == -3
    }
}

/// What the function that answers with a status says of a signature.
func rawSignStatus(_ key: SecKey) -> OSStatus {
    var signature = [UInt8](repeating: 0, count: 80)
    var count = signature.count
    return SecKeyRawSign(key, .PKCS1, [UInt8](repeating: 1, count: 32), 32, &signature, &count)
}

@discardableResult
func signature(
    of key: SecKey, _ message: Data = Data("nonce".utf8),
    _ algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
) throws -> Data {
    try result { SecKeyCreateSignature(key, algorithm, message as CFData, $0) } as Data
}

func isValid(
    _ signature: Data, by key: SecKey, _ message: Data = Data("nonce".utf8),
    _ algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
) throws -> Bool {
    let publicKey = try #require(SecKeyCopyPublicKey(key))
    return SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature as CFData, nil)
}

/// The bytes of the public half.
func publicBytes(_ key: SecKey) throws -> Data {
    let publicKey = try #require(SecKeyCopyPublicKey(key))
    return try result { SecKeyCopyExternalRepresentation(publicKey, $0) } as Data
}

/// A software key of a curve.
func softwareKey(_ size: Int = 256) throws -> SecKey {
    try randomKey([kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: size])
}

/// Decrypts what is encrypted to the key.
func decryption(
    with key: SecKey, _ algorithm: SecKeyAlgorithm = .eciesEncryptionStandardVariableIVX963SHA256AESGCM
) throws -> Data {
    let publicKey = try #require(SecKeyCopyPublicKey(key))
    let ciphertext = try result {
        SecKeyCreateEncryptedData(publicKey, algorithm, Data("note".utf8) as CFData, $0)
    }
    return try result { SecKeyCreateDecryptedData(key, algorithm, ciphertext, $0) } as Data
}

@discardableResult
func exchange(
    _ key: SecKey, _ other: SecKey, _ algorithm: SecKeyAlgorithm = .ecdhKeyExchangeStandard,
    _ parameters: [CFString: Any] = [:]
) throws -> Data {
    let publicKey = try #require(SecKeyCopyPublicKey(other))
    return try result {
        SecKeyCopyKeyExchangeResult(key, algorithm, publicKey, parameters as CFDictionary, $0)
    } as Data
}

func find(_ query: Entries) -> (status: OSStatus, result: CFTypeRef?) {
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    return (status, result)
}

/// A query for the key of this tag.
func tagged(_ tag: String, _ entries: Entries = [:]) -> Entries {
    let own: Entries = [kSecClass: kSecClassKey, kSecAttrApplicationTag: Data(tag.utf8)]
    return own.merging(entries) { _, other in other }
}

/// The key of this tag, out of the keychain.
func stored(_ tag: String, _ entries: Entries = [:]) throws -> SecKey {
    let (status, result) = find(tagged(tag, entries).merging([kSecReturnRef: true]) { $1 })
    try #require(status == errSecSuccess)
    return try #require(result as? SecKey)
}

extension SimulatedDevice {
    /// Runs `body` before an owner who does what was planned and no more, and expects this many prompts.
    func run(prompts expected: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void)
        rethrows
    {
        let before = prompts.count
        try run(body)
        #expect(prompts.count - before == expected, "prompts", sourceLocation: sourceLocation)
    }

    /// The same, where none is expected: one that comes all the same is cancelled, so that the test ends.
    func runUnprompted(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) rethrows {
        present(.cancel, .cancel, .cancel)
        try run(prompts: 0, sourceLocation: sourceLocation, body)
    }
}
