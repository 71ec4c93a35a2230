import Foundation
import Security
import Testing
import TouchstoneTesting

/// Certificates and keys as items: their primary keys, their defaults, and references in place of attributes.
@Suite(.timeLimit(.minutes(10))) struct CertificateAndKeyTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    // MARK: primary keys and defaults

    @Test("KC-30: type, issuer and serial number identify a certificate, and nothing else does") func certificateKey() {
        device.run {
            let base = certificates([
                kSecAttrCertificateType: 3, kSecAttrIssuer: Data("i".utf8), kSecAttrSerialNumber: Data([1]),
            ])
            #expect(add(base) == errSecSuccess)
            #expect(add(base) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrLabel, "other").value("other")) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrSubject, Data("s".utf8))) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrAccessible, kSecAttrAccessibleWhenUnlocked)) == errSecDuplicateItem)
            // Text is its UTF-8.
            #expect(add(base.with(kSecAttrIssuer, "i")) == errSecDuplicateItem)
            for (key, value) in [
                kSecAttrCertificateType: 1, kSecAttrIssuer: Data("j".utf8), kSecAttrSerialNumber: Data([2]),
                kSecAttrSynchronizable: true,
            ] as Attributes { #expect(add(base.with(key, value)) == errSecSuccess, "\(key)") }
        }
    }

    @Test("KC-30: class, labels, type, sizes and dates identify a key, and nothing else does") func keyKey() {
        device.run {
            let base = keys([kSecAttrApplicationTag: "tag", kSecAttrKeyClass: kSecAttrKeyClassPrivate])
            #expect(add(base) == errSecSuccess)
            #expect(add(base) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrLabel, "other").value("other")) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrCanSign, true)) == errSecDuplicateItem)
            #expect(add(base.with(kSecAttrApplicationTag, Data("tag".utf8))) == errSecDuplicateItem)
            #expect(add(base.with("sdat" as CFString, Date(timeIntervalSinceReferenceDate: 0))) == errSecDuplicateItem)
            for (key, value) in [
                kSecAttrApplicationTag: "tag2", kSecAttrKeyClass: kSecAttrKeyClassPublic,
                kSecAttrApplicationLabel: Data([1]), kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048,
                kSecAttrEffectiveKeySize: 2048, "crtr" as CFString: 7, "sdat" as CFString: Date(),
                "edat" as CFString: Date(), kSecAttrSynchronizable: true,
            ] as Attributes { #expect(add(base.with(key, value)) == errSecSuccess, "\(key)") }
        }
    }

    @Test("Section 3: what is missing is as the table says") func defaults() throws {
        try device.run {
            #expect(add(keys()) == errSecSuccess)
            let key = try attributes(keys())
            for name in ["kcls", "type", "crtr", "bsiz", "esiz", "sync"] { #expect(key[name] as? Int == 0, "\(name)") }
            #expect(key["klbl"] as? Data == Data())
            #expect(key["atag"] as? String == "")
            for name in ["sdat", "edat"] {
                #expect(key[name] as? Date == Date(timeIntervalSinceReferenceDate: 0), "\(name)")
            }
            #expect(add(certificates()) == errSecSuccess)
            let certificate = try attributes(certificates())
            #expect(certificate["ctyp"] as? Int == 0)
            for name in ["issr", "slnr"] { #expect(certificate[name] as? Data == Data(), "\(name)") }
            for name in ["subj", "pkhh", "cenc", "labl"] { #expect(certificate[name] == nil, "\(name)") }
        }
    }

    @Test("KC-21: certificates are always accessible by default, keys when unlocked") func defaultClasses() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            addReference(try certificate(TestCertificates.client))
            addReference(try privateKey(TestCertificates.clientKey))
            #expect(
                try attributes(certificates())["pdmn"] as? String == kSecAttrAccessibleAlways as String)
            #expect(try attributes(keys())["pdmn"] as? String == kSecAttrAccessibleWhenUnlocked as String)
            try device.lock()
            #expect(read(certificates()) == errSecSuccess)
            #expect(read(keys()) == errSecInteractionNotAllowed)
        }
    }

    @Test("Section 3: a value is converted as its kind is, or refused") func conversion() throws {
        try device.run {
            let given = keys([
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
                kSecAttrApplicationLabel: "text", kSecAttrCanSign: true,
            ])
            #expect(add(given) == errSecSuccess)
            let found = try attributes(given)
            #expect(found["type"] as? Int == 73)
            #expect(found["kcls"] as? Int == 0)
            #expect(found["klbl"] as? Data == Data("text".utf8))
            #expect(found["sign"] as? Bool == true)
            #expect(find(keys([kSecAttrCanSign: false])).status == errSecItemNotFound)
            for (key, value) in [
                kSecAttrApplicationLabel: Date(), "sdat" as CFString: 1, kSecAttrKeySizeInBits: Data(),
                kSecAttrApplicationTag: Date(),
            ] as Attributes { #expect(add(keys([key: value])) == errSecParam, "\(key)") }
            #expect(add(certificates([kSecAttrSerialNumber: 258])) == errSecSuccess)
            #expect(try attributes(certificates())["slnr"] as? Data == Data([2, 1, 0, 0]))
        }
    }

    @Test("Section 4: an attribute of another class does not belong to this one") func foreignAttributes() {
        device.run {
            for (query, key) in [
                (keys(), kSecAttrAccount), (keys(), kSecAttrIssuer), (certificates(), kSecAttrApplicationTag),
                (certificates(), kSecAttrServer), (generic(), kSecAttrApplicationTag), (internet(), kSecAttrIssuer),
                (identities(), kSecAttrAccount),
            ] {
                #expect(find(query.with(key, "x")).status == errSecNoSuchAttr, "\(key)")
                #expect(delete(query.with(key, "x")) == errSecNoSuchAttr, "\(key)")
                #expect(update(query, [key: "x"]) == errSecNoSuchAttr, "\(key)")
            }
            #expect(add(keys([kSecAttrAccount: "x"])) == errSecNoSuchAttr)
            #expect(add(certificates([kSecAttrApplicationTag: "x"])) == errSecNoSuchAttr)
        }
    }

    // MARK: references

    @Test("Section 4: a certificate is added by its reference, with what its bytes say and its summary as label")
    func addCertificate() throws {
        try device.run {
            let reference = try certificate(TestCertificates.client)
            #expect(addReference(reference) == errSecSuccess)
            let found = try attributes(certificates())
            #expect(found["labl"] as? String == "Café Client")
            #expect(found["slnr"] as? Data == Data([3]))
            #expect((found["pkhh"] as? Data)?.count == 20)
            #expect(find(certificates().data).result as? Data == TestCertificates.client)
            #expect(addReference(reference) == errSecDuplicateItem)
            // The same bytes without a reference are the same certificate.
            let bytes = certificates([kSecValueData: TestCertificates.client])
            #expect(add(bytes) == errSecDuplicateItem)
            #expect(delete([kSecValueRef: reference]) == errSecSuccess)
            #expect(add(bytes.with(kSecAttrLabel, "mine")) == errSecSuccess)
            #expect(try attributes(certificates())["labl"] as? String == "mine")
            #expect(try attributes(certificates())["pkhh"] as? Data == found["pkhh"] as? Data)
        }
    }

    @Test("Section 4: what the dictionary says wins over what a reference does") func explicitWins() throws {
        try device.run {
            let key = try privateKey(TestCertificates.clientKey)
            let own: Attributes = [
                kSecAttrLabel: "mine", kSecAttrApplicationLabel: Data([7]), kSecAttrCanDecrypt: false,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
            ]
            #expect(addReference(key, own) == errSecSuccess)
            let found = try attributes(keys())
            #expect(found["labl"] as? String == "mine")
            #expect(found["klbl"] as? Data == Data([7]))
            #expect(found["decr"] as? Bool == false)
            #expect(found["sign"] as? Bool == true)
            #expect(found["pdmn"] as? String == "ck")
            // So the reference alone means another key, until it is said.
            #expect(find([kSecValueRef: key]).status == errSecItemNotFound)
            #expect(find([kSecValueRef: key, kSecAttrApplicationLabel: Data([7])]).status == errSecSuccess)
        }
    }

    @Test("Section 4: a reference finds, updates and deletes its item and no other", arguments: [true, false])
    func references(isCertificate: Bool) throws {
        try device.run {
            let (mine, other): (AnyObject, AnyObject) =
                isCertificate
                ? (try certificate(TestCertificates.client), try certificate(TestCertificates.stranger))
                : (try privateKey(TestCertificates.clientKey), try privateKey(TestCertificates.strangerKey))
            addReference(mine, [kSecAttrLabel: "mine"])
            addReference(other, [kSecAttrLabel: "other"])
            let query: Attributes = [kSecValueRef: mine]
            #expect(labels(query) == ["mine"])
            #expect(isEqual(find(query.with(kSecReturnRef, true)).result, mine))
            #expect(update(query, [kSecAttrLabel: "changed"]) == errSecSuccess)
            let all = isCertificate ? certificates() : keys()
            #expect(labels(all) == ["changed", "other"])
            #expect(isEqual(find(query.with(kSecReturnRef, true)).result, mine))
            #expect(delete(query) == errSecSuccess)
            #expect(labels(all) == ["other"])
            #expect(delete(query) == errSecItemNotFound)
        }
    }

    @Test("Section 4: what stands for no item is no reference") func strangeReferences() throws {
        try device.run {
            for reference in ["text" as NSString, Data() as NSData, [] as NSArray, NSNull()] as [AnyObject] {
                #expect(find([kSecValueRef: reference]).status == errSecParam)
                #expect(addReference(reference) == errSecParam)
                #expect(delete([kSecValueRef: reference]) == errSecParam)
                #expect(update([kSecValueRef: reference], [kSecAttrLabel: "x"]) == errSecParam)
            }
            let reference = try certificate(TestCertificates.client)
            addReference(reference)
            // Section 7: the new values have none.
            #expect(update(certificates(), [kSecValueRef: reference]) == errSecNoSuchAttr)
            // The class that is said wins, and has no such attributes.
            #expect(find(keys([kSecValueRef: reference])).status == errSecNoSuchAttr)
        }
    }

    @Test("Section 5: bytes that are no key have no reference, and are found all the same") func unreadableReference() {
        device.run {
            #expect(add(keys([kSecAttrApplicationTag: "junk"]).value("no key")) == errSecSuccess)
            #expect(add(certificates().value("no certificate")) == errSecSuccess)
            for query in [keys(), certificates()] {
                let (status, result) = find(query.with(kSecReturnRef, true))
                #expect(status == errSecSuccess)
                #expect(result == nil)
                #expect((find(query.with(kSecReturnRef, true).all).result as? [AnyObject])?.isEmpty == true)
                #expect(read(query) == errSecSuccess)
            }
        }
    }

    @Test("AC-22: the reference of a protected key asks the owner, as its bytes do") func protectedKey() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let key = try privateKey(TestCertificates.clientKey)
            #expect(addReference(key, [kSecAttrAccessControl: try control(.userPresence)]) == errSecSuccess)
            let query = keys([kSecReturnRef: true])
            #expect(find(query.silent).status == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(isEqual(find(query).result, key))
        }
    }

    @Test("Section 5: attributes that a search returned find the same item") func attributesAsQuery() throws {
        try device.run {
            for der in [TestCertificates.client, TestCertificates.renewed] { addReference(try certificate(der)) }
            for bytes in [TestCertificates.clientKey, TestCertificates.strangerKey] {
                addReference(try privateKey(bytes))
            }
            for query in [certificates(), keys()] {
                let found = try #require(find(query.all.attributes).result as? [[String: Any]])
                #expect(found.count == 2)
                for one in found {
                    var next = one
                    next[kSecClass as String] = query[kSecClass]
                    next[kSecMatchLimit as String] = kSecMatchLimitAll
                    next[kSecReturnAttributes as String] = true
                    var result: CFTypeRef?
                    #expect(SecItemCopyMatching(next as CFDictionary, &result) == errSecSuccess)
                    #expect((result as? [NSDictionary]) == [one as NSDictionary])
                }
            }
        }
    }
}
