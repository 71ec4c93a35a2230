import Foundation
import Testing
import TouchstoneTesting

@testable import TouchstoneSecurity

/// The functions of `SecKey` from before `SecKeyAlgorithm`, against OpenSSL.
@Suite struct LegacyKeyTests {
    private static let digests: [(padding: SecPadding, name: String, length: Int)] = [
        (.PKCS1SHA1, "sha1", 20), (.PKCS1SHA224, "sha224", 28), (.PKCS1SHA256, "sha256", 32),
        (.PKCS1SHA384, "sha384", 48), (.PKCS1SHA512, "sha512", 64),
    ]
    private static let unknown: [SecPadding] = [
        .PKCS1MD2, .PKCS1MD5, .OAEP, .sigRaw, SecPadding(rawValue: 0x8007), [.PKCS1, .OAEP],
    ]

    private let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    @Test func paddingsHaveApplesValues() {
        #expect(([] as SecPadding).rawValue == 0)
        #expect([SecPadding.PKCS1, .OAEP, .sigRaw].map(\.rawValue) == [1, 2, 0x4000])
        #expect([SecPadding.PKCS1MD2, .PKCS1MD5].map(\.rawValue) == [0x8000, 0x8001])
        #expect(Self.digests.map(\.padding.rawValue) == [0x8002, 0x8003, 0x8004, 0x8005, 0x8006])
    }

    // MARK: - Making a pair

