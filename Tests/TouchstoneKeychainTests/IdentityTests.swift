import Foundation
import Security
import Testing
import TouchstoneTesting

/// Identities: the join of a private key and a certificate whose public-key hash is the key's label.
@Suite(.timeLimit(.minutes(10))) struct IdentityTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    private func addClient(_ attributes: Attributes = [:]) throws {
        #expect(addReference(try clientIdentity(), attributes) == errSecSuccess)
    }

    @Test("Section 1: a key and a certificate that belong together are an identity, added in either way")
    func join() throws {
        try device.run {
            #expect(find(identities()).status == errSecItemNotFound)
            addReference(try certificate(TestCertificates.client))
            #expect(find(identities()).status == errSecItemNotFound)
            addReference(try privateKey(TestCertificates.strangerKey))
            #expect(find(identities()).status == errSecItemNotFound)
            addReference(try privateKey(TestCertificates.clientKey))
            #expect(try isEqual(find(identities([kSecReturnRef: true])).result, clientIdentity()))
            #expect(delete([kSecValueRef: try privateKey(TestCertificates.clientKey)]) == errSecSuccess)
            #expect(find(identities()).status == errSecItemNotFound)
        }
    }

    @Test("Section 1: a public key makes no identity") func publicKey() throws {
        try device.run {
            addReference(try certificate(TestCertificates.client))
            let key = try #require(SecKeyCopyPublicKey(privateKey(TestCertificates.clientKey)))
            #expect(addReference(key) == errSecSuccess)
            #expect(find(identities()).status == errSecItemNotFound)
        }
    }

    @Test("Section 6: an identity is added as certificate and key, and a certificate that is there is tolerated")
    func adding() throws {
        try device.run {
            addReference(try certificate(TestCertificates.client), [kSecAttrLabel: "first"])
            let (status, result) = addReturning([kSecValueRef: try clientIdentity(), kSecReturnPersistentRef: true])
            #expect(status == errSecSuccess)
            let reference = try #require(result as? Data)
            #expect(reference.prefix(4) == Data("idnt".utf8))
            #expect(labels(certificates()) == ["first"])
            #expect(find([kSecValuePersistentRef: reference, kSecReturnRef: true]).result is SecIdentity)
            #expect(addReference(try clientIdentity()) == errSecDuplicateItem)
        }
    }

    @Test("AC-23: of a guarded certificate that is there an add tells nothing but what the app gave") func guarded()
        throws
    {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.runUnprompted {
            let presence = try control(.userPresence)
            #expect(
                addReference(
                    try certificate(TestCertificates.client),
                    [kSecAttrLabel: "guarded", kSecAttrAccessControl: presence]) == errSecSuccess)
            let (status, result) = addReturning([
                kSecValueRef: try clientIdentity(), kSecReturnAttributes: true, kSecReturnPersistentRef: true,
            ])
            #expect(status == errSecSuccess)
            let returned = try #require(result as? [String: Any])
            #expect(returned["labl"] as? String != "guarded")
            #expect(returned["v_PersistentRef"] == nil)
            #expect(returned["pkhh"] != nil)
        }
    }

    @Test("Section 6: a key that is there already is a duplicate, and then no certificate is added") func addingIsOne()
        throws
    {
        try device.run {
            addReference(try privateKey(TestCertificates.clientKey))
            #expect(addReference(try clientIdentity()) == errSecDuplicateItem)
            #expect(find(certificates()).status == errSecItemNotFound)
        }
    }

    @Test("Section 6: what is said beside an identity goes to the half that has it, and must be had by one")
    func addingWithAttributes() throws {
        try device.run {
            try addClient([
                kSecAttrLabel: "both", kSecAttrApplicationTag: "tag",
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
            ])
            for query in [certificates(), keys()] {
                let found = try attributes(query)
                #expect(found["labl"] as? String == "both")
                #expect(found["pdmn"] as? String == "ck")
            }
            #expect(try attributes(keys())["atag"] as? String == "tag")
            let other = try #require(
                SecIdentityCreate(
                    nil, certificate(TestCertificates.stranger), privateKey(TestCertificates.strangerKey)))
            #expect(addReference(other, [kSecAttrAccount: "x"]) == errSecNoSuchAttr)
            #expect(addReference(other, [kSecValueData: Data()]) == errSecParam)
            #expect(labels(certificates()) == ["both"])
        }
    }

    @Test("Section 6: an identity cannot be added by its class") func addingByClass() {
        device.run {
            #expect(add(identities()) == errSecParam)
            #expect(add(identities().value("x")) == errSecParam)
        }
    }

    @Test("Section 4: attributes of either half find it, and a shared one is the certificate's") func finding() throws {
        try device.run {
            try addClient([kSecAttrApplicationTag: "tag"])
            #expect(update(keys(), [kSecAttrLabel: "of the key"]) == errSecSuccess)
            for (key, value) in [
                kSecAttrSerialNumber: Data([3]), kSecAttrApplicationTag: "tag", kSecAttrLabel: "Café Client",
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrCanSign: true, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
                kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked,
            ] as Attributes { #expect(find(identities([key: value])).status == errSecSuccess, "\(key)") }
            for (key, value) in [
                kSecAttrSerialNumber: Data([4]), kSecAttrApplicationTag: "other", kSecAttrLabel: "of the key",
                kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrCanSign: false,
                kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecAttrApplicationLabel: Data([1]),
                kSecAttrAccessible: kSecAttrAccessibleAlways, kSecAttrSynchronizable: true,
            ] as Attributes { #expect(find(identities([key: value])).status == errSecItemNotFound, "\(key)") }
            let reference = try clientIdentity()
            #expect(find([kSecValueRef: reference]).status == errSecSuccess)
            #expect(find(certificates([kSecValueRef: reference])).status == errSecSuccess)
            #expect(find([kSecValueRef: reference, kSecAttrSerialNumber: Data([4])]).status == errSecItemNotFound)
        }
    }

    @Test("Section 5: the attributes of an identity, with the class, find it again") func attributesAsQuery() throws {
        try device.run {
            try addClient()
            addReference(try certificate(TestCertificates.renewed))
            #expect(labels(identities()) == ["Café Client", "Client Renewed"])
            var next = try attributes(identities([kSecAttrSerialNumber: Data([4])]))
            #expect(next["pkhh"] as? Data == next["klbl"] as? Data)
            next[kSecClass as String] = kSecClassIdentity
            next[kSecReturnAttributes as String] = true
            next[kSecMatchLimit as String] = kSecMatchLimitAll
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(next as CFDictionary, &result) == errSecSuccess)
            #expect((result as? [[String: Any]])?.map { $0["labl"] as? String } == ["Client Renewed"])
        }
    }

    @Test("Section 5: a search by its reference tells whether it is there, and its persistent reference, nothing else")
    func findingByReference() throws {
        try device.run {
            let identity: Attributes = [kSecValueRef: try clientIdentity()]
            #expect(find(identity.with(kSecReturnPersistentRef, true)).status == errSecItemNotFound)
            try addClient()
            for key in [kSecReturnRef, kSecReturnData, kSecReturnAttributes] {
                #expect(find(identity.with(key, true)).status == errSecSuccess)
                #expect(find(identity.with(key, true)).result == nil)
                #expect(find(identity.with(key, true).with(kSecReturnPersistentRef, true)).result == nil)
                #expect(find(identity.with(key, true).all).result == nil)
                #expect(find(identity.with(key, false)).status == errSecSuccess)
            }
            let (status, found) = find(identity.with(kSecReturnPersistentRef, true))
            #expect(status == errSecSuccess)
            let reference = try #require(found as? Data)
            #expect(reference == find(identities([kSecReturnPersistentRef: true])).result as? Data)
            #expect(find(identity.with(kSecReturnPersistentRef, true).all).result == nil)
            let byPersistentReference = find([kSecValuePersistentRef: reference, kSecReturnRef: true])
            #expect(try isEqual(byPersistentReference.result, clientIdentity()))
        }
    }

    @Test("Section 5: its data is its key's") func data() throws {
        try device.run {
            try addClient()
            #expect(find(identities().data).result as? Data == TestCertificates.clientKey)
        }
    }

    @Test("Section 8: deleting takes the certificate, and the key only when no other certificate uses it")
    func deleting() throws {
        try device.run {
            try addClient()
            addReference(try certificate(TestCertificates.renewed))
            addReference(try certificate(TestCertificates.stranger))
            #expect(delete([kSecValueRef: try clientIdentity()]) == errSecSuccess)
            #expect(labels(certificates()) == ["Client Renewed", "Stranger"])
            #expect(find(keys()).status == errSecSuccess)
            #expect(delete([kSecValueRef: try clientIdentity()]) == errSecItemNotFound)
            #expect(delete(identities()) == errSecSuccess)
            #expect(labels(certificates()) == ["Stranger"])
            #expect(find(keys()).status == errSecItemNotFound)
            #expect(delete(identities()) == errSecItemNotFound)
        }
    }

    @Test("Section 8: deleting several that share a key takes the key") func deletingAll() throws {
        try device.run {
            try addClient()
            addReference(try certificate(TestCertificates.renewed))
            #expect(delete(identities()) == errSecSuccess)
            #expect(find(certificates()).status == errSecItemNotFound)
            #expect(find(keys()).status == errSecItemNotFound)
        }
    }

    @Test("KC-36: an identity is deleted while the device is locked") func deletingLocked() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            try addClient()
            try device.lock()
            #expect(find(identities()).status == errSecInteractionNotAllowed)
            #expect(delete(identities()) == errSecSuccess)
            try device.unlock(passcode: "1234")
            #expect(find(keys()).status == errSecItemNotFound)
        }
    }

    @Test("Section 7: an update changes both halves, and a key of two certificates once") func updating() throws {
        try device.run {
            try addClient()
            addReference(try certificate(TestCertificates.renewed))
            let changes: Attributes = [
                kSecAttrLabel: "new", kSecAttrApplicationTag: "tag", kSecAttrAccessible: kSecAttrAccessibleAlways,
            ]
            #expect(update(identities(), changes) == errSecSuccess)
            #expect(labels(certificates()) == ["new"])
            #expect(try attributes(keys())["atag"] as? String == "tag")
            #expect(try attributes(keys())["pdmn"] as? String == "dk")
            #expect((find(identities([kSecReturnRef: true]).all).result as? [SecIdentity])?.count == 2)
            #expect(update(identities(), [kSecValueData: Data()]) == errSecParam)
            #expect(update(identities(), [kSecAttrAccount: "x"]) == errSecNoSuchAttr)
            #expect(update(identities([kSecAttrLabel: "none"]), [kSecAttrLabel: "x"]) == errSecItemNotFound)
        }
    }

    @Test("Section 5: the persistent reference of an identity finds, updates and deletes it") func persistentReference()
        throws
    {
        try device.run {
            try addClient([kSecAttrSynchronizable: true])
            let any = identities([kSecAttrSynchronizable: kSecAttrSynchronizableAny, kSecReturnPersistentRef: true])
            let query: Attributes = [kSecValuePersistentRef: try #require(find(any).result as? Data)]
            #expect(try isEqual(find(query.with(kSecReturnRef, true)).result, clientIdentity()))
            #expect(find(query.with(kSecClass, kSecClassIdentity)).status == errSecSuccess)
            #expect(find(query.with(kSecAttrLabel, "x")).status == errSecParam)
            #expect(update(query, [kSecAttrLabel: "new"]) == errSecSuccess)
            #expect(try attributes(query)["labl"] as? String == "new")
            #expect(delete(query) == errSecSuccess)
            #expect(find(any).status == errSecItemNotFound)
        }
    }

    @Test("KC-42: the identity of another app is not found, nor is one made of two apps' halves") func foreign() throws
    {
        try device.run { try addClient() }
        let reference = try device.run {
            try #require(find(identities([kSecReturnPersistentRef: true])).result as? Data)
        }
        try device.run(as: "other") {
            for query in [identities(), [kSecValuePersistentRef: reference]] as [Attributes] {
                #expect(find(query).status == errSecItemNotFound)
                #expect(update(query, [kSecAttrLabel: "x"]) == errSecItemNotFound)
                #expect(delete(query) == errSecItemNotFound)
            }
            addReference(try certificate(TestCertificates.client))
            #expect(find(identities()).status == errSecItemNotFound)
        }
        device.run { #expect(find(identities()).status == errSecSuccess) }
    }

    @Test("AC-23: the access control of the key guards the identity") func protectedIdentity() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            addReference(try certificate(TestCertificates.client))
            let protection = try control(.userPresence)
            addReference(try privateKey(TestCertificates.clientKey), [kSecAttrAccessControl: protection])
            let query = identities([kSecReturnRef: true])
            #expect(find(query.silent).status == errSecInteractionNotAllowed)
            #expect(
                find(query.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)).status == errSecItemNotFound)
            device.present(.finger(1))
            #expect(try isEqual(find(query).result, clientIdentity()))
        }
        #expect(device.prompts.count == 1)
    }
}
