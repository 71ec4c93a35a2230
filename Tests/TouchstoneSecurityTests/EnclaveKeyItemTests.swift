import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Keys of the enclave as items of the keychain.
@Suite(.timeLimit(.minutes(10))) struct EnclaveKeyItemTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func makeStored(
        _ tag: String = "t", _ flags: SecAccessControlCreateFlags = [.userPresence, .privateKeyUsage],
        _ entries: Entries = [:]
    ) throws -> SecKey {
        let own: Entries = [
            kSecAttrApplicationTag: Data(tag.utf8), kSecAttrLabel: tag, kSecAttrAccessControl: try control(flags),
        ]
        return try randomKey(parameters(own.merging(entries) { $1 }))
    }

    @Test("SE-04: finding a key never asks, whatever is returned of it, and works before the first unlock")
    func findingNeverAsks() throws {
        try device.runUnprompted {
            let key = try makeStored()
            let returns: Entries = [
                kSecReturnRef: true, kSecReturnAttributes: true, kSecReturnPersistentRef: true, kSecReturnData: true,
            ]
            func expectFound() throws {
                for entries in [[kSecUseAuthenticationUI: kSecUseAuthenticationUIFail], [:]] as [Entries] {
                    let (status, result) = find(tagged("t", returns.merging(entries) { $1 }))
                    #expect(status == errSecSuccess)
                    let found = try #require(result as? [String: Any])
                    #expect(found[kSecValueRef as String] as? SecKey == key)
                    #expect(
                        found[kSecAttrAccessControl as String] as? SecAccessControl
                            == (try control([.userPresence, .privateKeyUsage])))
                    #expect(
                        found[kSecAttrAccessible as String] as? String
                            == kSecAttrAccessibleAlwaysThisDeviceOnly as String)
                    let reference = try #require(found[kSecValuePersistentRef as String])
                    #expect(find([kSecValuePersistentRef: reference, kSecReturnRef: true]).result as? SecKey == key)
                }
                let all = find([
                    kSecClass: kSecClassKey, kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecReturnRef: true,
                    kSecMatchLimit: kSecMatchLimitAll,
                ])
                #expect(all.result as? [SecKey] == [key])
            }
            try expectFound()
            try device.lock()
            try expectFound()
            device.reboot()
            try expectFound()
        }
    }

    @Test("SE-03: deleting the row deletes the key, without asking; a reference that is held still works")
    func deleting() throws {
        try device.runUnprompted {
            let key = try makeStored("t", .privateKeyUsage)
            #expect(SecItemDelete([kSecClass: kSecClassKey, kSecValueRef: key] as CFDictionary) == errSecSuccess)
            #expect(find(tagged("t")).status == errSecItemNotFound)
            #expect(try isValid(signature(of: key), by: key))
            // SE-03: the blob is the key: whoever has it puts it back.
            let added = tagged("t", [kSecValueRef: key])
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecDuplicateItem)
            #expect(try isValid(signature(of: stored("t")), by: key))
        }
    }

    @Test("SE-14: what follows from the key cannot be said otherwise when it is added")
    func addedAsItIs() throws {
        try device.runUnprompted {
            let key = try enclaveKey(.privateKeyUsage)
            func add(_ entries: Entries) -> OSStatus {
                SecItemAdd(tagged("t", [kSecValueRef: key]).merging(entries) { $1 } as CFDictionary, nil)
            }
            #expect(add([kSecAttrAccessControl: try control(.userPresence)]) == errSecParam)
            #expect(add([kSecAttrSynchronizable: true]) == errSecParam)
            #expect(add([kSecAttrKeySizeInBits: 384]) == errSecSuccess)
            let attributes = try #require(SecKeyCopyAttributes(stored("t")))
            #expect(attributes[kSecAttrKeySizeInBits] as? Int == 256)
            #expect(
                attributes[kSecAttrApplicationLabel] as? Data == SecKeyCopyAttributes(key)?[kSecAttrApplicationLabel]
                    as? Data)
            #expect(add([kSecAttrApplicationLabel: Data("x".utf8)]) == errSecSuccess)
            let label: Entries = [kSecAttrApplicationLabel: Data("x".utf8)]
            #expect(try SecKeyCopyAttributes(stored("t", label))?[kSecAttrApplicationLabel] as? Data == Data("x".utf8))
            #expect(add(label) == errSecDuplicateItem)
        }
    }

    @Test("KC-30, KC-31: an application label is kept as it was given, and with the tag it names one key")
    func applicationLabel() throws {
        try device.runUnprompted {
            let given = Data("label".utf8)
            func make(_ tag: String, _ label: Any) throws -> SecKey {
                try makeStored(tag, .privateKeyUsage, [kSecAttrApplicationLabel: label])
            }
            let key = try make("t", given)
            #expect(status { _ = try make("t", given) } == errSecDuplicateItem)
            #expect(SecKeyCopyAttributes(key)?[kSecAttrApplicationLabel] as? Data == given)
            let found = find(tagged("t", [kSecAttrApplicationLabel: given, kSecReturnAttributes: true])).result
            #expect((found as? [String: Any])?[kSecAttrApplicationLabel as String] as? Data == given)
            #expect(try stored("t") == key)
            #expect(find([kSecValueRef: key]).status == errSecSuccess)
            #expect(try isValid(signature(of: stored("t")), by: key))
            // Another tag, or another label, is another key; text is the data of its bytes.
            #expect(try make("u", given) != key)
            #expect(
                try SecKeyCopyAttributes(make("t", "other"))?[kSecAttrApplicationLabel] as? Data == Data("other".utf8))
            #expect(SecItemDelete([kSecValueRef: key] as CFDictionary) == errSecSuccess)
            #expect(find(tagged("t", [kSecAttrApplicationLabel: given])).status == errSecItemNotFound)
            #expect(find(tagged("u", [kSecAttrApplicationLabel: given])).status == errSecSuccess)
        }
    }

    @Test("SE-14, KC-42: a key's group is not changed to another spelling of the same characters")
    func groupSpelling() throws {
        let groups = ["T.caf\u{e9}", "T.cafe\u{301}"]
        try device.run(as: "app", keychainAccessGroups: groups) {
            _ = try makeStored("t", [.privateKeyUsage], [kSecAttrAccessGroup: groups[0]])
            func change(to group: String) -> OSStatus {
                SecItemUpdate(tagged("t") as CFDictionary, [kSecAttrAccessGroup: group] as Entries as CFDictionary)
            }
            #expect(change(to: groups[1]) == errSecParam)
            #expect(change(to: groups[0]) == errSecSuccess)
        }
    }

    @Test("SE-02, SE-14: label and tag are changed without asking; nothing of the key itself is")
    func updating() throws {
        try device.runUnprompted {
            let key = try makeStored()
            let software = try softwareKey()
            let other = try result { SecKeyCopyExternalRepresentation(software, $0) }
            let refused: [Entries] = [
                [kSecValueData: other], [kSecAttrAccessControl: try control([])],
                [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked], [kSecAttrKeySizeInBits: 384],
                [kSecAttrApplicationLabel: Data("x".utf8)], [kSecAttrTokenID: "x"], [kSecAttrSynchronizable: true],
                [kSecAttrKeyClass: kSecAttrKeyClassPublic],
            ]
            for changes in refused {
                #expect(
                    SecItemUpdate(tagged("t") as CFDictionary, changes as CFDictionary) == errSecParam, "\(changes)")
            }
            let changes: Entries = [kSecAttrLabel: "new", kSecAttrApplicationTag: Data("u".utf8)]
            #expect(SecItemUpdate(tagged("t") as CFDictionary, changes as CFDictionary) == errSecSuccess)
            #expect(try stored("u") == key)
            #expect(SecKeyCopyAttributes(try stored("u"))?[kSecAttrLabel] as? String == "new")
            // A software key does not become one of the enclave.
            _ = try randomKey([
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrIsPermanent: true, kSecAttrApplicationTag: Data("s".utf8),
            ])
            let token: Entries = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]
            #expect(
                SecItemUpdate(
                    tagged("s", [kSecAttrKeyClass: kSecAttrKeyClassPrivate]) as CFDictionary, token as CFDictionary)
                    == errSecParam)
        }
    }

    @Test("SE-07: keys are told apart by tag and label, and each of many signs")
    func manyKeys() throws {
        try device.runUnprompted {
            let keys = try (0..<20).map { try makeStored("t\($0)", .privateKeyUsage) }
            for (number, key) in keys.enumerated() {
                let found = try stored("t\(number)")
                #expect(found == key)
                #expect(try isValid(signature(of: found), by: key))
            }
            #expect(Set(keys).count == 20)
        }
    }

    @Test("SE-07: a certificate of the key makes an identity with it, which signs, and goes with it") func identity()
        throws
    {
        try device.run(prompts: 2) {
            let key = try makeStored()
            device.present(.finger(1))
            let certificate = try selfSigned(key)
            #expect(SecItemAdd([kSecValueRef: certificate] as CFDictionary, nil) == errSecSuccess)
            let query: Entries = [
                kSecClass: kSecClassIdentity, kSecReturnRef: true, kSecUseAuthenticationContext: LAContext(),
            ]
            let identity = try #require(find(query).result as? SecIdentity)
            var found: SecKey?
            #expect(SecIdentityCopyPrivateKey(identity, &found) == errSecSuccess)
            let itsKey = try #require(found)
            #expect(itsKey == key)
            device.present(.finger(1))
            for _ in 0..<3 { #expect(try isValid(signature(of: itsKey), by: key)) }
            let attributes = find(query.merging([kSecReturnAttributes: true, kSecReturnData: true]) { $1 }).result
            #expect((attributes as? [String: Any])?[kSecAttrTokenID as String] as? String == "com.apple.setoken")
            #expect((attributes as? [String: Any])?[kSecValueData as String] == nil)
            #expect(SecItemDelete([kSecClass: kSecClassIdentity] as CFDictionary) == errSecSuccess)
            #expect(find(tagged("t")).status == errSecItemNotFound)
        }
    }

    /// A certificate of the key, signed by it, as small as one can be.
    private func selfSigned(_ key: SecKey) throws -> SecCertificate {
        func value(_ tag: UInt8, _ parts: Data...) -> Data {
            let content = parts.reduce(Data(), +)
            let count = content.count
            let length = count < 128 ? [count] : count < 256 ? [0x81, count] : [0x82, count >> 8, count & 0xff]
            return Data([tag] + length.map(UInt8.init)) + content
        }
        let ecdsaWithSHA256 = value(0x30, value(6, Data([0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])))
        let name = value(0x30, value(0x31, value(0x30, value(6, Data([0x55, 4, 3])), value(0x0c, Data("t".utf8)))))
        let validity = value(0x30, value(0x17, Data("200101000000Z".utf8)), value(0x17, Data("400101000000Z".utf8)))
        let point = value(
            0x30, value(6, Data([0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1])),
            value(6, Data([0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7])))
        let publicKey = value(0x30, point, value(3, Data([0]), try publicBytes(key)))
        let toBeSigned = value(
            0x30, value(0xa0, value(2, Data([2]))), value(2, Data([1])), ecdsaWithSHA256, name, validity, name,
            publicKey)
        let certificate = value(
            0x30, toBeSigned, ecdsaWithSHA256, value(3, Data([0]), try signature(of: key, toBeSigned)))
        return try #require(SecCertificateCreateWithData(nil, certificate as CFData))
    }
}