    @Test func pairIsMadeAndWritten() throws {
        for (type, size) in [(kSecAttrKeyTypeRSA, 2048), (kSecAttrKeyTypeECSECPrimeRandom, 384)] {
            let (status, publicKey, privateKey) = pair([kSecAttrKeyType: type, kSecAttrKeySizeInBits: size])
            #expect(status == errSecSuccess)
            #expect(SecKeyCopyPublicKey(try #require(privateKey)) == publicKey)
            let parameters = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: size] as CFDictionary
            #expect(SecKeyGeneratePair(parameters, nil, nil) == errSecSuccess)
        }
    }

    @Test func pairThatCannotBeMadeSaysWhyAndWritesNothing() {
        #expect(
            pair([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 100]) == (
                errSecKeySizeNotAllowed, nil, nil
            ))
        #expect(pair([kSecAttrKeyType: "99", kSecAttrKeySizeInBits: 256]) == (errSecParam, nil, nil))
        #expect(pair([:]) == (errSecParam, nil, nil))
    }

    @Test func pairIsStoredWhereItIsSaidOfEitherHalf() throws {
        let device = try SimulatedDevice(passcode: "1234")
        device.run {
            let tag = Data("legacy".utf8)
            let half = [kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag] as [CFString: Any]
            let (status, _, privateKey) = pair([
                kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 1024, kSecPrivateKeyAttrs: half,
            ])
            #expect(status == errSecSuccess)
            var found: AnyObject?
            let query =
                [kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true] as CFDictionary
            #expect(SecItemCopyMatching(query, &found) == errSecSuccess)
            #expect(found as? [SecKey] == privateKey.map { [$0] })
        }
    }

    private func pair(_ parameters: [CFString: Any]) -> (OSStatus, SecKey?, SecKey?) {
        var publicKey: SecKey?
        var privateKey: SecKey?
        let status = SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey)
        return (status, publicKey, privateKey)
    }

    // MARK: - Signatures

    @Test("RSA: PKCS#1 of each hash, both ways with OpenSSL")
    func signaturesOfRSA() throws {
        let (privateKey, publicKey) = try keys(.rsa2048)
        try openssl.write(Data("message".utf8), "message")
        for (padding, name, length) in Self.digests {
            try openssl("dgst", "-\(name)", "-binary", "-out", "digest", "message")
            let digest = try openssl["digest"]
            let (status, signature) = sign(privateKey, padding, digest, room: 300)
            #expect(status == errSecSuccess && signature.count == 256, "\(name)")
            try openssl.write(signature, "signature")
            try openssl("dgst", "-\(name)", "-verify", "one.pub", "-signature", "signature", "message")
            try openssl("dgst", "-\(name)", "-sign", "one.key", "-out", "theirs", "message")
            #expect(try verify(publicKey, padding, digest, openssl["theirs"]) == errSecSuccess)
            #expect(verify(privateKey, padding, digest, signature) == errSecSuccess)

            // The refusing twins.
            #expect(verify(publicKey, padding, Data(count: length), signature) == errSSLCrypto)
            #expect(verify(publicKey, padding, digest, signature.dropLast()) == errSSLCrypto)
            #expect(verify(publicKey, padding, digest, Data()) == errSSLCrypto)
            for wrong in [length - 1, length + 1, 0] {
                #expect(sign(privateKey, padding, Data(count: wrong), room: 256) == (errSecParam, Data()))
                #expect(verify(publicKey, padding, Data(count: wrong), signature) == errSecParam)
            }
            #expect(sign(publicKey, padding, digest, room: 256) == (errSecParam, Data()))
        }
        for padding in Self.unknown {
            #expect(sign(privateKey, padding, Data(count: 20), room: 256) == (errSecParam, Data()), "\(padding)")
            #expect(verify(publicKey, padding, Data(count: 20), Data(count: 256)) == errSecParam, "\(padding)")
        }
    }

    @Test("RSA: without a hash, and raw, both ways with OpenSSL")
    func signaturesOfRSAWithoutHash() throws {
        let (privateKey, publicKey) = try keys(.rsa2048)
        for (padding, data, operation, option) in [
            (SecPadding.PKCS1, Data("any bytes".utf8), "-sign", "pkcs1"),
            // What OpenSSL calls decrypting is the same number.
            ([], Data([0]) + Data(repeating: 7, count: 255), "-decrypt", "none"),
        ] {
            try openssl.write(data, "data")
            try openssl(
                "pkeyutl", operation, "-inkey", "one.key", "-pkeyopt", "rsa_padding_mode:\(option)", "-in", "data",
                "-out", "theirs")
            let (status, signature) = sign(privateKey, padding, data, room: 256)
            #expect(try (status, signature) == (errSecSuccess, openssl["theirs"]))
            #expect(verify(publicKey, padding, data, signature) == errSecSuccess)
            #expect(verify(publicKey, padding, data.dropLast() + [0], signature) == errSSLCrypto)
        }
        // As much as fits, and a byte more.
        #expect(sign(privateKey, .PKCS1, Data(count: 245), room: 256).0 == errSecSuccess)
        #expect(sign(privateKey, .PKCS1, Data(count: 246), room: 256) == (errSecParam, Data()))
        #expect(sign(privateKey, [], Data(count: 257), room: 256) == (errSecParam, Data()))
        #expect(sign(privateKey, [], Data(repeating: 0xff, count: 256), room: 256) == (errSecParam, Data()))
    }

    @Test(
        "SE-20, SE-21: curves: a DER sequence, or r and s, both ways with OpenSSL",
        arguments: [OpenSSL.Algorithm.p256, .p384, .p521])
    func signaturesOfCurves(_ algorithm: OpenSSL.Algorithm) throws {
        let (privateKey, publicKey) = try keys(algorithm)
        let field = SecKeyGetBlockSize(privateKey)
        // A digest of no hash, too.
        for length in [20, 28, 32, 48, 64, 30] {
            let digest = Data((0..<length).map { _ in UInt8.random(in: .min ... .max) })
            try openssl.write(digest, "digest")
            // Apple takes whatever else for a sequence.
            for padding in [SecPadding.PKCS1, [], .PKCS1SHA256, .OAEP] {
                let (status, signature) = sign(privateKey, padding, digest, room: 200)
                #expect(status == errSecSuccess && signature.first == 0x30, "\(padding)")
                try openssl.write(signature, "signature")
                try openssl(
                    "pkeyutl", "-verify", "-pubin", "-inkey", "one.pub", "-sigfile", "signature", "-in", "digest")
                #expect(verify(publicKey, padding, digest, signature) == errSecSuccess)
                #expect(verify(publicKey, .sigRaw, digest, signature) == errSSLCrypto)
                #expect(verify(publicKey, padding, Data(digest.reversed()), signature) == errSSLCrypto)
            }
            try openssl("pkeyutl", "-sign", "-inkey", "one.key", "-in", "digest", "-out", "theirs")
            #expect(try verify(publicKey, .PKCS1, digest, openssl["theirs"]) == errSecSuccess)
            let (status, signature) = sign(privateKey, .sigRaw, digest, room: 2 * field)
            #expect(status == errSecSuccess && signature.count == 2 * field)
            #expect(verify(publicKey, .sigRaw, digest, signature) == errSecSuccess)
            #expect(verify(publicKey, .PKCS1, digest, signature) == errSSLCrypto)
        }
        // A private key of a curve verifies nothing, and a public one signs nothing.
        #expect(verify(privateKey, .PKCS1, Data(count: 32), Data(count: 70)) == errSecParam)
        #expect(sign(publicKey, .PKCS1, Data(count: 32), room: 200) == (errSecParam, Data()))
    }

    @Test func tooLittleRoomIsRefusedAndNothingIsWritten() throws {
        let (privateKey, publicKey) = try keys(.rsa2048)
        for room in [0, 1, 255] {
            var buffer = [UInt8](repeating: 0xAA, count: 512)
            var length = room
            #expect(SecKeyRawSign(privateKey, .PKCS1, [1, 2, 3], 3, &buffer, &length) == errSecParam)
            #expect(length == room && buffer.allSatisfy { $0 == 0xAA })
            #expect(SecKeyEncrypt(publicKey, .PKCS1, [1, 2, 3], 3, &buffer, &length) == errSecParam)
            #expect(length == room && buffer.allSatisfy { $0 == 0xAA })
        }
        // Exactly enough, and no byte beyond.
        var buffer = [UInt8](repeating: 0xAA, count: 512)
        var length = 256
        #expect(SecKeyRawSign(privateKey, .PKCS1, [1, 2, 3], 3, &buffer, &length) == errSecSuccess)
        #expect(length == 256 && buffer[256...].allSatisfy { $0 == 0xAA } && buffer[..<256].contains { $0 != 0xAA })
    }

    @Test func negativeLengthsAreRefused() throws {
        let (privateKey, publicKey) = try keys(.rsa1024)
        var buffer = [UInt8](repeating: 0, count: 256)
        for wrong in [-1, Int.min] {
            var length = 256
            #expect(SecKeyRawSign(privateKey, .PKCS1, [1], wrong, &buffer, &length) == errSecParam)
            #expect(SecKeyRawVerify(publicKey, .PKCS1, [1], wrong, buffer, 128) == errSecParam)
            #expect(SecKeyRawVerify(publicKey, .PKCS1, [1], 1, buffer, wrong) == errSecParam)
            #expect(SecKeyEncrypt(publicKey, .PKCS1, [1], wrong, &buffer, &length) == errSecParam)
            #expect(SecKeyDecrypt(privateKey, .PKCS1, [1], wrong, &buffer, &length) == errSecParam)
            length = wrong
            #expect(SecKeyRawSign(privateKey, .PKCS1, [1], 1, &buffer, &length) == errSecParam)
            #expect(length == wrong)
        }
    }

    // MARK: - Encryption

    @Test("RSA: none, PKCS#1 and OAEP with SHA-1, both ways with OpenSSL")
    func encryption() throws {
        let (privateKey, publicKey) = try keys(.rsa2048)
        let (otherPrivateKey, _) = try keys(.rsa2048, "other")
        let text = Data("a secret".utf8)
        for (padding, option, most) in [(SecPadding.PKCS1, "pkcs1", 245), (.OAEP, "oaep", 214)] {
            let (status, encrypted) = encrypt(publicKey, padding, text, room: 256)
            #expect(status == errSecSuccess && encrypted.count == 256)
            try openssl.write(encrypted, "encrypted")
            try openssl.write(text, "text")
            let options = ["-pkeyopt", "rsa_padding_mode:\(option)"]
            try openssl.run(
                ["pkeyutl", "-decrypt", "-inkey", "one.key", "-in", "encrypted", "-out", "decrypted"] + options)
            #expect(try openssl["decrypted"] == text)
            try openssl.run(
                ["pkeyutl", "-encrypt", "-pubin", "-inkey", "one.pub", "-in", "text", "-out", "theirs"] + options)
            #expect(try decrypt(privateKey, padding, openssl["theirs"], room: text.count) == (errSecSuccess, text))

            // The refusing twins: room, length, another key, another padding, a changed byte, invalid input.
            #expect(decrypt(privateKey, padding, encrypted, room: text.count - 1) == (errSecParam, Data()))
            #expect(encrypt(publicKey, padding, Data(count: most), room: 256).0 == errSecSuccess)
            #expect(encrypt(publicKey, padding, Data(count: most + 1), room: 256) == (errSecParam, Data()))
            #expect(encrypt(privateKey, padding, text, room: 256) == (errSecParam, Data()))
            #expect(decrypt(otherPrivateKey, padding, encrypted, room: 256) == (errSecParam, Data()))
            let other: SecPadding = padding == .PKCS1 ? .OAEP : .PKCS1
            #expect(decrypt(privateKey, other, encrypted, room: 256) == (errSecParam, Data()))
            for wrong in [Data(), encrypted.dropLast(), encrypted + [0]] {
                #expect(decrypt(privateKey, padding, wrong, room: 256) == (errSecParam, Data()))
            }
        }
        for padding in [SecPadding.sigRaw, .PKCS1SHA1, .PKCS1MD5, [.PKCS1, .OAEP]] {
            #expect(encrypt(publicKey, padding, text, room: 256) == (errSecParam, Data()), "\(padding)")
            #expect(decrypt(privateKey, padding, Data(count: 256), room: 256) == (errSecParam, Data()), "\(padding)")
        }
    }

    @Test("RSA without padding: zeros at the start of the plaintext are left out, as Apple's leaves them out")
    func rawEncryption() throws {
        let (privateKey, publicKey) = try keys(.rsa2048)
        for (text, expected) in [
            (Data([1, 2, 3]), Data([1, 2, 3])), (Data([0, 0, 7, 0]), Data([7, 0])), (Data(count: 256), Data()),
            (Data([1]) + Data(count: 255), Data([1]) + Data(count: 255)),
        ] {
            let (status, encrypted) = encrypt(publicKey, [], text, room: 256)
            #expect(status == errSecSuccess && encrypted.count == 256)
            #expect(decrypt(privateKey, [], encrypted, room: expected.count) == (errSecSuccess, expected))
        }
        #expect(encrypt(publicKey, [], Data(count: 257), room: 300) == (errSecParam, Data()))
        #expect(encrypt(publicKey, [], Data(repeating: 0xff, count: 256), room: 300) == (errSecParam, Data()))
    }

    @Test func curvesEncryptNothing() throws {
        let (privateKey, publicKey) = try keys(.p256)
        for padding in [SecPadding.PKCS1, .OAEP, []] {
            #expect(encrypt(publicKey, padding, Data([1]), room: 256) == (errSecParam, Data()))
            #expect(decrypt(privateKey, padding, Data(count: 256), room: 256) == (errSecParam, Data()))
        }
    }

    @Test func publicKeyOfACertificateByItsOldName() throws {
        let (_, publicKey) = try keys(.p256)
        let certificate = try #require(SecCertificateCreateWithData(nil, openssl.makeCertificate() as CFData))
        #expect(SecCertificateCopyPublicKey(certificate) == publicKey)
    }

    // MARK: - The functions without their pointers

    private func keys(_ algorithm: OpenSSL.Algorithm, _ name: String = "one") throws -> (
        private: SecKey, public: SecKey
    ) {
        try openssl.makeKey(name, algorithm)
        try openssl("pkey", "-in", "\(name).key", "-pubout", "-out", "\(name).pub")
        let attributes =
            [
                kSecAttrKeyType: algorithm.isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeEC,
                kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            ] as CFDictionary
        let key = try #require(
            SecKeyCreateWithData(openssl.keyBytes(algorithm, name).private as CFData, attributes, nil))
        return (key, try #require(SecKeyCopyPublicKey(key)))
    }

    private func sign(_ key: SecKey, _ padding: SecPadding, _ digest: Data, room: Int) -> (OSStatus, Data) {
        written(room) { SecKeyRawSign(key, padding, Array(digest), digest.count, $0, $1) }
    }

    private func verify(_ key: SecKey, _ padding: SecPadding, _ digest: Data, _ signature: Data) -> OSStatus {
        SecKeyRawVerify(key, padding, Array(digest), digest.count, Array(signature), signature.count)
    }

    private func encrypt(_ key: SecKey, _ padding: SecPadding, _ text: Data, room: Int) -> (OSStatus, Data) {
        written(room) { SecKeyEncrypt(key, padding, Array(text), text.count, $0, $1) }
    }

    private func decrypt(_ key: SecKey, _ padding: SecPadding, _ encrypted: Data, room: Int) -> (OSStatus, Data) {
        written(room) { SecKeyDecrypt(key, padding, Array(encrypted), encrypted.count, $0, $1) }
    }

    /// What a function writes where there is so much room; nothing where it fails.
    private func written(
        _ room: Int, _ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> OSStatus
    ) -> (OSStatus, Data) {
        var buffer = [UInt8](repeating: 0, count: max(room, 1))
        var length = room
        let status = body(&buffer, &length)
        return (status, status == errSecSuccess ? Data(buffer.prefix(length)) : Data())
    }
}
