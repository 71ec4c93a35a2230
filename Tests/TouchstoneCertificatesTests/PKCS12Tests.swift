import Foundation
import SwiftASN1
import Testing
import TouchstoneCertificates

@testable import TouchstoneSecurity

/// PKCS#12 files that OpenSSL makes.
@Suite struct PKCS12Tests {
    private let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    private func load(_ file: Data, _ options: [CFString: Any]) -> (OSStatus, [[String: Any]]?) {
        var items: CFArray?
        let status = SecPKCS12Import(file as CFData, options as CFDictionary, &items)
        return (status, items as? [[String: Any]])
    }

    private func load(_ file: Data, _ passphrase: String) -> (OSStatus, [[String: Any]]?) {
        load(file, [kSecImportExportPassphrase: passphrase])
    }

    /// A file of `one.key` and `one.pem`.
    private func export(_ passphrase: String, _ more: [String] = []) throws -> Data {
        try openssl.run(
            ["pkcs12", "-export", "-inkey", "one.key", "-in", "one.pem", "-passout", "pass:\(passphrase)"] + more
                + ["-out", "one.p12"])
        return try openssl["one.p12"]
    }

    private func identity(_ item: [String: Any]?) throws -> (certificate: SecCertificate, key: SecKey) {
        let value = try #require(item?[kSecImportItemIdentity as String]) as AnyObject
        #expect(CFGetTypeID(value) == SecIdentityGetTypeID())
        var (certificate, key): (SecCertificate?, SecKey?)
        SecIdentityCopyCertificate(value as! SecIdentity, &certificate)
        SecIdentityCopyPrivateKey(value as! SecIdentity, &key)
        return (try #require(certificate), try #require(key))
    }

    /// The private key of `one.key` as we read it from PKCS#8.
    private func key() throws -> SecKey {
        try openssl("pkcs8", "-topk8", "-nocrypt", "-in", "one.key", "-outform", "DER", "-out", "one.p8")
        return SecKey(try #require(SoftwareKey(privateKeyInfo: Array(openssl["one.p8"]))))
    }

    @Test(
        arguments: [OpenSSL.Algorithm.p256, .p521, .rsa2048],
        [
            [], ["-legacy"], ["-legacy", "-descert"],
            ["-legacy", "-keypbe", "PBE-SHA1-2DES", "-certpbe", "PBE-SHA1-RC2-128"],
            ["-keypbe", "AES-128-CBC", "-certpbe", "AES-192-CBC"],
            ["-keypbe", "DES-EDE3-CBC", "-certpbe", "DES-EDE3-CBC"],
            ["-keypbe", "NONE", "-certpbe", "NONE"], ["-macalg", "sha1"], ["-macalg", "sha384"], ["-macalg", "sha512"],
            ["-nomaciter"], ["-noiter", "-nomaciter"], ["-iter", "100000"],
        ])
    func everyEncryptionIsRead(_ algorithm: OpenSSL.Algorithm, _ options: [String]) throws {
        try openssl.makeKey("one", algorithm)
        let der = try openssl.makeCertificate()
        let file = try export("correct horse", options)
        let (status, items) = load(file, "correct horse")
        #expect(status == errSecSuccess)
        #expect(items?.count == 1)
        let identity = try identity(items?.first)
        #expect(SecCertificateCopyData(identity.certificate) as Data == der)
        #expect(identity.key == (try key()))
        #expect(load(file, "wrong horse").0 == errSecAuthFailed)
        #expect(load(file, "").0 == errSecAuthFailed)
    }

    @Test(arguments: ["x", "", "Grüße 東京", "😀", String(repeating: "long ", count: 40)], [[], ["-legacy"]])
    func everyPassphraseIsRead(_ passphrase: String, _ options: [String]) throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        let file = try export(passphrase, options)
        #expect(load(file, passphrase).0 == errSecSuccess)
        #expect(load(file, passphrase + "x").0 == errSecAuthFailed)
        // Left out is empty.
        #expect(load(file, [:]).0 == (passphrase.isEmpty ? errSecSuccess : errSecAuthFailed))
    }

    /// Files with the algorithms of those in Apple's tests (SecPKCS12Tests.m, si-61-pkcs12.c); the bytes are not published with them.
    static let filesOfApple: [(algorithm: OpenSSL.Algorithm, options: [String])] = [
        (.rsa1024, ["-legacy", "-descert", "-macalg", "sha1"]), (.rsa2048, ["-legacy", "-descert", "-macalg", "sha1"]),
        (.p256, ["-legacy", "-descert", "-macalg", "sha1"]), (.p521, ["-legacy", "-descert", "-macalg", "sha1"]),
        (.rsa2048, ["-keypbe", "AES-256-CBC", "-certpbe", "AES-256-CBC", "-macalg", "sha256", "-iter", "2048"]),
        (.rsa2048, ["-legacy", "-descert", "-macalg", "sha256"]),
    ]

    @Test(
        "Apple's statuses: with the passphrase 0 and one identity, without any errSecAuthFailed",
        arguments: filesOfApple)
    func statusesOfApple(_ file: (algorithm: OpenSSL.Algorithm, options: [String])) throws {
        try openssl.makeKey("one", file.algorithm)
        _ = try openssl.makeCertificate()
        let bytes = try export("secret", file.options)
        let (status, items) = load(bytes, "secret")
        #expect(status == errSecSuccess && items?.count == 1)
        #expect(try identity(items?.first).key == key())
        #expect(load(bytes, [:]).0 == errSecAuthFailed)
        // In memory, as Apple's tests ask for it.
        #expect(load(bytes, [kSecImportExportPassphrase: "secret", kSecImportToMemoryOnly: true]).0 == errSecSuccess)
    }

    @Test("Apple's statuses: an invalid certificate under a valid code is errSecDecode")
    func certificateThatIsNoneIsRefused() throws {
        try openssl.makeKey()
        let der = try openssl.makeCertificate()
        let file = try export("1234", ["-keypbe", "NONE", "-certpbe", "NONE"])
        var parts = try MadeFile(file, passphrase: "1234")
        #expect(load(parts.file(), "1234").0 == errSecSuccess)
        let place = try #require(Data(parts.contents).range(of: der))
        // Its own tag is no longer that of a sequence.
        parts.contents[place.lowerBound] = 0x04
        #expect(load(parts.file(), "1234").0 == errSecDecode)
    }

    @Test func itemSaysWhatTheFileSays() throws {
        try openssl.makeKey()
        let der = try openssl.makeCertificate()
        let item = try #require(load(try export("p", ["-name", "Grüße"]), "p").1?.first)
        #expect(item[kSecImportItemLabel as String] as? String == "Grüße")
        let hash = SecCertificate(itemData: der)?.publicKeyHash
        #expect(item[kSecImportItemKeyID as String] as? Data == hash && hash?.count == 20)
        #expect((item[kSecImportItemCertChain as String] as? [SecCertificate])?.count == 1)
        // TR-10: not judged yet, and nobody trusts it.
        let trust = item[kSecImportItemTrust as String] as! SecTrust
        #expect(
            SecTrustCopyCertificateChain(trust) as? [SecCertificate] == item[kSecImportItemCertChain as String]
                as? [SecCertificate])
        #expect(!SecTrustEvaluateWithError(trust, nil))
        #expect(load(try export("p"), "p").1?.first?[kSecImportItemLabel as String] as? String == "Somebody")
    }

