import Crypto
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Section 7.1: the life of a key of the enclave.
@Suite(.timeLimit(.minutes(10))) struct EnclaveKeyTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    // MARK: making

    @Test("SE-01: P-256, and nothing else, named as Apple's constants name it")
    func typesAndSizes() throws {
        try device.runUnprompted {
            let key = try enclaveKey()
            #expect(SecKeyGetBlockSize(key) == 32)
            let refused: [(Any, Any)] = [
                (kSecAttrKeyTypeRSA, 2048), (kSecAttrKeyTypeECSECPrimeRandom, 384),
                (kSecAttrKeyTypeECSECPrimeRandom, 521), (kSecAttrKeyTypeECSECPrimeRandom, 0), (73, 256),
                (kSecAttrKeyTypeECSECPrimeRandom, "x"),
            ]
            for (type, size) in refused {
                let wrong = parameters([:], [kSecAttrKeyType: type, kSecAttrKeySizeInBits: size])
                #expect(status { _ = try randomKey(wrong) } == errSecParam, "\(type) \(size)")
            }
            for absent in [kSecAttrKeyType, kSecAttrKeySizeInBits] {
                var incomplete = parameters()
                incomplete[absent] = nil
                #expect(status { _ = try randomKey(incomplete) } == errSecParam)
            }
            #expect(
                status { _ = try randomKey(parameters([:], [kSecAttrTokenID: "com.example.card"])) }
                    == errSecItemNotFound)
            #expect(status { _ = try randomKey(parameters([:], [kSecAttrTokenID: 1])) } == errSecParam)
        }
        #expect(find([kSecClass: kSecClassKey]).status != errSecSuccess)
    }

    @Test("SE-09: a device without a sensor has keys of the enclave, which the passcode guards")
    func withoutSensor() throws {
        let device = try SimulatedDevice(biometry: .none, passcode: "1234")
        try device.run(prompts: 1) {
            let open = try enclaveKey()
            #expect(try isValid(signature(of: open), by: open))
            let guarded = try enclaveKey([.userPresence, .privateKeyUsage])
            device.present(.passcode("1234"))
            #expect(try isValid(signature(of: guarded), by: guarded))
        }
    }

    @Test("SE-02: the private part does not leave, and nothing is imported in its place")
    func privatePartStays() throws {
        try device.runUnprompted {
            let key = try randomKey(parameters([kSecAttrApplicationTag: Data("t".utf8)]))
            #expect(status { _ = try result { SecKeyCopyExternalRepresentation(key, $0) } } == errSecUnimplemented)
            let attributes = try #require(SecKeyCopyAttributes(key))
            #expect(attributes[kSecValueData] == nil)
            #expect(find(tagged("t", [kSecReturnData: true])).result == nil)
            let both = find(tagged("t", [kSecReturnData: true, kSecReturnRef: true, kSecReturnAttributes: true]))
            let found = try #require(both.result as? [String: Any])
            #expect(found[kSecValueData as String] == nil)
            #expect(found[kSecValueRef as String] as? SecKey == key)

            let software = try softwareKey()
            let bytes = try result { SecKeyCopyExternalRepresentation(software, $0) }
            let imported: Entries = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            ]
            #expect(
                status { _ = try result { SecKeyCreateWithData(bytes, imported as CFDictionary, $0) } }
                    == errSecUnimplemented)
            let item = tagged("u", imported)
            #expect(SecItemAdd(item.merging([kSecValueData: bytes]) { $1 } as CFDictionary, nil) == errSecDecode)
            #expect(SecItemAdd(item.merging([kSecValueRef: software]) { $1 } as CFDictionary, nil) == errSecDecode)
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecParam)
            #expect(find(tagged("u")).status == errSecItemNotFound)
        }
    }

    @Test("SE-06: permanent unless it is said not to be, where a software key is not unless it is said")
    func permanence() throws {
        try device.runUnprompted {
            func count() -> Int {
                (find([kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true]).result
                    as? [Any])?.count ?? 0
            }
            _ = try softwareKey()
            _ = try enclaveKey()
            #expect(count() == 0)
            _ = try randomKey(parameters())
            #expect(count() == 1)
            _ = try randomKey(parameters([kSecAttrIsPermanent: true]))
            _ = try randomKey(parameters([:], [kSecAttrIsPermanent: true]))
            // At the top it is said of both halves.
            #expect(count() == 4)
            let publicHalves = find([
                kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecReturnAttributes: true,
            ])
            #expect((publicHalves.result as? [String: Any])?[kSecAttrTokenID as String] == nil)
        }
    }

    @Test("SE-07, SE-08: the label is the hash of the point, and the public half needs nobody, also while locked")
    func publicHalf() throws {
        try device.runUnprompted {
            let key = try randomKey(
                parameters([
                    kSecAttrApplicationTag: Data("t".utf8),
                    kSecAttrAccessControl: try control([.biometryAny, .privateKeyUsage]),
                ]))
            let bytes = try publicBytes(key)
            #expect(bytes.count == 65 && bytes.first == 4)
            let label = Data(Insecure.SHA1.hash(data: bytes))
            #expect(SecKeyCopyAttributes(key)?[kSecAttrApplicationLabel] as? Data == label)
            let found = find([
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: label, kSecReturnAttributes: true,
            ])
            #expect((found.result as? [String: Any])?[kSecAttrApplicationTag as String] as? Data == Data("t".utf8))
            try device.lock()
            #expect(try publicBytes(stored("t")) == bytes)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(
                SecKeyCreateEncryptedData(
                    publicKey, .eciesEncryptionStandardX963SHA256AESGCM, Data() as CFData, nil)?.length == 81)
        }
    }

    @Test("SE-14: what the creation dictionary says is so; a control and a class that disagree are -50")
    func creationDictionary() throws {
        try device.runUnprompted {
            let wanted = try control([.userPresence, .privateKeyUsage], kSecAttrAccessibleAfterFirstUnlock)
            let own: Entries = [
                kSecAttrApplicationTag: Data("t".utf8), kSecAttrLabel: "my key", kSecAttrAccessControl: wanted,
            ]
            let made = try randomKey(parameters(own))
            for key in [made, try stored("t")] {
                let attributes = try #require(SecKeyCopyAttributes(key))
                #expect(attributes[kSecAttrLabel] as? String == "my key")
                #expect(attributes[kSecAttrApplicationTag] as? Data == Data("t".utf8))
                #expect(attributes[kSecAttrAccessControl] as? SecAccessControl == wanted)
                #expect(attributes[kSecAttrTokenID] as? String == kSecAttrTokenIDSecureEnclave as String)
                #expect(attributes[kSecAttrKeyClass] as? String == kSecAttrKeyClassPrivate as String)
                #expect(attributes[kSecAttrKeyType] as? String == kSecAttrKeyTypeECSECPrimeRandom as String)
                #expect(attributes[kSecAttrKeySizeInBits] as? Int == 256)
                #expect(attributes["extr" as CFString] as? Bool == false)
                #expect(attributes["sens" as CFString] as? Bool == true)
            }
            #expect(made == (try stored("t")))
            let inheriting = try enclaveKey(
                nil, kSecAttrAccessibleWhenUnlocked, [kSecAttrAccessible: kSecAttrAccessibleAlways])
            #expect(
                SecKeyCopyAttributes(inheriting)?[kSecAttrAccessControl] as? SecAccessControl
                    == (try control([], kSecAttrAccessibleAlways)))
            let contrary = parameters(own.merging([kSecAttrAccessible: kSecAttrAccessibleAlways]) { $1 })
            #expect(status { _ = try randomKey(contrary) } == errSecParam)
            #expect(status { _ = try randomKey(parameters([kSecAttrAccessControl: "x"])) } == errSecParam)
            // One of the same tag is another key.
            _ = try randomKey(parameters(own))
        }
    }

    @Test("SE-14: a foreign access group is -34018, and one of the app's is the key's")
    func accessGroup() throws {
        try device.run(as: "one", keychainAccessGroups: ["T.a", "T.b"]) { () throws in
            let key = try randomKey(parameters([kSecAttrApplicationTag: Data("t".utf8), kSecAttrAccessGroup: "T.b"]))
            #expect(SecKeyCopyAttributes(key)?[kSecAttrAccessGroup] as? String == "T.b")
            let found = find(tagged("t", [kSecReturnAttributes: true])).result as? [String: Any]
            #expect(found?[kSecAttrAccessGroup as String] as? String == "T.b")
            #expect(
                status { _ = try randomKey(parameters([kSecAttrAccessGroup: "T.c"])) } == errSecMissingEntitlement)
        }
        try device.run(as: "two", keychainAccessGroups: ["T.b"]) { () throws in
            #expect(try isValid(signature(of: stored("t")), by: stored("t")))
        }
        device.run(as: "three", keychainAccessGroups: ["T.a"]) {
            #expect(find(tagged("t")).status == errSecItemNotFound)
        }
    }

    @Test("SE-15: creating asks nobody, whatever the control, also where nobody may be asked")
    func creatingAsksNobody() throws {
        try device.runUnprompted {
            let context = LAContext()
            context.interactionNotAllowed = true
            for flags: SecAccessControlCreateFlags in [
                .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode,
            ] {
                _ = try enclaveKey([flags, .privateKeyUsage], context: context)
                _ = try enclaveKey(
                    flags, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                    [
                        kSecUseAuthenticationUI: kSecUseAuthenticationUIFail
                    ])
            }
        }
    }

    @Test("SE-15, AC-15, KC-24: what nobody could ever give is -25293 when the key is made")
    func creatingWhatCannotBeUsed() throws {
        let noFinger = try SimulatedDevice(passcode: "1234")
        try noFinger.runUnprompted {
            #expect(status { _ = try enclaveKey([.biometryAny, .privateKeyUsage]) } == errSecAuthFailed)
            #expect(status { _ = try enclaveKey([.biometryCurrentSet, .privateKeyUsage]) } == errSecAuthFailed)
            _ = try enclaveKey([.userPresence, .privateKeyUsage], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
        }
        let noPasscode = try SimulatedDevice()
        try noPasscode.runUnprompted {
            #expect(status { _ = try enclaveKey([.userPresence, .privateKeyUsage]) } == errSecAuthFailed)
            #expect(
                status { _ = try enclaveKey([], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly) } == errSecAuthFailed)
            #expect(try isValid(signature(of: enclaveKey()), by: enclaveKey()) == false)
            let key = try enclaveKey(.privateKeyUsage)
            #expect(try isValid(signature(of: key), by: key))
        }
    }

    // MARK: locked

    @Test("KC-20: a key is used while its class is there, and -25308 while it is not")
    func classes() throws {
        try device.runUnprompted {
            let classes: [(CFString, bootedIsOpen: Bool, lockedIsOpen: Bool)] = [
                (kSecAttrAccessibleWhenUnlocked, false, false),
                (kSecAttrAccessibleWhenUnlockedThisDeviceOnly, false, false),
                (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, false, false),
                (kSecAttrAccessibleAfterFirstUnlock, false, true),
                (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, false, true),
                (kSecAttrAccessibleAlways, true, true), (kSecAttrAccessibleAlwaysThisDeviceOnly, true, true),
            ]
            let keys = try classes.map { ($0, try enclaveKey([], $0.0)) }
            for (_, key) in keys { #expect(try isValid(signature(of: key), by: key)) }
            try device.lock()
            for (row, key) in keys {
                #expect(status { try signature(of: key) } == (row.lockedIsOpen ? nil : errSecInteractionNotAllowed))
            }
            #expect(status { _ = try enclaveKey() } == errSecInteractionNotAllowed)
            device.reboot()
            for (row, key) in keys {
                #expect(status { try signature(of: key) } == (row.bootedIsOpen ? nil : errSecInteractionNotAllowed))
            }
            try device.unlock(passcode: "1234")
            for (_, key) in keys { #expect(try isValid(signature(of: key), by: key)) }
        }
    }

    // MARK: enrolment

    @Test(
        "AC-50, AC-52: after a finger was added or removed the record is found, and its use is CryptoTokenKit -3, for ever"
    )
    func currentSet() throws {
        try device.runUnprompted {
            let flags: SecAccessControlCreateFlags = [.biometryCurrentSet, .privateKeyUsage]
            _ = try randomKey(
                parameters([
                    kSecAttrApplicationTag: Data("t".utf8), kSecAttrAccessControl: try control(flags),
                ]))
            func expectInvalidated() throws {
                let key = try stored("t")
                for use in [
                    { _ = try signature(of: key) }, { _ = try decryption(with: key) },
                    { _ = try exchange(key, softwareKey()) },
                ] as [() throws -> Void] {
                    #expect(saysThatTheKeyIsGone(use))
                }
                #expect(rawSignStatus(key) == errSecAuthFailed, "a status has no such code")
                #expect(try publicBytes(key).count == 65)
            }
            let second = try device.enrollFinger()
            try expectInvalidated()
            try device.removeFinger(second)
            try expectInvalidated()
            device.reboot()
            try device.unlock(passcode: "1234")
            try expectInvalidated()
            #expect(SecItemDelete(tagged("t") as CFDictionary) == errSecSuccess)
        }
    }

    @Test("AC-50: a set is bound when the key is made, not when the control is")
    func boundWhenMade() throws {
        try device.run(prompts: 1) {
            let control = try control([.biometryCurrentSet, .privateKeyUsage])
            _ = try device.enrollFinger()
            let key = try enclaveKey(nil, kSecAttrAccessibleWhenUnlocked, [kSecAttrAccessControl: control])
            device.present(.finger(2))
            #expect(try isValid(signature(of: key), by: key))
        }
    }

    @Test("AC-54, AC-55: biometryAny and userPresence survive other fingers, and the new ones open them")
    func anyFinger() throws {
        try device.run(prompts: 2) {
            let any = try enclaveKey([.biometryAny, .privateKeyUsage])
            let presence = try enclaveKey([.userPresence, .privateKeyUsage])
            _ = try device.enrollFinger()
            try device.removeFinger(1)
            for key in [any, presence] {
                device.present(.finger(2))
                #expect(try isValid(signature(of: key), by: key))
            }
        }
    }

    @Test("AC-53: a cancel, a wrong finger, a lockout and an interruption leave the key as it was")
    func notInvalidated() throws {
        try device.run {
            let key = try enclaveKey([.biometryCurrentSet, .privateKeyUsage])
            let use = { _ = try signature(of: key) }
            device.present(.cancel)
            #expect(refusal(use) == .userCancel)
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(refusal(use) == .authenticationFailed)
            device.present(.nonMatch, .nonMatch)
            #expect(refusal(use) == .biometryLockout)
            // Locked out now.
            #expect(refusal(use) == .biometryLockout)
            #expect(rawSignStatus(key) == errSecAuthFailed)
            try device.lock()
            #expect(status(use) == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            device.present(.finger(1))
            #expect(try isValid(signature(of: key), by: key))
        }
    }

    @Test("KC-23, AC-52: removing the passcode destroys the keys that want one, for good")
    func passcodeRemoved() throws {
        try device.runUnprompted {
            let tag: Entries = [kSecAttrApplicationTag: Data("t".utf8)]
            let own = tag.merging([
                kSecAttrAccessControl: try control(.privateKeyUsage, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            ]) { $1 }
            let key = try randomKey(parameters(own))
            #expect(try isValid(signature(of: key), by: key))
            try device.changePasscode(from: "1234", to: "5678")
            #expect(try isValid(signature(of: key), by: key))
            try device.removePasscode("5678")
            for _ in 0..<2 {
                #expect(try stored("t") == key)
                #expect(saysThatTheKeyIsGone { try signature(of: key) })
                #expect(rawSignStatus(key) == errSecAuthFailed)
                try? device.setPasscode("1234")
            }
        }
    }

    // MARK: other devices

    @Test("SE-03: a blob is of one device, and of one access group")
    func otherDevice() throws {
        let other = try SimulatedDevice(passcode: "1234", fingers: 1)
        let key = try device.run { try enclaveKey() }
        other.runUnprompted {
            #expect(status { try signature(of: key) } == errSecDecode)
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) == errSecDecode)
        }
        device.run(as: "another") {
            #expect(status { try signature(of: key) } == errSecItemNotFound)
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) == errSecItemNotFound)
        }
        try device.run { () throws in #expect(try isValid(signature(of: key), by: key)) }
    }

    @Test("SE-02: without a device there is no key, and none that was made works")
    func noDevice() throws {
        let key = try device.run { try enclaveKey() }
        // Two devices live here, and none of them is named.
        let other = try SimulatedDevice()
        #expect(status { _ = try randomKey(parameters()) } == errSecNotAvailable)
        #expect(status { try signature(of: key) } == errSecNotAvailable)
        withExtendedLifetime(other) {}
    }
}
