import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct AddTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    // MARK: defaults

    @Test("Section 3, KC-21, KC-41: a generic password of nothing but its class gets the defaults")
    func genericDefaults() throws {
        try device.run {
            #expect(add(generic()) == errSecSuccess)
            let found = try attributes(generic())
            #expect(Set(found.keys) == ["acct", "svce", "agrp", "sync", "pdmn", "accc", "cdat", "mdat"])
            #expect(found["acct"] as? String == "")
            #expect(found["svce"] as? String == "")
            #expect(found["sync"] as? Int == 0)
            #expect(found["pdmn"] as? String == kSecAttrAccessibleWhenUnlocked as String)
            #expect(found["agrp"] as? String == SimulatedDevice.applicationIdentifier)
            #expect(try found["accc"] as? SecAccessControl == (control([])))
        }
    }

    @Test("Section 3: an internet password of nothing but its class gets the defaults")
    func internetDefaults() throws {
        try device.run {
            #expect(add(internet()) == errSecSuccess)
            let found = try attributes(internet())
            for key in ["acct", "sdmn", "srvr", "atyp", "path"] { #expect(found[key] as? String == "", "\(key)") }
            for key in ["ptcl", "port", "sync"] { #expect(found[key] as? Int == 0, "\(key)") }
            #expect(found["svce"] == nil)
        }
    }

    @Test("Section 3: both dates are the time of the add, whatever the caller says")
    func datesAreForced() throws {
        try device.run {
            let old = Date(timeIntervalSinceReferenceDate: 1)
            device.advance(by: .hours(1))
            let now = Date(timeIntervalSinceReferenceDate: 800_003_600)
            #expect(add(generic([kSecAttrCreationDate: old, kSecAttrModificationDate: old])) == errSecSuccess)
            let found = try attributes(generic())
            #expect(found["cdat"] as? Date == now)
            #expect(found["mdat"] as? Date == now)
        }
    }

    // MARK: identity

    @Test("KC-30, KC-31: each attribute of a generic password's key tells items apart, and the same key is a duplicate")
    func genericIdentity() {
        device.run {
            for attributes in [
                [:], [kSecAttrAccount: "a"], [kSecAttrService: "a"], [kSecAttrAccount: "a", kSecAttrService: "a"],
                [kSecAttrSynchronizable: true], [kSecAttrAccount: "aa"],
            ] as [Attributes] {
                #expect(add(generic(attributes)) == errSecSuccess, "\(attributes)")
                #expect(add(generic(attributes)) == errSecDuplicateItem, "\(attributes)")
            }
            #expect(add(generic([kSecAttrSynchronizable: false])) == errSecDuplicateItem)
        }
    }

    @Test(
        "KC-30, KC-31: each attribute of an internet password's key tells items apart, and the same key is a duplicate")
    func internetIdentity() {
        device.run {
            for attributes in [
                [:], [kSecAttrAccount: "x"], [kSecAttrSecurityDomain: "x"], [kSecAttrServer: "x"],
                [kSecAttrProtocol: kSecAttrProtocolHTTPS], [kSecAttrAuthenticationType: kSecAttrAuthenticationTypeNTLM],
                [kSecAttrPort: 443], [kSecAttrPath: "x"], [kSecAttrSynchronizable: true],
            ] as [Attributes] {
                #expect(add(internet(attributes)) == errSecSuccess, "\(attributes)")
                #expect(add(internet(attributes)) == errSecDuplicateItem, "\(attributes)")
            }
        }
    }

    @Test("Section 1: two internet passwords that both omit the port collide, and with one of port 0")
    func omittedPortCollides() {
        device.run {
            #expect(add(internet([kSecAttrServer: "s"])) == errSecSuccess)
            #expect(add(internet([kSecAttrServer: "s"])) == errSecDuplicateItem)
            #expect(add(internet([kSecAttrServer: "s", kSecAttrPort: 0])) == errSecDuplicateItem)
            #expect(add(internet([kSecAttrServer: "s", kSecAttrPort: 1])) == errSecSuccess)
            #expect(add(internet([kSecAttrServer: "s", kSecAttrPort: "1"])) == errSecDuplicateItem)
        }
    }

    @Test("KC-21: neither the protection class nor any attribute outside the key makes another item")
    func otherAttributesAreNoIdentity() throws {
        try device.run {
            #expect(add(account("a").value("1")) == errSecSuccess)
            for (key, value) in [
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
                kSecAttrAccessControl: try control(.userPresence),
                kSecAttrLabel: "x", kSecAttrGeneric: Data([1]), kSecAttrDescription: "x", kSecAttrComment: "x",
                kSecAttrIsInvisible: true, kSecAttrCreator: 1, kSecAttrType: 1, kSecValueData: Data([2]),
            ] as Attributes {
                #expect(add(account("a", [key: value])) == errSecDuplicateItem, "\(key)")
            }
            #expect(secret(account("a")) == "1")
        }
    }

    @Test("Section 1: text and bytes are one key value, and each comes back as it went in")
    func textAndBytesAreEqual() throws {
        try device.run { () throws in
            #expect(add(account("x")) == errSecSuccess)
            #expect(add(generic([kSecAttrAccount: Data("x".utf8)])) == errSecDuplicateItem)
            #expect(add(generic([kSecAttrAccount: Data("y".utf8)])) == errSecSuccess)
            #expect(add(account("y")) == errSecDuplicateItem)
            #expect(try attributes(account("y"))["acct"] as? Data == Data("y".utf8))
            #expect(try attributes(generic([kSecAttrAccount: Data("x".utf8)]))["acct"] as? String == "x")
        }
    }

    @Test("KC-44: two apps have an item of the same key each")
    func appsDoNotCollide() {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        device.run(as: "other") { #expect(add(account("a").value("2")) == errSecSuccess) }
        device.run { #expect(secret(account("a")) == "1") }
        device.run(as: "other") { #expect(secret(account("a")) == "2") }
    }

    @Test("KC-31: an item that can never be opened again is replaced by an add")
    func deadItemIsReplaced() throws {
        try device.runUnprompted {
            let dead = account("a", [kSecAttrAccessControl: try control(.biometryCurrentSet)])
            #expect(add(dead.value("1")) == errSecSuccess)
            #expect(add(account("a").value("2")) == errSecDuplicateItem)
            try device.enrollFinger()
            #expect(add(account("a").value("2")) == errSecSuccess)
            #expect(secret(account("a")) == "2")
        }
    }

    @Test("KC-32, AC-12: binding and colliding ask nobody, with and without leave to ask")
    func collisionAsksNobody() throws {
        try device.runUnprompted {
            let item = account("a", [kSecAttrAccessControl: try control(.userPresence)])
            #expect(add(item.silent) == errSecSuccess)
            #expect(add(item.silent) == errSecDuplicateItem)
            #expect(add(item) == errSecDuplicateItem)
        }
    }

    // MARK: results

    @Test("Section 6: an add returns what is asked for, and empty data where there is none")
    func results() throws {
        try device.run {
            #expect(addReturning(account("1").value("s")).result == nil)
            #expect(addReturning(account("2").value("s").data).result as? Data == Data("s".utf8))
            #expect(addReturning(account("3").data).result as? Data == Data())
            let attributes = try #require(addReturning(account("4").attributes).result as? [String: Any])
            #expect(attributes["acct"] as? String == "4")
            let reference = addReturning(account("5", [kSecReturnPersistentRef: true])).result as? Data
            #expect(reference?.count == 20)
            #expect(reference?.prefix(4) == Data("genp".utf8))
            let both = try #require(addReturning(account("6").data.attributes).result as? [String: Any])
            #expect(both["v_Data"] == nil)
            #expect(both["acct"] as? String == "6")
        }
    }

    @Test(
        "Section 6: data is optional, may be empty, and may be large",
        arguments: [0, 1, 15, 16, 17, 32 << 10, 700 << 10])
    func sizes(count: Int) {
        device.run {
            let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            #expect(add(account("a", [kSecValueData: data])) == errSecSuccess)
            #expect(find(account("a").data).result as? Data == data)
        }
    }
}