    @Test func chainLeadsFromTheCertificateToTheRoot() throws {
        for (name, subject) in [
            ("root", "/CN=Root"), ("middle", "/CN=Middle"), ("one", "/CN=Leaf"), ("other", "/CN=Other"),
        ] {
            try openssl.makeKey(name)
            _ = try openssl.makeCertificate(name, subject: subject)
        }
        for (name, issuer) in [("middle", "root"), ("one", "middle")] {
            try openssl(
                "x509", "-in", "\(name).pem", "-CA", "\(issuer).pem", "-CAkey", "\(issuer).key", "-out", "\(name).pem")
        }
        let others = try ["root", "other", "middle"].map { try openssl["\($0).pem"] }.reduce(Data(), +)
        try openssl.write(others, "others.pem")
        let (status, items) = load(try export("p", ["-certfile", "others.pem"]), "p")
        #expect(status == errSecSuccess)
        let chain = try #require(items?.first?[kSecImportItemCertChain as String] as? [SecCertificate])
        #expect(chain.map { SecCertificateCopySubjectSummary($0) as String? } == ["Leaf", "Middle", "Root"])
        #expect(items?.count == 1)
    }

    @Test func issuersInACircleEnd() throws {
        for (name, subject) in [("one", "/CN=A"), ("other", "/CN=B")] {
            try openssl.makeKey(name)
            _ = try openssl.makeCertificate(name, subject: subject)
        }
        try openssl("x509", "-in", "one.pem", "-CA", "other.pem", "-CAkey", "other.key", "-out", "one.new")
        try openssl("x509", "-in", "other.pem", "-CA", "one.pem", "-CAkey", "one.key", "-out", "other.pem")
        try openssl.write(try openssl["one.new"], "one.pem")
        let items = load(try export("p", ["-certfile", "other.pem"]), "p").1
        #expect((items?.first?[kSecImportItemCertChain as String] as? [SecCertificate])?.count == 2)
    }

