import Foundation
import Testing
import TouchstoneCore
import TouchstoneTesting

@testable import TouchstoneSecurity

/// Keys of P-192 and P-224, and RSA keys of odd sizes, through the functions that apps call.
@Suite struct OldKeyTests {
    private let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    private func make(_ data: Data, _ type: CFString, _ keyClass: CFString) throws -> SecKey {
        try #require(
            SecKeyCreateWithData(
                data as CFData, [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass] as CFDictionary, nil))
    }

    private func code(_ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Any?) -> Int? {
        var error: Unmanaged<CFError>?
        #expect(body(&error) == nil)
        return (error?.takeRetainedValue()).map { ($0 as NSError).code }
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224])
    func oldKeySaysWhatItIsAndCan(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let bytes = try openssl.keyBytes(algorithm)
        let size = algorithm == .p192 ? 192 : 224
        let privateKey = try make(bytes.private, kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClassPrivate)
        let publicKey = try make(bytes.public, kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClassPublic)
        for (key, data) in [(privateKey, bytes.private), (publicKey, bytes.public)] {
            let attributes = try #require(SecKeyCopyAttributes(key))
            #expect(attributes[kSecAttrKeySizeInBits] as? Int == size)
            #expect(attributes[kSecAttrEffectiveKeySize] as? Int == size)
            #expect(attributes[kSecAttrKeyType] as? String == "73")
            #expect(attributes[kSecValueData] as? Data == data)
            #expect(attributes[kSecAttrCanSign] as? Bool == false)
            #expect(attributes[kSecAttrCanEncrypt] as? Bool == false)
            #expect(attributes[kSecAttrCanVerify] as? Bool == (key === publicKey))
            #expect(attributes[kSecAttrCanDecrypt] as? Bool == (key === privateKey))
            #expect(SecKeyGetBlockSize(key) == size / 8)
        }
        let operations: [(SecKeyOperationType, SecKeyAlgorithm, Bool, Bool)] = [
            (.sign, .ecdsaSignatureMessageX962SHA256, false, false),
            (.verify, .ecdsaSignatureMessageX962SHA256, false, true),
            (.encrypt, .eciesEncryptionStandardX963SHA256AESGCM, false, false),
            (.decrypt, .eciesEncryptionStandardX963SHA256AESGCM, true, false),
            (.keyExchange, .ecdhKeyExchangeStandard, true, false),
        ]
        for (operation, name, ofPrivate, ofPublic) in operations {
            #expect(SecKeyIsAlgorithmSupported(privateKey, operation, name) == ofPrivate, "\(operation)")
            #expect(SecKeyIsAlgorithmSupported(publicKey, operation, name) == ofPublic, "\(operation)")
        }
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224])
    func oldSignatureIsVerifiedAndNoneIsMade(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let bytes = try openssl.keyBytes(algorithm)
        let privateKey = try make(bytes.private, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate)
        let publicKey = try make(bytes.public, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic)
        let message = Data("an old message".utf8)
        try openssl.write(message, "message")
        for (name, algorithm) in [
            ("sha1", SecKeyAlgorithm.ecdsaSignatureMessageX962SHA1), ("sha256", .ecdsaSignatureMessageX962SHA256),
            ("sha512", .ecdsaSignatureMessageX962SHA512),
        ] {
            try openssl("dgst", "-\(name)", "-sign", "one.key", "-out", "signature", "message")
            let signature = try openssl["signature"] as CFData
            #expect(SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature, nil))
            var error: Unmanaged<CFError>?
            #expect(!SecKeyVerifySignature(publicKey, algorithm, (message + [0]) as CFData, signature, &error))
            #expect((error?.takeRetainedValue() as NSError?)?.code == Int(errSecVerifyFailed))
            #expect(code { SecKeyCreateSignature(privateKey, algorithm, message as CFData, $0) } == Int(errSecParam))
        }
        let scheme = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
        #expect(code { SecKeyCreateEncryptedData(publicKey, scheme, message as CFData, $0) } == Int(errSecParam))
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224])
    func oldKeysAgreeAsOpenSSLDoes(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        try openssl.makeKey("two", algorithm)
        let mine = try make(openssl.keyBytes(algorithm).private, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate)
        let yours = try make(openssl.keyBytes(algorithm, "two").public, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic)
        try openssl("pkey", "-in", "two.key", "-pubout", "-out", "two.pub")
        try openssl("pkeyutl", "-derive", "-inkey", "one.key", "-peerkey", "two.pub", "-out", "secret")
        let secret = SecKeyCopyKeyExchangeResult(mine, .ecdhKeyExchangeStandard, yours, [:] as CFDictionary, nil)
        #expect(try secret as Data? == openssl["secret"])
        let current = try #require(
            SecKeyCreateRandomKey(
                [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256] as CFDictionary, nil))
        let other = try #require(SecKeyCopyPublicKey(current))
        #expect(
            code { SecKeyCopyKeyExchangeResult(mine, .ecdhKeyExchangeStandard, other, [:] as CFDictionary, $0) }
                == Int(errSecParam))
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224])
    func certificateAndPKCS12FileWithAnOldKeyAreRead(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let der = try openssl.makeCertificate()
        let bytes = try openssl.keyBytes(algorithm)
        let certificate = try #require(SecCertificateCreateWithData(nil, der as CFData))
        let publicKey = try #require(SecCertificateCopyKey(certificate))
        #expect(SecKeyCopyExternalRepresentation(publicKey, nil) as Data? == bytes.public)
        try openssl(
            "pkcs12", "-export", "-inkey", "one.key", "-in", "one.pem", "-passout", "pass:p", "-out", "one.p12")
        var items: CFArray?
        let options = [kSecImportExportPassphrase: "p"] as CFDictionary
        #expect(SecPKCS12Import(try openssl["one.p12"] as CFData, options, &items) == errSecSuccess)
        let item = try #require((items as? [[String: Any]])?.first)
        let identity = try #require(item[kSecImportItemIdentity as String]) as AnyObject as! SecIdentity
        var key: SecKey?
        #expect(SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
        #expect(SecKeyCopyExternalRepresentation(try #require(key), nil) as Data? == bytes.private)
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224, .rsa1032])
    func keysAreStoredAndFound(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let bytes = try openssl.keyBytes(algorithm)
        let type = algorithm.isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeECSECPrimeRandom
        let device = try SimulatedDevice()
        try device.run {
            for (data, keyClass) in [
                (bytes.private, kSecAttrKeyClassPrivate), (bytes.public, kSecAttrKeyClassPublic),
            ] {
                let key = try make(data, type, keyClass)
                let query: [CFString: Any] = [
                    kSecClass: kSecClassKey, kSecAttrApplicationTag: "old", kSecAttrKeyClass: keyClass,
                ]
                #expect(SecItemAdd(query.merging([kSecValueRef: key]) { $1 } as CFDictionary, nil) == errSecSuccess)
                var found: CFTypeRef?
                let search = query.merging([kSecReturnRef: true, kSecAttrKeyType: type]) { $1 }
                #expect(SecItemCopyMatching(search as CFDictionary, &found) == errSecSuccess)
                #expect(found as? SecKey == key)
                var attributes: CFTypeRef?
                let ask = query.merging([kSecReturnAttributes: true]) { $1 }
                #expect(SecItemCopyMatching(ask as CFDictionary, &attributes) == errSecSuccess)
                let size = Int(algorithm.rawValue.drop { !$0.isNumber })
                #expect((attributes as? [String: Any])?[kSecAttrKeySizeInBits as String] as? Int == size)
            }
        }
    }

    @Test(arguments: [1032, 2056, 3080])
    func rsaKeyOfAnOddSizeIsMadeStoredFoundAndUsed(_ size: Int) throws {
        let device = try SimulatedDevice()
        try device.run {
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: size, kSecAttrIsPermanent: true,
                kSecAttrApplicationTag: "rsa",
            ]
            let made = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            var found: CFTypeRef?
            let search: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrApplicationTag: "rsa", kSecAttrKeyClass: kSecAttrKeyClassPrivate,
                kSecReturnRef: true,
            ]
            #expect(SecItemCopyMatching(search as CFDictionary, &found) == errSecSuccess)
            let key = try #require(found as? SecKey)
            #expect(key == made && SecKeyGetBlockSize(key) == size / 8)
            let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
            #expect(try make(bytes, kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate) == key)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let publicBytes = try #require(SecKeyCopyExternalRepresentation(publicKey, nil)) as Data
            #expect(try make(publicBytes, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic) == publicKey)
            let message = Data("a message".utf8) as CFData
            let signing = SecKeyAlgorithm.rsaSignatureMessagePSSSHA256
            let signature = try #require(SecKeyCreateSignature(key, signing, message, nil))
            #expect((signature as Data).count == size / 8)
            #expect(SecKeyVerifySignature(publicKey, signing, message, signature, nil))
            let scheme = SecKeyAlgorithm.rsaEncryptionOAEPSHA1
            let ciphertext = try #require(SecKeyCreateEncryptedData(publicKey, scheme, message, nil))
            #expect(SecKeyCreateDecryptedData(key, scheme, ciphertext, nil) as Data? == message as Data)
        }
    }
}
