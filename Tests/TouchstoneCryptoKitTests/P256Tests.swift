import CryptoKit
import Foundation
import Security
import Testing
import TouchstoneTesting

/// What keys of P-256 in the enclave make, looked at with swift-crypto.
@Suite(.timeLimit(.minutes(10))) struct P256Tests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    @Test("SE-20: a signature of data is one of its SHA-256 digest, and of nothing else") func signature() throws {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let data = Data("message".utf8)
            for signature in [try key.signature(for: data), try key.signature(for: SHA256.hash(data: data))] {
                #expect(key.publicKey.isValidSignature(signature, for: data))
                #expect(key.publicKey.isValidSignature(signature, for: SHA256.hash(data: data)))
                #expect(!key.publicKey.isValidSignature(signature, for: Data("Message".utf8)))
                let other = P256.Signing.PrivateKey().publicKey
                #expect(!other.isValidSignature(signature, for: data))
                let again = try P256.Signing.ECDSASignature(derRepresentation: signature.derRepresentation)
                #expect(key.publicKey.isValidSignature(again, for: data))
            }
            // Of no bytes, and of many in pieces.
            #expect(key.publicKey.isValidSignature(try key.signature(for: Data()), for: Data()))
            let large = [UInt8](repeating: 7, count: 4 << 20)
            #expect(key.publicKey.isValidSignature(try key.signature(for: large), for: large))
        }
    }

    @Test("SE-21: digests of other lengths are signed as ECDSA has it") func digests() throws {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let data = Data("message".utf8)
            func check(_ digest: some Digest) throws {
                #expect(key.publicKey.isValidSignature(try key.signature(for: digest), for: digest))
            }
            try check(Insecure.SHA1.hash(data: data))
            try check(Insecure.MD5.hash(data: data))
            try check(SHA384.hash(data: data))
            try check(SHA512.hash(data: data))
            try check(SHA3_256.hash(data: data))
        }
    }

    @Test("A shared secret is the one that the other side has, and so is all that is derived of it") func sharedSecret()
        throws
    {
        try device.run {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            // Often enough to meet coordinates with leading zeros and both kinds of points.
            for _ in 0..<300 {
                let other = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
                let secret = try key.sharedSecretFromKeyAgreement(with: other.publicKey)
                #expect(secret == (try other.sharedSecretFromKeyAgreement(with: key.publicKey)))
            }
            let other = P256.KeyAgreement.PrivateKey()
            let secrets = [
                try key.sharedSecretFromKeyAgreement(with: other.publicKey),
                try other.sharedSecretFromKeyAgreement(with: key.publicKey),
            ]
            let salt = Data("salt".utf8)
            let keys = secrets.map {
                $0.hkdfDerivedSymmetricKey(using: SHA256.self, salt: salt, sharedInfo: Data(), outputByteCount: 32)
            }
            #expect(keys[0] == keys[1])
            let box = try ChaChaPoly.seal(salt, using: keys[0])
            #expect(try ChaChaPoly.open(box, using: keys[1]) == salt)
            let others = secrets.map {
                $0.x963DerivedSymmetricKey(using: SHA512.self, sharedInfo: salt, outputByteCount: 48)
            }
            #expect(others[0] == others[1])
        }
    }

    @Test("Two keys in the enclave agree") func twoEnclaveKeys() throws {
        try device.run {
            let keys = try (0..<2).map { _ in try SecureEnclave.P256.KeyAgreement.PrivateKey() }
            #expect(
                try keys[0].sharedSecretFromKeyAgreement(with: keys[1].publicKey)
                    == keys[1].sharedSecretFromKeyAgreement(with: keys[0].publicKey))
        }
    }

    @Test("What HPKE seals to the public key, the key opens, and no other") func hpke() throws {
        try device.run {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            let suite = HPKE.Ciphersuite.P256_SHA256_AES_GCM_256
            var sender = try HPKE.Sender(recipientKey: key.publicKey, ciphersuite: suite, info: Data("info".utf8))
            let sealed = try sender.seal(Data("hello".utf8))
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: suite, info: Data("info".utf8), encapsulatedKey: sender.encapsulatedKey)
            #expect(try recipient.open(sealed) == Data("hello".utf8))
            var other = try HPKE.Recipient(
                privateKey: SecureEnclave.P256.KeyAgreement.PrivateKey(), ciphersuite: suite, info: Data("info".utf8),
                encapsulatedKey: sender.encapsulatedKey)
            #expect(throws: (any Error).self) { try other.open(sealed) }
        }
    }

    @Test("A key is made compact representable where that is wanted") func compactRepresentable() throws {
        try device.run {
            for _ in 0..<16 {
                #expect(try SecureEnclave.P256.Signing.PrivateKey().publicKey.compactRepresentation != nil)
                #expect(try SecureEnclave.P256.KeyAgreement.PrivateKey().publicKey.compactRepresentation != nil)
            }
            // Else about every second one is not.
            let keys = try (0..<64).map { _ in
                try SecureEnclave.P256.Signing.PrivateKey(compactRepresentable: false).publicKey
            }
            #expect(keys.contains { $0.compactRepresentation == nil })
        }
    }

    @Test("SE-08: the public key as PEM is a SubjectPublicKeyInfo with the prefix that servers expect") func pem()
        throws
    {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let prefix = Data(base64Encoded: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA=")
            #expect(key.publicKey.derRepresentation == prefix.map { $0 + key.publicKey.x963Representation })
            #expect(
                try P256.Signing.PublicKey(pemRepresentation: key.publicKey.pemRepresentation).rawRepresentation
                    == key.publicKey.rawRepresentation)
        }
    }

    @Test("The key is P-256's and the enclave's: SecKey takes its public half and verifies") func secKey() throws {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let attributes = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
            ]
            let secKey = try #require(
                SecKeyCreateWithData(key.publicKey.x963Representation as CFData, attributes as CFDictionary, nil))
            let data = Data("message".utf8)
            let signature = try key.signature(for: data).derRepresentation
            #expect(
                SecKeyVerifySignature(
                    secKey, .ecdsaSignatureMessageX962SHA256, data as CFData, signature as CFData, nil))
        }
    }

    @Test("SE-03: the data of a key is what the keychain keeps of a SecKey; of another kind it keeps none")
    func asItem()
        throws
    {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            func attributes(_ data: Data) -> [CFString: Any] {
                [
                    kSecClass: kSecClassKey, kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                    kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecValueData: data, kSecReturnRef: true,
                ]
            }
            var found: CFTypeRef?
            try #require(SecItemAdd(attributes(key.dataRepresentation) as CFDictionary, &found) == errSecSuccess)
            let secKey = found as! SecKey
            let data = Data("message".utf8)
            let signature = try #require(
                SecKeyCreateSignature(secKey, .ecdsaSignatureMessageX962SHA256, data as CFData, nil))
            #expect(key.publicKey.isValidSignature(try .init(derRepresentation: signature as Data), for: data))

            let other = try SecureEnclave.MLKEM768.PrivateKey().dataRepresentation
            #expect(SecItemAdd(attributes(other) as CFDictionary, &found) == errSecParam)
        }
    }
}