    @Test func fileWithoutACertificateOrWithoutAKeyHasNoIdentity() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        try openssl("pkcs12", "-export", "-nocerts", "-inkey", "one.key", "-passout", "pass:p", "-out", "key.p12")
        try openssl("pkcs12", "-export", "-nokeys", "-in", "one.pem", "-passout", "pass:p", "-out", "certificate.p12")
        for name in ["key.p12", "certificate.p12"] {
            let (status, items) = load(try openssl[name], "p")
            #expect(status == errSecSuccess)
            #expect(items?.isEmpty == true)
        }
    }

    @Test func keyOfAnotherAlgorithmIsRefused() throws {
        try openssl("genpkey", "-algorithm", "ED25519", "-out", "one.key")
        _ = try openssl.makeCertificate()
        #expect(load(try export("p"), "p").0 == errSecDecode)
    }

    @Test func fileWithoutACodeIsRefused() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        #expect(load(try export("p", ["-nomac"]), "p").0 == errSecDecode)
    }

    @Test func passphraseThatIsNoTextIsRefused() throws {
        #expect(load(Data(), [kSecImportExportPassphrase: Data([1])]).0 == errSecParam)
        #expect(load(Data(), [kSecImportExportPassphrase: 1]).0 == errSecParam)
    }

    @Test func otherThingsAreRefused() throws {
        try openssl.makeKey()
        let certificate = try openssl.makeCertificate()
        for file in [Data(), Data([0x30, 0x80]), Data([0x30, 0x00]), Data("PK".utf8), certificate] {
            #expect(load(file, "p").0 == errSecDecode)
        }
    }

    @Test func fileCutAnywhereIsRefused() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        let file = try export("p", ["-iter", "1", "-nomaciter"])
        #expect(load(file, "p").0 == errSecSuccess)
        for count in 0..<file.count { #expect(load(file.prefix(count), "p").0 == errSecDecode) }
        #expect(load(file + [0], "p").0 == errSecDecode)
    }

    @Test(arguments: [["-iter", "1", "-nomaciter"], ["-legacy", "-noiter", "-nomaciter"]])
    func fileWithAnyByteChangedIsRefused(_ options: [String]) throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        let file = try export("p", options)
        var seen: [OSStatus: Int] = [:]
        for index in file.indices {
            for mask: UInt8 in [0x01, 0x80] {
                var changed = file
                changed[index] ^= mask
                seen[load(changed, "p").0, default: 0] += 1
            }
        }
        // What the code does not cover are its parameters: nothing of it can be changed unnoticed, but how a NULL is written, and that
        // one iteration is the default.
        #expect(Set(seen.keys).isSubset(of: [errSecSuccess, errSecAuthFailed, errSecDecode]))
        #expect(seen[errSecSuccess, default: 0] <= 8, "\(seen)")
        #expect(seen[errSecAuthFailed, default: 0] > file.count)
    }

    @Test func contentsThatAreDamagedUnderAGoodCodeAreRefused() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        let file = try export("p", ["-iter", "1", "-nomaciter", "-macalg", "sha256"])
        let parts = try MadeFile(file, passphrase: "p")
        #expect(load(parts.file(), "p").0 == errSecSuccess)
        var seen: [OSStatus: Int] = [:]
        for index in parts.contents.indices {
            for mask: UInt8 in [0x01, 0x80] {
                var changed = parts
                changed.contents[index] ^= mask
                seen[load(changed.file(), "p").0, default: 0] += 1
            }
        }
        #expect(Set(seen.keys).isSubset(of: [errSecSuccess, errSecDecode]), "\(seen)")
        #expect(seen[errSecDecode, default: 0] > 100, "\(seen)")
        for count in 0..<parts.contents.count {
            var changed = parts
            changed.contents.removeLast(parts.contents.count - count)
            #expect(load(changed.file(), "p").0 != errSecAuthFailed)
        }
    }

    @Test func endlessDerivationsAreRefused() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        var parts = try MadeFile(try export("p", ["-iter", "1", "-nomaciter"]), passphrase: "p")
        let clock = ContinuousClock()
        for iterations: [UInt8] in [[0x7f, 0xff, 0xff, 0xff], [0x00, 0xff, 0xff, 0xff, 0xff], [0xff], [0x00], []] {
            parts.iterations = iterations
            let start = clock.now
            #expect(load(parts.file(), "p").0 == errSecDecode)
            #expect(clock.now - start < .seconds(100))
        }
    }

    @Test func emptyPassphraseMayBeNothingAtAll() throws {
        try openssl.makeKey()
        _ = try openssl.makeCertificate()
        for passphrase in ["", "p"] {
            var parts = try MadeFile(
                try export(passphrase, ["-keypbe", "NONE", "-certpbe", "NONE"]), passphrase: passphrase)
            #expect(load(parts.file(), passphrase).0 == errSecSuccess)
            parts.hasTerminator = false
            #expect(load(parts.file(), passphrase).0 == (passphrase.isEmpty ? errSecSuccess : errSecAuthFailed))
        }
    }

    @Test func piecesOfIndefiniteLengthAreRead() throws {
        try openssl.makeKey()
        let der = try openssl.makeCertificate()
        var parts = try MadeFile(try export("p"), passphrase: "p")
        parts.isInPieces = true
        let (status, items) = load(parts.file(), "p")
        #expect(status == errSecSuccess)
        #expect(SecCertificateCopyData(try identity(items?.first).certificate) as Data == der)
        #expect(load(parts.file().dropLast(), "p").0 == errSecDecode)
    }
}
