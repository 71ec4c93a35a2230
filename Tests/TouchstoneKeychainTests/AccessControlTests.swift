import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Sections 6.1 and 6.3: what a control can say, and what it then asks for.
@Suite(.timeLimit(.minutes(10))) struct AccessControlTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 2) }

    private func addItem(_ flags: SecAccessControlCreateFlags) throws { try addItem("a", flags) }

    private func addItem(_ name: String, _ flags: SecAccessControlCreateFlags) throws {
        let item = account(name, [kSecAttrAccessControl: try control(flags), kSecAttrService: "s"]).value(name)
        try #require(add(item) == errSecSuccess)
    }

    // MARK: creation

    private func creationStatus(_ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags) -> OSStatus {
        var error: Unmanaged<CFError>?
        let control = SecAccessControlCreateWithFlags(nil, protection, flags, &error)
        let failure = error?.takeRetainedValue()
        #expect((control == nil) == (failure != nil))
        return OSStatus(failure?.code ?? 0)
    }

    @Test("AC-01: the protection must be one of the accessible constants") func protections() {
        for code in ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"] {
            #expect(creationStatus(code as CFString, .userPresence) == errSecSuccess, "\(code)")
        }
        for other in ["", "AK", "xx", 6, Data("ak".utf8), NSNull()] as [Any] {
            #expect(creationStatus(other as AnyObject, .userPresence) == errSecParam, "\(other)")
        }
    }

    @Test("AC-02: flags that exclude each other are refused") func forbiddenFlags() {
        for flags in [
            [.or, .and], [.or, .and, .biometryAny], [.biometryAny, .biometryCurrentSet],
            [.biometryAny, .or, .biometryCurrentSet], [.userPresence, .biometryAny], [.userPresence, .devicePasscode],
            [.userPresence, .biometryCurrentSet], [.userPresence, .or], [.userPresence, .and],
            [.userPresence, .companion],
        ] as [SecAccessControlCreateFlags] {
            #expect(creationStatus(kSecAttrAccessibleWhenUnlocked, flags) == errSecParam, "\(flags.rawValue)")
        }
    }

    @Test("AC-02, AC-03: flags that go together are taken") func allowedFlags() {
        for flags in [
            [], [.or], [.and], [.userPresence, .applicationPassword, .privateKeyUsage], [.biometryAny, .or],
            [.biometryAny, .and], [.biometryAny, .devicePasscode], [.biometryAny, .or, .devicePasscode],
            [.biometryCurrentSet, .and, .devicePasscode], [.devicePasscode, .companion],
        ] as [SecAccessControlCreateFlags] {
            #expect(creationStatus(kSecAttrAccessibleWhenUnlocked, flags) == errSecSuccess, "\(flags.rawValue)")
        }
    }

    @Test("AC-07: creating a control does not look at the device") func creationAsksNothing() throws {
        let bare = try SimulatedDevice(biometry: .none)
        bare.runUnprompted {
            #expect(
                creationStatus(kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryCurrentSet) == errSecSuccess)
        }
    }

    // MARK: which operations ask

    @Test("AC-05: without flags every operation is allowed", arguments: [SecAccessControlCreateFlags(), .or, .and])
    func noConstraint(flags: SecAccessControlCreateFlags) throws {
        try device.runUnprompted {
            try addItem(flags)
            #expect(secret(account("a")) == "a")
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecSuccess)
            #expect(delete(account("a")) == errSecSuccess)
        }
    }

    @Test("AC-20: reading asks once") func readingAsks() throws {
        try device.run(prompts: 0) { try addItem(.userPresence) }
        device.run(prompts: 1) {
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-20, AC-21: updating asks once, and a refusal changes nothing") func updatingAsks() throws {
        try device.run { try addItem(.userPresence) }
        device.run(prompts: 1) {
            device.present(.finger(1))
            #expect(update(account("a"), [kSecValueData: Data("b".utf8)]) == errSecSuccess)
        }
        device.run(prompts: 2) {
            device.present(.cancel)
            #expect(update(account("a"), [kSecValueData: Data("c".utf8)]) == errSecUserCanceled)
            device.present(.finger(2))
            #expect(secret(account("a")) == "b")
        }
    }

    @Test("AC-22: attributes alone ask as well") func attributesAsk() throws {
        try device.run(prompts: 1) {
            try addItem(.userPresence)
            #expect(find(account("a").attributes.silent).status == errSecInteractionNotAllowed)
            #expect(find(account("a").silent).status == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(try attributes(account("a"))["acct"] as? String == "a")
        }
    }

    @Test("AC-25: every read without a context asks again") func everyReadAsks() throws {
        try device.run(prompts: 3) {
            try addItem(.userPresence)
            for _ in 0..<3 {
                device.present(.finger(1))
                #expect(secret(account("a")) == "a")
            }
        }
    }

    // MARK: several items

    @Test("AC-23: one proof serves all items that it satisfies, and one refusal fails the call") func severalItems()
        throws
    {
        try device.run(prompts: 2) {
            try addItem("a", .userPresence)
            try addItem("b", .biometryAny)
            try addItem("c", [])
            let query = generic([kSecAttrService: "s"]).all.data
            device.present(.finger(1))
            #expect((find(query).result as? [Data])?.count == 3)
            device.present(.cancel)
            #expect(find(query).status == errSecUserCanceled)
        }
    }

    @Test("AC-23: each control is evaluated where one proof does not serve all") func severalProofs() throws {
        try device.run(prompts: 2) {
            try addItem("a", .devicePasscode)
            try addItem("b", .biometryAny)
            device.present(.passcode("1234"), .finger(1), .passcode("1234"))
            #expect((find(generic([kSecAttrService: "s"]).all.data).result as? [Data])?.count == 2)
        }
    }

    @Test("AC-23: with limit one a protected row that comes first forces the prompt") func limitOne() throws {
        try device.run {
            // Of several the oldest comes first.
            let query = generic([kSecAttrService: "s"])
            try addItem("protected", .userPresence)
            try addItem("open", [])
            #expect(read(query.silent) == errSecInteractionNotAllowed)
            #expect(secret(query.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)) == "open")
            // And one that comes later forces none.
            #expect(SecItemDelete(account("protected") as CFDictionary) == errSecSuccess)
            try addItem("protected", .userPresence)
            #expect(secret(query.silent) == "open")
        }
    }

    // MARK: and, or

    @Test(
        "AC-03: two constraints are both required, with and without saying so",
        arguments: [[], SecAccessControlCreateFlags.and])
    func both(combination: SecAccessControlCreateFlags) throws {
        let flags: SecAccessControlCreateFlags = [.biometryAny, .devicePasscode, combination]
        try device.run { try addItem(flags) }
        device.run(prompts: 1) {
            device.present(.finger(1), .passcode("1234"))
            #expect(secret(account("a")) == "a")
        }
        device.run(prompts: 1) {
            device.present(.finger(1), .cancel)
            #expect(read(account("a")) == errSecUserCanceled)
        }
    }

    @Test("AC-03: with or a finger is enough, and so is the passcode") func either() throws {
        try device.run { try addItem([.biometryAny, .or, .devicePasscode]) }
        device.run(prompts: 1) {
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
        device.run(prompts: 1) {
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-20: a control of the passcode does not take a finger") func passcodeOnly() throws {
        try device.run(prompts: 1) {
            try addItem(.devicePasscode)
            device.present(.finger(1), .passcode("1234"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.last?.asksForPasscode == true)
        }
    }
}
