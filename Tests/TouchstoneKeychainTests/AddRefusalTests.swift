import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct AddRefusalTests {
    /// Nothing is left of an add that was refused.
    private func expectRefusal(
        _ status: OSStatus, _ item: Attributes, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(add(item) == status, sourceLocation: sourceLocation)
        for query in [generic(), internet()] {
            #expect(
                find(query.all.with(kSecAttrSynchronizable, kSecAttrSynchronizableAny)).status == errSecItemNotFound,
                sourceLocation: sourceLocation)
        }
    }

    // MARK: what the device has

    @Test("KC-24: an item for devices with a passcode is refused without one") func passcodeClassWithoutPasscode()
        throws
    {
        let device = try SimulatedDevice()
        device.run {
            let item = account("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
            expectRefusal(errSecAuthFailed, item)
        }
    }

    @Test("KC-24: an item for devices with a passcode is taken with one") func passcodeClassWithPasscode() throws {
        let device = try SimulatedDevice(passcode: "1234")
        device.run {
            let item = account("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
            #expect(add(item) == errSecSuccess)
        }
    }

    private static let biometric: [SecAccessControlCreateFlags] = [.biometryAny, .biometryCurrentSet]

    @Test("AC-15: a biometric control is refused where no finger is enrolled", arguments: biometric)
    func biometricWithoutEnrolment(flags: SecAccessControlCreateFlags) throws {
        for device in [try SimulatedDevice(passcode: "1234"), try SimulatedDevice(biometry: .none, passcode: "1234")] {
            try device.run {
                expectRefusal(errSecAuthFailed, account("a", [kSecAttrAccessControl: try control(flags)]))
            }
        }
    }

    @Test("AC-15: as one of several ways biometry need not be there, as one of several that are all wanted it must")
    func biometricAsOneWay() throws {
        for device in [try SimulatedDevice(passcode: "1234"), try SimulatedDevice(biometry: .none, passcode: "1234")] {
            try device.run(prompts: 2) { () throws in
                for biometry in Self.biometric {
                    let (either, both) = (
                        try control([biometry, .or, .devicePasscode]), try control([biometry, .devicePasscode])
                    )
                    expectRefusal(errSecAuthFailed, account("a", [kSecAttrAccessControl: both]))
                    #expect(add(account("a", [kSecAttrAccessControl: either]).value("a")) == errSecSuccess)
                    device.present(.passcode("1234"))
                    #expect(secret(account("a")) == "a")
                    #expect(delete(account("a")) == errSecSuccess)
                }
            }
        }
        let noPasscode = try SimulatedDevice()
        try noPasscode.run {
            for biometry in Self.biometric {
                expectRefusal(
                    errSecAuthFailed,
                    account("a", [kSecAttrAccessControl: try control([biometry, .or, .devicePasscode])]))
            }
        }
    }

    @Test("AC-15: a biometric control is taken where a finger is enrolled", arguments: biometric)
    func biometricWithEnrolment(flags: SecAccessControlCreateFlags) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run { () throws in
            #expect(try add(account("a", [kSecAttrAccessControl: control(flags)])) == errSecSuccess)
        }
    }

    private static let byPasscode: [SecAccessControlCreateFlags] = [.userPresence, .devicePasscode]

    @Test("AC-15: a control that falls back on the passcode is refused without one", arguments: byPasscode)
    func presenceWithoutPasscode(flags: SecAccessControlCreateFlags) throws {
        let device = try SimulatedDevice()
        try device.run { expectRefusal(errSecAuthFailed, account("a", [kSecAttrAccessControl: try control(flags)])) }
    }

    @Test(
        "AC-15: a control that falls back on the passcode is taken with one, whatever the sensor", arguments: byPasscode
    )
    func presenceWithPasscode(flags: SecAccessControlCreateFlags) throws {
        for device in [try SimulatedDevice(passcode: "1234"), try SimulatedDevice(biometry: .none, passcode: "1234")] {
            try device.run { () throws in
                #expect(try add(account("a", [kSecAttrAccessControl: control(flags)])) == errSecSuccess)
            }
        }
    }

    // MARK: what does not go together

    @Test("KC-27: synchronizable and constrained is refused") func synchronizableAndConstrained() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            let item = account("a", [kSecAttrAccessControl: try control(.userPresence)])
            expectRefusal(errSecParam, item.with(kSecAttrSynchronizable, true))
            #expect(add(item.with(kSecAttrSynchronizable, false)) == errSecSuccess)
        }
    }

    @Test("KC-27: synchronizable with a control without constraint, or of this device only, is taken and reads back")
    func synchronizableAndUnconstrained() throws {
        let device = try SimulatedDevice()
        try device.run {
            let sync: Attributes = [kSecAttrSynchronizable: true]
            #expect(try add(account("a", [kSecAttrAccessControl: control([])]).merging(sync) { $1 }) == errSecSuccess)
            let here = [kSecAttrAccessible: kSecAttrAccessibleWhenUnlockedThisDeviceOnly] as Attributes
            #expect(add(account("b", here).merging(sync) { $1 }) == errSecSuccess)
            let found = try attributes(account("b", sync))
            #expect(found["pdmn"] as? String == kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String)
            #expect(found["sync"] as? Int == 1)
        }
    }

    @Test("KC-34: a protection class beside an access control of another is refused, of the same taken")
    func conflictingClasses() throws {
        let device = try SimulatedDevice()
        try device.run {
            let item = account("a", [kSecAttrAccessControl: try control([], kSecAttrAccessibleAlways)])
            expectRefusal(errSecParam, item.with(kSecAttrAccessible, kSecAttrAccessibleWhenUnlocked))
            #expect(add(item.with(kSecAttrAccessible, kSecAttrAccessibleAlways)) == errSecSuccess)
        }
    }

    @Test("KC-42: an access group that is not the app's is refused, its own taken") func foreignGroup() throws {
        let device = try SimulatedDevice()
        device.run {
            expectRefusal(errSecMissingEntitlement, account("a", [kSecAttrAccessGroup: "other"]))
            expectRefusal(errSecMissingEntitlement, account("a", [kSecAttrAccessGroup: kSecAttrAccessGroupToken]))
            let own = SimulatedDevice.applicationIdentifier
            #expect(add(account("a", [kSecAttrAccessGroup: own])) == errSecSuccess)
        }
    }

    // MARK: malformed

    @Test("Section 4: an attribute that the class does not have is refused") func unknownAttributes() throws {
        let device = try SimulatedDevice()
        device.run {
            expectRefusal(errSecNoSuchAttr, generic(["zzzz": "x"]))
            expectRefusal(errSecNoSuchAttr, generic([kSecAttrServer: "x"]))
            expectRefusal(errSecNoSuchAttr, internet([kSecAttrService: "x"]))
            #expect(add(generic([kSecAttrService: "x", kSecUseDataProtectionKeychain: true])) == errSecSuccess)
        }
    }

    @Test("Section 4: no class, a class that is no text, and an unknown class are refused") func classes() throws {
        let device = try SimulatedDevice()
        device.run {
            expectRefusal(errSecParam, [kSecAttrAccount: "a"])
            expectRefusal(errSecParam, [kSecClass: 1])
            expectRefusal(errSecNoSuchClass, [kSecClass: "nope"])
            #expect(add([kSecClass: "genp"]) == errSecSuccess)
        }
    }

    @Test("KC-34: values of a wrong type are refused") func wrongTypes() throws {
        let device = try SimulatedDevice()
        device.run {
            for (key, value) in [
                (kSecAttrAccount, Date()), (kSecAttrAccount, true), (kSecAttrService, 1.5), (kSecAttrAccessible, "xx"),
                (kSecAttrAccessible, 1), (kSecAttrAccessControl, "ak"), (kSecAttrSynchronizable, "perhaps"),
                (kSecAttrSynchronizable, Data()), (kSecAttrCreationDate, "today"), (kSecAttrIsInvisible, Date()),
                (kSecAttrCreator, Data([1])), (kSecAttrAccessGroup, 1), (kSecAttrLabel, ["x"]), (kSecValueData, "text"),
                (kSecValueData, NSNull()), (kSecReturnData, "yes"), (kSecReturnData, 2), ("r_Unknown", true),
                (kSecUseAuthenticationUI, 1), (kSecUseAuthenticationUI, "u_AuthUIX"), ("u_Unknown", "x"),
                ("v_Unknown", Data()), ("Unknown", "x"), ("", "x"), (kSecUseAuthenticationContext, "x"),
            ] as [(CFString, Any)] {
                #expect(add(generic([key: value])) == errSecParam, "\(key) \(value)")
            }
            #expect(find(generic()).status == errSecItemNotFound)
            #expect(add(internet([kSecAttrPort: Data([1])])) == errSecParam)
            #expect(add(internet([kSecAttrPort: true])) == errSecSuccess)
        }
    }

    @Test("Section 4: more entries than a dictionary may have are refused, as many are taken") func entries() throws {
        let device = try SimulatedDevice()
        device.run {
            var item = account("a")
            while item.count < 100 { item["f\(item.count)" as CFString] = "ignored" }
            #expect(add(item) == errSecSuccess)
            #expect(delete(account("a")) == errSecSuccess)
            while item.count < 129 { item["f\(item.count)" as CFString] = "ignored" }
            expectRefusal(errSecParam, item)
        }
    }

    @Test("Section 6, AC-41: match keys, a persistent reference, any-sync and Skip have no place in an add")
    func queryKeys() throws {
        let device = try SimulatedDevice()
        device.run {
            expectRefusal(errSecParam, account("a", [kSecMatchLimit: kSecMatchLimitOne]))
            expectRefusal(errSecParam, account("a", ["m_Unknown": true]))
            expectRefusal(errSecParam, account("a", [kSecValuePersistentRef: Data("genp".utf8) + Data(count: 16)]))
            expectRefusal(errSecParam, account("a", [kSecAttrSynchronizable: kSecAttrSynchronizableAny]))
            expectRefusal(
                errSecParam, account("a", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]))
        }
    }

    @Test("A password of up to 16 MiB is kept, one that is larger is errSecDataTooLarge, and the next call is answered")
    func tooLarge() throws {
        let device = try SimulatedDevice()
        try device.run {
            for count in [(16 << 20) + 1, 20 << 20, 65 << 20] {
                expectRefusal(errSecDataTooLarge, account("a", [kSecValueData: Data(count: count)]))
            }
            let largest = Data(
                (0..<(16 << 20) / 64).flatMap { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 64) })
            let other = Data(repeating: 7, count: 16 << 20)
            for item in [account("a"), internet([kSecAttrAccount: "a"])] {
                let (status, result) = addReturning(item.with(kSecValueData, largest).data)
                #expect(status == errSecSuccess)
                #expect(result as? Data == largest)
                #expect(find(item.data).result as? Data == largest)
                #expect(update(item, [kSecValueData: Data(count: (16 << 20) + 1)]) == errSecDataTooLarge)
                #expect(update(item, [kSecValueData: other]) == errSecSuccess)
            }
            let all = try #require(find(generic().data.all).result as? [Data])
            #expect(all == [other])
        }
    }

    @Test("A key or certificate is at most 700 KiB, and what is said of an item 1 MiB") func tooLargeForTheRest() throws
    {
        let device = try SimulatedDevice()
        device.run {
            #expect(add(keys([kSecValueData: Data(count: (700 << 10) + 1)])) == errSecDataTooLarge)
            #expect(add(keys([kSecValueData: Data(count: 700 << 10)])) == errSecSuccess)
            let text = String(repeating: "x", count: 1 << 20)
            expectRefusal(errSecParam, account("a", [kSecAttrComment: text]))
            #expect(add(account("a", [kSecAttrComment: String(text.dropLast(1 << 10))])) == errSecSuccess)
        }
    }

    @Test("What synchronizes has to fit into a record for other devices: the largest password does")
    func tooLargeToTravel()
        throws
    {
        let device = try SimulatedDevice()
        device.run {
            let travels = [kSecAttrSynchronizable: true] as [CFString: Any]
            func comment(_ count: Int) -> [CFString: Any] { [kSecAttrComment: String(repeating: "x", count: count)] }
            let most = (1 << 20) - 150
            #expect(add(account("a", comment(most))) == errSecSuccess)
            #expect(add(account("b", comment(most).merging(travels) { $1 })) == errSecDataTooLarge)
            #expect(update(account("a"), travels) == errSecDataTooLarge)
            #expect(find(account("a")).status == errSecSuccess)
            let large = account("c", travels).with(kSecValueData, Data(count: 16 << 20))
            #expect(add(large.with(kSecAttrComment, String(repeating: "x", count: most - 550))) == errSecDataTooLarge)
            #expect(add(large.with(kSecAttrComment, "short")) == errSecSuccess)
            #expect(update(account("c", travels), comment(most)) == errSecDataTooLarge)
            #expect(update(account("c", travels), comment(1000)) == errSecSuccess)
            // Of this device only, with as much.
            let here = [kSecAttrAccessible: kSecAttrAccessibleWhenUnlockedThisDeviceOnly] as [CFString: Any]
            #expect(add(account("d", comment(most).merging(here) { $1 })) == errSecSuccess)
        }
    }
}
