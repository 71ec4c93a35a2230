import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// What an update does to the constraint of an item, what several constraints at once do, and what is given without asking.
@Suite(.timeLimit(.minutes(10))) struct AccessControlChangeTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 2) }

    private func addItem(_ flags: SecAccessControlCreateFlags) throws { try addItem("a", flags) }

    private func addItem(_ name: String, _ flags: SecAccessControlCreateFlags) throws {
        let item = account(name, [kSecAttrAccessControl: try control(flags), kSecAttrService: "s"]).value(name)
        try #require(add(item) == errSecSuccess)
    }

    private func with(_ context: LAContext, _ query: Attributes = account("a")) -> Attributes {
        query.with(kSecUseAuthenticationContext, context)
    }

    /// A context to which a finger was proven.
    private func proven() throws -> LAContext {
        let context = LAContext()
        device.present(.finger(1))
        try #require(add(account("key", [kSecAttrAccessControl: try control(.biometryAny)])) == errSecSuccess)
        try #require(find(account("key", [kSecUseAuthenticationContext: context])).status == errSecSuccess)
        try #require(delete(account("key")) == errSecSuccess)
        return context
    }

    // MARK: by update

    @Test("AC-20, AC-48: a new constraint wants the old one proven, in the context of the query") func oldIsProven()
        throws
    {
        try device.run(prompts: 2) {
            try addItem(.biometryAny)
            let context = try proven()
            let wanted: Attributes = [kSecAttrAccessControl: try control(.devicePasscode)]
            #expect(update(account("a").silent, wanted) == errSecInteractionNotAllowed)
            #expect(update(account("a"), with(context, wanted)) == errSecNoSuchAttr)
            #expect(update(with(context).silent, wanted) == errSecSuccess)
            // The new one holds from now on: the finger that was proven is not enough.
            #expect(read(with(context).silent) == errSecInteractionNotAllowed)
            device.present(.passcode("1234"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-10, AC-50: what is bound is the enrolment at the update") func newIsBound() throws {
        try device.run(prompts: 3) {
            try addItem(.userPresence)
            try device.enrollFinger()
            device.present(.finger(1))
            #expect(try update(account("a"), [kSecAttrAccessControl: control(.biometryCurrentSet)]) == errSecSuccess)
            device.present(.finger(3))
            #expect(secret(account("a")) == "a")
            // An update of something else does not bind again what has not changed, and keeps what is bound.
            device.present(.finger(3))
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecSuccess)
            try device.removeFinger(3)
            #expect(read(account("a").silent) == errSecItemNotFound)
        }
    }

    @Test("AC-50, AC-54: of either-or a later finger opens the way of any finger, and none of the current set")
    func laterFinger() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            for (name, biometry) in [("any", SecAccessControlCreateFlags.biometryAny), ("set", .biometryCurrentSet)] {
                let either = try control([biometry, .or, .devicePasscode])
                #expect(add(account(name, [kSecAttrAccessControl: either]).value(name)) == errSecSuccess)
            }
            try device.enrollFinger()
            device.present(.finger(1))
            #expect(secret(account("any")) == "any")
            // Nobody is asked for a finger that would not help, and a proven finger does not help either.
            device.present(.passcode("1234"))
            #expect(secret(account("set")) == "set")
            #expect(device.prompts.map(\.asksForPasscode) == [false, true])
            let context = LAContext()
            device.present(.finger(1))
            #expect(secret(account("any", [kSecUseAuthenticationContext: context])) == "any")
            #expect(read(account("set", [kSecUseAuthenticationContext: context]).silent) == errSecInteractionNotAllowed)
            #expect(secret(account("any", [kSecUseAuthenticationContext: context]).silent) == "any")
            // Saved again, it is bound to the current finger.
            device.present(.passcode("1234"))
            #expect(update(account("set"), [kSecValueData: Data("new".utf8)]) == errSecSuccess)
            device.present(.finger(1))
            #expect(secret(account("set")) == "new")
            // And other fingers shut that way again, not the passcode's.
            try device.enrollFinger()
            device.present(.passcode("1234"))
            #expect(secret(account("set")) == "new")
        }
    }

    @Test("AC-15: a constraint that cannot be bound is refused, and the old one stays") func unbindable() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run(prompts: 3) {
            try addItem(.devicePasscode)
            for flags in [SecAccessControlCreateFlags.biometryAny, .biometryCurrentSet] {
                device.present(.passcode("1234"))
                #expect(try update(account("a"), [kSecAttrAccessControl: control(flags)]) == errSecAuthFailed)
            }
            device.present(.passcode("1234"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-24, AC-48: a constraint is removed by an update that has it proven, and nothing else of the item changes")
    func removed() throws {
        try device.run(prompts: 1) {
            try addItem(.biometryAny)
            let context = try proven()
            #expect(try update(with(context), [kSecAttrAccessControl: control([])]) == errSecSuccess)
            #expect(secret(account("a")) == "a")
            #expect(try attributes(account("a"))["svce"] as? String == "s")
        }
    }

    @Test("KC-34: a class beside a constraint of another class is refused") func conflictingClass() throws {
        try device.runUnprompted {
            add(account("a").value("a"))
            let changes: Attributes = [
                kSecAttrAccessControl: try control(.userPresence), kSecAttrAccessible: kSecAttrAccessibleAlways,
            ]
            #expect(update(account("a"), changes) == errSecParam)
            #expect(secret(account("a")) == "a")
        }
    }

    // MARK: several matches

    @Test("AC-23: several controls, all proven to one context, open in one call without a prompt") func allProven()
        throws
    {
        try device.run {
            try addItem("a", .biometryAny)
            try addItem("b", .devicePasscode)
            try addItem("c", .userPresence)
            try addItem("d", [.biometryAny, .devicePasscode])
            try addItem("e", [])
            let context = LAContext()
            let query = with(context, generic([kSecAttrService: "s"]))
            device.present(.finger(1), .passcode("1234"))
            #expect(secret(with(context, account("d"))) == "d")
            let before = device.prompts.count
            #expect((find(query.all.data.silent).result as? [Data])?.count == 5)
            #expect(accounts(query.silent) == ["a", "b", "c", "d", "e"])
            #expect(update(query.silent, [kSecAttrLabel: "x"]) == errSecSuccess)
            #expect(device.prompts.count == before)
        }
    }

    @Test("AC-23: one proof missing fails the call, reads nothing and changes nothing") func oneMissing() throws {
        try device.run {
            try addItem("a", .biometryAny)
            try addItem("b", .devicePasscode)
            try addItem("c", [])
            let context = try proven()
            let query = with(context, generic([kSecAttrService: "s"]))
            let (status, result) = find(query.all.data.silent)
            #expect(status == errSecInteractionNotAllowed)
            #expect(result == nil)
            #expect(update(query.silent, [kSecAttrLabel: "x"]) == errSecInteractionNotAllowed)
            device.present(.cancel)
            #expect(update(query, [kSecAttrLabel: "x"]) == errSecUserCanceled)
            #expect(try attributes(account("c"))["labl"] == nil)
            // Skip leaves out what is not proven, and only that.
            let skipping = query.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)
            #expect(accounts(skipping) == ["a", "c"])
        }
    }

    @Test("AC-23, AC-51: an item that is gone is no obstacle to the others") func oneGone() throws {
        try device.runUnprompted {
            try addItem("a", .biometryCurrentSet)
            try addItem("b", [])
            try device.removeFinger(2)
            #expect(accounts(generic([kSecAttrService: "s"])) == ["b"])
            #expect(update(generic([kSecAttrService: "s"]), [kSecAttrLabel: "x"]) == errSecSuccess)
        }
    }

    // MARK: without asking

    @Test(
        "AC-41, EV-40, EV-54: within an open reuse window nothing has to be asked, so Fail and interactionNotAllowed succeed"
    )
    func reuseWindow() throws {
        try device.runUnprompted {
            try addItem(.biometryAny)
            func reusing() -> LAContext {
                let context = LAContext()
                context.touchIDAuthenticationAllowableReuseDuration = 60
                return context
            }
            let quiet: [(LAContext) -> Attributes] = [
                { with($0).silent }, { with($0).with(kSecUseNoAuthenticationUI, true) },
                {
                    $0.interactionNotAllowed = true
                    return with($0)
                },
            ]
            func expectAll(_ status: OSStatus, _ context: () -> LAContext) {
                for (number, query) in quiet.enumerated() { #expect(read(query(context())) == status, "\(number)") }
            }
            expectAll(errSecInteractionNotAllowed, reusing)
            try device.lock()
            #expect(try device.unlock(finger: 1))
            expectAll(errSecSuccess, reusing)
            expectAll(errSecInteractionNotAllowed, { LAContext() })
            #expect(update(with(reusing()).silent, [kSecAttrLabel: "x"]) == errSecSuccess)
            // A finger is not a passcode, and no window lasts.
            try addItem("b", .devicePasscode)
            #expect(read(with(reusing(), account("b")).silent) == errSecInteractionNotAllowed)
            device.advance(by: .seconds(61))
            expectAll(errSecInteractionNotAllowed, reusing)
        }
    }

    @Test("AC-41: where nobody may be asked it is -25308 whatever else would be in the way") func failIsFail() throws {
        try device.runUnprompted {
            try addItem(.biometryAny)
            for finger in 1...2 { try device.removeFinger(finger) }
            #expect(read(account("a")) == errSecAuthFailed)
            #expect(read(account("a").silent) == errSecInteractionNotAllowed)
            #expect(read(with(LAContext()).silent) == errSecInteractionNotAllowed)
        }
    }

    @Test("AC-41: Skip has no place but in a search") func skipElsewhere() {
        device.runUnprompted {
            add(account("a").value("a"))
            let skipping = account("a", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(add(skipping.with(kSecAttrAccount, "b")) == errSecParam)
            #expect(update(skipping, [kSecAttrLabel: "x"]) == errSecParam)
            #expect(delete(skipping) == errSecParam)
            #expect(secret(skipping) == "a")
            #expect(read(account("a", [kSecUseAuthenticationUI: "x"])) == errSecParam)
            #expect(read(account("a", [kSecUseAuthenticationUI: 1])) == errSecParam)
        }
    }

    @Test("AC-24: Fail does not keep an item from being deleted") func failAndDelete() throws {
        try device.runUnprompted {
            try addItem(.userPresence)
            #expect(delete(account("a").silent) == errSecSuccess)
        }
    }
}
