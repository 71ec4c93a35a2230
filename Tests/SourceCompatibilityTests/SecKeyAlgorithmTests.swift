import Foundation
import Security
import Testing

/// Software keys through Apple's functions; what the algorithms themselves do is tested beneath.
@Suite struct SecKeyAlgorithmTests {
    static let operations: [SecKeyOperationType] = [.sign, .verify, .encrypt, .decrypt, .keyExchange]
    let message = Data("a nonce".utf8) as CFData

    @Test("SE-23: each of the 87 algorithms, with keys of every kind, for every operation")
    func supportedAlgorithms() throws {
        var counts: [String: Int] = [:]
        for (type, size) in [("EC", 256), ("EC", 384), ("EC", 521), ("RSA", 1024), ("RSA", 2048)] {
            let privateKey = try key(type, size)
            let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
            for (kind, key) in [("private", privateKey), ("public", publicKey)] {
                for (name, algorithm) in implementedKeyAlgorithms {
                    for operation in Self.operations {
                        let isSupported = SecKeyIsAlgorithmSupported(key, operation, algorithm)
                        #expect(
                            isSupported == isExpected(name, operation, "\(kind) \(type)", size),
                            "\(name), \(operation), \(kind) \(type) \(size)")
                        if isSupported { counts["\(kind) \(type)\(size)", default: 0] += 1 }
                    }
                }
            }
        }
        // 23 signatures, 18 for encryption, 12 key exchanges of curves; 22 and 12 of RSA.
        #expect(counts["private EC256"] == 53 && counts["public EC521"] == 41, "\(counts)")
        #expect(counts["private RSA2048"] == 22 + 22 + 12 && counts["public RSA2048"] == 22 + 12 + 12, "\(counts)")
    }

    /// Written again, from the names.
    private func isExpected(_ name: String, _ operation: SecKeyOperationType, _ kind: String, _ size: Int) -> Bool {
        // Too much for 1024 bits.
        let isTooLong = ["PSSSHA512", "OAEPSHA512", "OAEPSHA512AESGCM"].contains { name.hasSuffix($0) }
        if kind.hasSuffix("RSA"), size == 1024, isTooLong { return false }
        let operations: [SecKeyOperationType]
        switch (kind, name.prefix(while: \.isLowercase), name.contains("Signature")) {
        case ("private EC", "ecdsa", _): operations = [.sign]
        case ("private EC", "ecies", _): operations = [.decrypt]
        case ("private EC", "ecdh", _): operations = [.keyExchange]
        case ("public EC", "ecdsa", _): operations = [.verify]
        case ("public EC", "ecies", _): operations = [.encrypt]
        case ("private RSA", "rsa", true): operations = [.sign, .verify]
        case ("private RSA", "rsa", false): operations = [.decrypt]
        case ("public RSA", "rsa", true): operations = [.verify]
        case ("public RSA", "rsa", false): operations = [.encrypt, .decrypt]
        default: operations = []
        }
        return operations.contains(operation)
    }

    @Test("SE-20, SE-23: what is supported works, with all 87, and what is not is errSecParam")
    func everySupportedAlgorithmWorks() throws {
        var used = Set<String>()
        for (type, size) in [("EC", 256), ("EC", 384), ("EC", 521), ("RSA", 2048)] {
            let privateKey = try key(type, size)
            let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
            for (name, algorithm) in implementedKeyAlgorithms {
                let input = data(name)
                var error: Unmanaged<CFError>?
                let signature = SecKeyCreateSignature(privateKey, algorithm, input, &error)
                if SecKeyIsAlgorithmSupported(privateKey, .sign, algorithm) {
                    used.insert(name)
                    let signature = try #require(signature, "\(name)")
                    #expect(SecKeyVerifySignature(publicKey, algorithm, input, signature, nil), "\(name)")
                    #expect(!SecKeyVerifySignature(publicKey, algorithm, other(input), signature, &error))
                    #expect(code(&error) == errSecVerifyFailed, "\(name)")
                    #expect(!SecKeyVerifySignature(publicKey, algorithm, input, Data() as CFData, &error))
                    #expect(code(&error) == errSecVerifyFailed, "\(name)")
                } else {
                    #expect(signature == nil && code(&error) == errSecParam, "\(name)")
                }
                let ciphertext = SecKeyCreateEncryptedData(publicKey, algorithm, message, &error)
                if SecKeyIsAlgorithmSupported(publicKey, .encrypt, algorithm) {
                    used.insert(name)
                    let plaintext = SecKeyCreateDecryptedData(privateKey, algorithm, try #require(ciphertext), nil)
                    #expect((plaintext as Data?)?.suffix(message.length) == message as Data, "\(name)")
                } else {
                    #expect(ciphertext == nil && code(&error) == errSecParam, "\(name)")
                }
                let parameters =
                    [
                        SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 24,
                        SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: Data("info".utf8),
                    ] as CFDictionary
                let secret = SecKeyCopyKeyExchangeResult(privateKey, algorithm, publicKey, parameters, &error)
                if SecKeyIsAlgorithmSupported(privateKey, .keyExchange, algorithm) {
                    used.insert(name)
                    #expect(secret?.length == (name.contains("X963") ? 24 : (size + 7) / 8), "\(name)")
                } else {
                    #expect(secret == nil && code(&error) == errSecParam, "\(name)")
                }
            }
        }
        #expect(used.count == 87)
    }

    @Test("SE-23: the other half of the key, another key and an unknown algorithm are refused")
    func refusals() throws {
        let privateKey = try key("EC", 256)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        var error: Unmanaged<CFError>?
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        #expect(SecKeyCreateSignature(publicKey, algorithm, message, &error) == nil && code(&error) == errSecParam)
        let signature = try #require(SecKeyCreateSignature(privateKey, algorithm, message, nil))
        #expect(!SecKeyVerifySignature(privateKey, algorithm, message, signature, &error))
        #expect(code(&error) == errSecParam)
        let encryption = SecKeyAlgorithm.eciesEncryptionStandardVariableIVX963SHA256AESGCM
        #expect(SecKeyCreateEncryptedData(privateKey, encryption, message, &error) == nil)
        #expect(code(&error) == errSecParam)
        let ciphertext = try #require(SecKeyCreateEncryptedData(publicKey, encryption, message, nil))
        #expect(SecKeyCreateDecryptedData(publicKey, encryption, ciphertext, &error) == nil)
        #expect(code(&error) == errSecParam)
        #expect(SecKeyCreateDecryptedData(try key("EC", 256), encryption, ciphertext, &error) == nil)
        #expect(code(&error) == errSecParam)
        let unknown = SecKeyAlgorithm(rawValue: "algid:sign:EdDSA:message-Curve25519:SHA512")
        for operation in Self.operations { #expect(!SecKeyIsAlgorithmSupported(privateKey, operation, unknown)) }
        #expect(SecKeyCreateSignature(privateKey, unknown, message, &error) == nil && code(&error) == errSecParam)
    }

    @Test("a private RSA key verifies; a public one decrypts what the private one made")
    func rsaKeysDoMore() throws {
        let privateKey = try key("RSA", 2048)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        let algorithm = SecKeyAlgorithm.rsaSignatureMessagePSSSHA256
        let signature = try #require(SecKeyCreateSignature(privateKey, algorithm, message, nil))
        #expect(SecKeyVerifySignature(privateKey, algorithm, message, signature, nil))
        let block = Data([0]) + Data(repeating: 7, count: 255)
        let raw = try #require(SecKeyCreateSignature(privateKey, .rsaSignatureRaw, block as CFData, nil))
        #expect(SecKeyCreateDecryptedData(publicKey, .rsaEncryptionRaw, raw, nil) as Data? == block)
        #expect(SecKeyCreateDecryptedData(publicKey, .rsaEncryptionOAEPSHA256, raw, nil) == nil)
    }

    @Test("SE-22: both sides derive the same; the size must be given, and the other parameter be data")
    func keyExchangeParameters() throws {
        let mine = try key("EC", 256)
        let yours = try key("EC", 256)
        let algorithm = SecKeyAlgorithm.ecdhKeyExchangeCofactorX963SHA256
        let size = SecKeyKeyExchangeParameter.requestedSize.rawValue
        let info = SecKeyKeyExchangeParameter.sharedInfo.rawValue
        #expect(size as String == "requestedSize" && info as String == "sharedInfo")
        func exchange(_ key: SecKey, _ other: SecKey, _ parameters: [CFString: Any]) throws -> (Data?, OSStatus?) {
            var error: Unmanaged<CFError>?
            let other = try #require(SecKeyCopyPublicKey(other))
            let result = SecKeyCopyKeyExchangeResult(key, algorithm, other, parameters as CFDictionary, &error)
            return (result as Data?, code(&error))
        }
        let right: [CFString: Any] = [size: 40, info: Data("info".utf8)]
        let (secret, _) = try exchange(mine, yours, right)
        #expect(secret?.count == 40)
        #expect(try exchange(yours, mine, right) == (secret, nil))
        #expect(try exchange(yours, mine, [size: 40]).0 != secret)
        for wrong in [
            [:], [info: Data()], [size: "40"], [size: -1], [size: 1.5], [size: Int.max], [size: Double.nan],
            [size: 40, info: "info"],
        ] as [[CFString: Any]] {
            #expect(try exchange(mine, yours, wrong) == (nil, errSecParam), "\(wrong)")
        }
        #expect(try exchange(mine, key("EC", 384), right) == (nil, errSecParam))
        #expect(try exchange(mine, key("RSA", 1024), right) == (nil, errSecParam))
        // Without derivation no parameter counts, and standard and cofactor are one.
        let other = try #require(SecKeyCopyPublicKey(yours))
        let plain = SecKeyCopyKeyExchangeResult(mine, .ecdhKeyExchangeStandard, other, [:] as CFDictionary, nil)
        #expect(plain?.length == 32)
        #expect(plain == SecKeyCopyKeyExchangeResult(mine, .ecdhKeyExchangeCofactor, other, [:] as CFDictionary, nil))
        var error: Unmanaged<CFError>?
        #expect(SecKeyCopyKeyExchangeResult(mine, .ecdhKeyExchangeStandard, yours, [:] as CFDictionary, &error) == nil)
        #expect(code(&error) == errSecParam)
    }

    @Test("a digest whose length is not that of its hash is errSecParam")
    func lengthsOfDigests() throws {
        for (key, algorithm) in [
            (try key("EC", 256), SecKeyAlgorithm.ecdsaSignatureDigestX962SHA256),
            (try key("RSA", 1024), .rsaSignatureDigestPKCS1v15SHA256),
        ] {
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateSignature(key, algorithm, Data(count: 32) as CFData, nil) != nil)
            #expect(SecKeyCreateSignature(key, algorithm, Data(count: 31) as CFData, &error) == nil)
            #expect(code(&error) == errSecParam)
        }
    }

    @Test func operationsAndNamesHaveApplesValues() {
        #expect(Self.operations.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(SecKeyOperationType(rawValue: 5) == nil)
        let algorithm = SecKeyAlgorithm(rawValue: "algid:sign:RSA:raw" as CFString)
        #expect(algorithm == .rsaSignatureRaw && Set([algorithm, .rsaSignatureRaw]).count == 1)
    }

    private func key(_ type: String, _ size: Int) throws -> SecKey {
        let type = type == "EC" ? kSecAttrKeyTypeECSECPrimeRandom : kSecAttrKeyTypeRSA
        return try #require(
            SecKeyCreateRandomKey([kSecAttrKeyType: type, kSecAttrKeySizeInBits: size] as CFDictionary, nil))
    }

    /// What an algorithm signs: where its name says of which hash it takes a digest, one as long as that.
    private func data(_ name: String) -> CFData {
        let lengths = ["SHA1": 20, "SHA224": 28, "SHA256": 32, "SHA384": 48, "SHA512": 64]
        guard name.contains("Digest"), let length = lengths.first(where: { name.hasSuffix($0.key) })?.value else {
            return message
        }
        return Data(repeating: 7, count: length) as CFData
    }

    private func other(_ data: CFData) -> CFData {
        var copy = data as Data
        copy[0] ^= 0x80
        return copy as CFData
    }

    private func code(_ error: inout Unmanaged<CFError>?) -> OSStatus? {
        defer { error = nil }
        guard let error = error?.takeRetainedValue(), CFErrorGetDomain(error) == kCFErrorDomainOSStatus else {
            return nil
        }
        return OSStatus(CFErrorGetCode(error))
    }
}
