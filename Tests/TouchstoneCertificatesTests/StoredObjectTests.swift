import Foundation
import Testing
import TouchstoneTesting

@testable import TouchstoneSecurity

/// Keys and identities that go into a keychain and come back.
@Suite struct StoredObjectTests {
    private let device: SimulatedDevice
    private let openssl: OpenSSL

    init() throws {
        device = try SimulatedDevice(passcode: "1234")
        openssl = try OpenSSL()
    }

    private func copy(_ query: [CFString: Any]) -> (OSStatus, AnyObject?) {
        device.run {
            var result: AnyObject?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            return (status, result)
        }
    }

    private func random(_ parameters: [CFString: Any]) -> (SecKey?, OSStatus?) {
        device.run {
            var error: Unmanaged<CFError>?
            let key = SecKeyCreateRandomKey(
                parameters.merging([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]) { own, _ in own }
                    as CFDictionary, &error)
            return (key, error.map { OSStatus(($0.takeRetainedValue() as NSError).code) })
        }
    }

    @Test func permanentKeyIsFoundByItsTag() throws {
        let tag = Data("tag".utf8)
        let key = try #require(
            random([kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag] as [CFString: Any]]).0
        )
        let (status, found) = copy([kSecClass: kSecClassKey, kSecAttrApplicationTag: tag, kSecReturnRef: true])
        #expect(status == errSecSuccess)
        #expect(found as? SecKey == key)
        // The public half was not asked for.
        #expect(copy([kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPublic]).0 == errSecItemNotFound)
    }

    @Test func bothHalvesArePermanentWhereItIsSaidOfBoth() throws {
        let key = try #require(random([kSecAttrIsPermanent: true]).0)
        let (_, publicKey) = copy([
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecReturnRef: true,
        ])
        #expect(publicKey as? SecKey == SecKeyCopyPublicKey(key))
        let (_, privateKey) = copy([
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecReturnRef: true,
        ])
        #expect(privateKey as? SecKey == key)
    }

    @Test func keyThatIsNotPermanentIsNotStored() throws {
        #expect(random([:]).0 != nil)
        #expect(
            random([kSecPrivateKeyAttrs: [kSecAttrIsPermanent: false] as [CFString: Any], kSecAttrIsPermanent: false]).0
                != nil)
        #expect(copy([kSecClass: kSecClassKey]).0 == errSecItemNotFound)
    }

    @Test func keyThatCannotBeStoredIsNotReturned() throws {
        try device.lock()
        #expect(random([kSecAttrIsPermanent: true]) == (nil, errSecInteractionNotAllowed))
    }

    @Test func privateHalfIsNotLeftWhereThePublicOneCannotBeStored() {
        let foreign: [CFString: Any] = [kSecAttrIsPermanent: true, kSecAttrAccessGroup: "another app"]
        for asked in [[:], [kSecReturnAttributes: true], [kSecReturnData: true, kSecReturnRef: true]]
            as [[CFString: Any]]
        {
            let half = asked.merging([kSecAttrIsPermanent: true]) { $1 }
            #expect(
                random([kSecPrivateKeyAttrs: half, kSecPublicKeyAttrs: foreign]) == (nil, errSecMissingEntitlement))
            #expect(copy([kSecClass: kSecClassKey]).0 == errSecItemNotFound)
        }
        // The twin: a half that can be.
        #expect(random([kSecPrivateKeyAttrs: foreign.filter { $0.key == kSecAttrIsPermanent }]).0 != nil)
        #expect(copy([kSecClass: kSecClassKey]).0 == errSecSuccess)
    }

    /// A file of `one.key`, its certificate and that of its issuer.
    private func file(_ algorithm: OpenSSL.Algorithm) throws -> Data {
        for (name, subject) in [("root", "/CN=Root"), ("one", "/CN=Leaf")] {
            try openssl.makeKey(name, algorithm)
            _ = try openssl.makeCertificate(name, subject: subject)
        }
        try openssl("x509", "-in", "one.pem", "-CA", "root.pem", "-CAkey", "root.key", "-out", "one.pem")
        return try exported()
    }

    private func exported() throws -> Data {
        try openssl(
            "pkcs12", "-export", "-inkey", "one.key", "-in", "one.pem", "-certfile", "root.pem", "-passout", "pass:p",
            "-out", "one.p12")
        return try openssl["one.p12"]
    }

    private func load(_ file: Data, _ options: [CFString: Any]) -> (OSStatus, SecIdentity?) {
        device.run {
            var items: CFArray?
            let all = options.merging([kSecImportExportPassphrase: "p"]) { own, _ in own }
            let status = SecPKCS12Import(file as CFData, all as CFDictionary, &items)
            let item = (items as? [[String: Any]])?.first
            return (status, item?[kSecImportItemIdentity as String] as? SecIdentity)
        }
    }

    @Test(arguments: [OpenSSL.Algorithm.p256, .rsa2048])
    func importedIdentityIsStoredWhereTheKeychainIsNamed(_ algorithm: OpenSSL.Algorithm) throws {
        let file = try file(algorithm)
        let inMemory = load(file, [:])
        #expect(inMemory.0 == errSecSuccess && inMemory.1 != nil)
        #expect(copy([kSecClass: kSecClassIdentity]).0 == errSecItemNotFound)

        // Twice: what is there already stays.
        for _ in 0..<2 {
            let stored = load(file, [kSecUseDataProtectionKeychain: true, kSecImportToMemoryOnly: false])
            #expect(stored.0 == errSecSuccess && stored.1 == inMemory.1)
        }
        let all: [CFString: Any] = [kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitAll]
        let (status, found) = copy(all.merging([kSecClass: kSecClassIdentity]) { $1 })
        #expect(status == errSecSuccess)
        #expect(found as? [SecIdentity] == [try #require(inMemory.1)])
        let (_, certificates) = copy(all.merging([kSecClass: kSecClassCertificate]) { $1 })
        #expect((certificates as? [SecCertificate])?.count == 2)
    }

    @Test func renewedCertificateOfAKeyThatIsThereIsStored() throws {
        let options: [CFString: Any] = [kSecUseDataProtectionKeychain: true]
        let first = load(try file(.p256), options)
        _ = try openssl.makeCertificate("one", subject: "/CN=Leaf")
        try openssl(
            "x509", "-in", "one.pem", "-CA", "root.pem", "-CAkey", "root.key", "-set_serial", "4711", "-out", "one.pem")
        let second = load(try exported(), options)
        #expect(first.0 == errSecSuccess && second.0 == errSecSuccess)
        #expect(first.1 != second.1)
        let all: [CFString: Any] = [
            kSecClass: kSecClassIdentity, kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitAll,
        ]
        let found = copy(all).1 as? [SecIdentity] ?? []
        #expect(found.count == 2)
        for identity in [try #require(first.1), try #require(second.1)] { #expect(found.contains(identity)) }
    }

    @Test func attributesOfKeysGoToTheKeyAlone() throws {
        let tag = Data("tag".utf8)
        let options: [CFString: Any] = [
            kSecUseDataProtectionKeychain: true, kSecAttrApplicationTag: tag, kSecAttrLabel: "imported",
        ]
        let (status, identity) = load(try file(.p256), options)
        #expect(status == errSecSuccess && identity != nil)
        #expect(copy([kSecClass: kSecClassKey, kSecAttrApplicationTag: tag]).0 == errSecSuccess)
        let (_, certificates) = copy([
            kSecClass: kSecClassCertificate, kSecAttrLabel: "imported", kSecReturnRef: true,
            kSecMatchLimit: kSecMatchLimitAll,
        ])
        #expect((certificates as? [SecCertificate])?.count == 2)
    }

    @Test func importedIdentityThatCannotBeStoredIsNotReturned() throws {
        let file = try file(.p256)
        try device.lock()
        #expect(load(file, [kSecUseDataProtectionKeychain: true]) == (errSecInteractionNotAllowed, nil))
        #expect(load(file, [:]).0 == errSecSuccess)
    }
}
