import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave

@Suite struct ItemKeyTests {
    private static let binding = Enclave.ItemBinding(accessGroup: "app", item: Data("item".utf8))
    private static let key = Data(0..<32)
    private var enclave: Enclave

    init() throws {
        enclave = try Enclave.device(fingers: 2)
    }

    private func wrap(
        _ flags: AccessControl.Flags = [], _ protection: Accessibility = .whenUnlocked, in enclave: Enclave? = nil
    ) throws -> Enclave.WrappedItem {
        let wrapped = try (enclave ?? self.enclave).wrap(
            .init(
                accessControl: .init(protection: protection, flags: flags), binding: Self.binding, key: Self.key,
                app: "app", context: nil),
            now: 0)
        return .init(wrappedKey: wrapped, binding: Self.binding)
    }

    private func state(
        _ item: Enclave.WrappedItem, app: AppIdentifier = "app", context: String? = nil
    ) -> Enclave.KeyState {
        let opened = enclave.unwrap(item, app: app, context: context)
        #expect((opened.key == Self.key) == (opened.state == .open))
        #expect((opened.key == nil) == (opened.state != .open))
        return opened.state
    }

    // MARK: what was wrapped

    @Test("KC-05: what is wrapped opens to the same key, in every class", arguments: Accessibility.allCases)
    func roundTrip(protection: Accessibility) throws {
        let item = try wrap([], protection)
        #expect(state(item) == .open)
        #expect(item.wrappedKey.range(of: Self.key) == nil)
    }

    @Test(
        "KC-13: what is wrapped has the number of its class, and those of this device only come last",
        arguments: zip(["ak", "ck", "dk", "aku", "cku", "dku", "akpu"], UInt8(6)...12))
    func classNumber(_ code: String, _ number: UInt8) throws {
        let protection = try #require(Accessibility(rawValue: code))
        #expect(try wrap([], protection).wrappedKey[1] == number)
        #expect(protection.isThisDeviceOnly == (number >= 9))
    }

    @Test("A flipped bit or a missing byte anywhere is gone, never open")
    func tampered() throws {
        for flags in [[], AccessControl.Flags.userPresence, .biometryCurrentSet] {
            let item = try wrap(flags)
            for index in item.wrappedKey.indices {
                for bit in 0..<8 {
                    var changed = item
                    changed.wrappedKey[index] ^= 1 << bit
                    #expect(state(changed) == .gone, "byte \(index), bit \(bit)")
                }
                var shortened = item
                shortened.wrappedKey = item.wrappedKey.prefix(index)
                #expect(state(shortened) == .gone)
            }
            var lengthened = item
            lengthened.wrappedKey.append(0)
            #expect(state(lengthened) == .gone)
        }
    }

    @Test("A key moved to another access group or another item is gone; the parts may not be cut elsewhere")
    func otherBinding() throws {
        let item = try wrap()
        for (group, name) in [("other", "item"), ("app", "other"), ("appi", "tem"), ("", "appitem"), ("app", "")] {
            var moved = item
            moved.binding = .init(accessGroup: AccessGroup(group), item: Data(name.utf8))
            #expect(state(moved) == .gone)
        }
        #expect(state(item) == .open)
    }

    @Test("A changed class byte is gone, also where the other class's key is there")
    func otherClass() throws {
        let item = try wrap([], .whenUnlocked)
        for number in UInt8.min...UInt8.max where number != item.wrappedKey[1] {
            var changed = item
            changed.wrappedKey[1] = number
            #expect(state(changed) == .gone)
        }
    }

    @Test("Another device's key is gone")
    func otherDevice() throws {
        let other = try Enclave.device(root: TestRoot(2))
        let same = try Enclave.device(root: TestRoot(1))
        for enclave in [other, same] { #expect(state(try wrap(in: enclave)) == .gone) }
    }

    @Test("Keys of other lengths are not wrapped", arguments: [0, 31, 33])
    func otherLength(count: Int) throws {
        #expect(throws: Enclave.NotWrapped.self) {
            try enclave.wrap(
                .init(
                    accessControl: .init(protection: .whenUnlocked, flags: []), binding: Self.binding,
                    key: Data(count: count), app: "app", context: nil), now: 0)
        }
    }

    // MARK: what has to be proven

    static let proofs: [(AccessControl.Flags, byFinger: Bool, byPasscode: Bool)] = [
        (.userPresence, true, true), (.biometryAny, true, false), (.biometryCurrentSet, true, false),
        (.devicePasscode, false, true), ([.biometryAny, .or, .devicePasscode], true, true),
        ([.biometryAny, .and, .devicePasscode], false, false),
    ]

    @Test("AC-20: a finger and the passcode open what asks for them, and nothing else", arguments: proofs)
    mutating func proof(flags: AccessControl.Flags, byFinger: Bool, byPasscode: Bool) throws {
        let item = try wrap(flags)
        #expect(state(item) == .authenticationNeeded)
        let finger = try enclave.proven(.deviceOwner)
        #expect(state(item, context: finger) == (byFinger ? .open : .authenticationNeeded))
        let passcode = try enclave.proven(.deviceOwner, passcode: "1234")
        #expect(state(item, context: passcode) == (byPasscode ? .open : .authenticationNeeded))
    }

    @Test("AC-03: where both are asked for, both together open")
    mutating func bothProofs() throws {
        let item = try wrap([.biometryAny, .and, .devicePasscode])
        let context = try enclave.proven(.deviceOwner)
        let begun = try enclave.begin(.init(proofs: [.biometryAny, .passcode]), context: context)
        #expect(enclave.evaluation?.phase == .passcode)
        let entry = try seal(
            "1234", to: enclave.passcodePublicKey(), nonce: #require(enclave.evaluation?.nonce),
            for: .prompt(app: "app"))
        let job = try enclave.submitPasscode(entry, evaluation: begun.evaluation, now: 0)
        _ = enclave.finishEvaluation(begun.evaluation, key: try #require(job.current).run(), now: 0)
        #expect(state(item, context: context) == .open)
    }

    @Test("A proof that was given to one app opens no item of another's")
    func proofForAnotherApp() throws {
        var enclave = try Enclave.device()
        let others = Enclave.ItemBinding(accessGroup: "other", item: Data("item".utf8))
        let control = try AccessControl(protection: .whenUnlocked, flags: .userPresence)
        let wrapped = try enclave.wrap(
            .init(accessControl: control, binding: others, key: Data(0..<32), app: "other", context: nil), now: 0)
        let item = Enclave.WrappedItem(wrappedKey: wrapped, binding: others)
        let context = try enclave.proven(.deviceOwner)
        #expect(enclave.unwrap(item, app: "app", context: context).state == .authenticationNeeded)
        let own = try enclave.proven(.deviceOwner, app: "other")
        #expect(enclave.unwrap(item, app: "other", context: own).state == .open)
    }

    @Test("KC-42, KC-43: a proof opens items of every group that its app has, and of no other")
    func proofForAGroup() throws {
        var enclave = try Enclave.device()
        let control = try AccessControl(protection: .whenUnlocked, flags: .userPresence)
        let items = try (["shared", "app", "foreign", ""] as [AccessGroup]).map { group in
            let binding = Enclave.ItemBinding(accessGroup: group, item: Data("item".utf8))
            let key = try enclave.wrap(
                .init(accessControl: control, binding: binding, key: Data(0..<32), app: "app", context: nil), now: 0)
            return Enclave.WrappedItem(wrappedKey: key, binding: binding)
        }
        let context = enclave.createContext(app: "app", accessGroups: ["shared", "app"])
        #expect(
            items.map { enclave.unwrap($0, app: "app", context: context).state == .open } == [
                false, false, false, false,
            ])
        _ = try enclave.begin(.deviceOwner, context: context)
        _ = enclave.touch(.finger(1), now: 0)
        #expect(
            items.map { enclave.unwrap($0, app: "app", context: context).state == .open } == [true, true, false, false])
        // One who has the group and knows the context's name has not its proof.
        #expect(enclave.unwrap(items[0], app: "shared", context: context).state == .authenticationNeeded)
        // A binding that names another group than the one that was sealed is no way around.
        let moved = Enclave.WrappedItem(wrappedKey: items[2].wrappedKey, binding: items[0].binding)
        #expect(enclave.unwrap(moved, app: "app", context: context).state == .gone)
    }

    @Test("A.3: another app's context, a made-up one and an invalidated one prove nothing")
    mutating func foreignContext() throws {
        let item = try wrap(.userPresence)
        let context = try enclave.proven(.deviceOwner)
        #expect(state(item, context: context) == .open)
        #expect(state(item, app: "other", context: context) == .authenticationNeeded)
        #expect(state(item, app: "", context: context) == .authenticationNeeded)
        #expect(state(item, context: "0") == .authenticationNeeded)
        _ = enclave.invalidateContext(context)
        #expect(state(item, context: context) == .authenticationNeeded)
    }

    @Test("EV-33: a lock, a restart and a new passcode end what a context had proven")
    mutating func proofsEnd() throws {
        let item = try wrap(.userPresence)
        let context = try enclave.proven(.deviceOwner)
        _ = enclave.lock(now: 0)
        #expect(try enclave.unlock("1234"))
        #expect(state(item, context: context) == .authenticationNeeded)
        let again = try enclave.proven(.deviceOwner)
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        #expect(state(item, context: again) == .authenticationNeeded)
        let third = try enclave.proven(.deviceOwner)
        #expect(state(item, context: third) == .open)
        enclave = try enclave.restarted()
        #expect(try enclave.unlock("5678"))
        #expect(state(item, context: third) == .authenticationNeeded)
    }

    // MARK: enrolment

    @Test("AC-50: an item for the current set is gone after an enrolment, also when the finger is removed again")
    mutating func currentSet() throws {
        let item = try wrap(.biometryCurrentSet)
        let any = try wrap(.biometryAny)
        try enclave.enroll("finger 3", sample: .finger(3))
        #expect(state(item) == .gone)
        try enclave.removeFinger("finger 3")
        #expect(state(item) == .gone)
        let context = try enclave.proven(.biometrics)
        #expect(state(item, context: context) == .gone)
        #expect(state(any, context: context) == .open, "AC-54")
    }

    @Test("AC-50: removing a finger, and the same one again, are changes too")
    mutating func currentSetAfterARemoval() throws {
        let item = try wrap(.biometryCurrentSet)
        try enclave.removeFinger("finger 2")
        #expect(state(item) == .gone)
        try enclave.enroll("finger 2", sample: .finger(2))
        #expect(state(item) == .gone)
    }

    @Test("AC-54: an item for any finger survives the removal of all and the enrolment of others")
    mutating func anyFinger() throws {
        let item = try wrap(.biometryAny)
        try enclave.removeFinger("finger 1")
        try enclave.removeFinger("finger 2")
        #expect(state(item) == .authenticationNeeded)
        try enclave.enroll("finger 1", sample: .finger(1))
        let context = try enclave.proven(.biometrics)
        #expect(state(item, context: context) == .open)
    }

    @Test("AC-15: without a finger no biometric item is wrapped, without a passcode none that asks for anything")
    func wrapping() throws {
        let noFinger = try Enclave.device(fingers: 0)
        for flags in [AccessControl.Flags.biometryAny, .biometryCurrentSet] {
            #expect(throws: Enclave.NotWrapped.self) { try wrap(flags, in: noFinger) }
        }
        #expect(throws: Never.self) { try wrap(.userPresence, in: noFinger) }
        let noSensor = try Enclave.device(.none, fingers: 0)
        for flags in [AccessControl.Flags.biometryAny, .biometryCurrentSet] {
            for enclave in [noFinger, noSensor] {
                #expect(throws: Never.self) { try wrap([flags, .or, .devicePasscode], in: enclave) }
                #expect(throws: Enclave.NotWrapped.self) { try wrap([flags, .devicePasscode], in: enclave) }
                #expect(throws: Enclave.NotWrapped.self) { try wrap([flags, .or, .companion], in: enclave) }
            }
        }
        let noPasscode = try Enclave.device(passcode: nil, fingers: 0)
        for flags in [AccessControl.Flags.userPresence, .devicePasscode] {
            #expect(throws: Enclave.NotWrapped.self) { try wrap(flags, in: noPasscode) }
        }
        #expect(throws: Never.self) { try wrap([], in: noPasscode) }
    }

    @Test("AC-50, AC-51: of either-or other fingers shut the way of the set that was, whoever has proven what")
    mutating func eitherOr() throws {
        let unbound = try Enclave.device(fingers: 0)
        enclave = unbound
        let items = [
            try wrap([.biometryAny, .or, .devicePasscode]), try wrap([.biometryCurrentSet, .or, .devicePasscode]),
        ]
        let early = try enclave.proven(.init(proofs: [.passcode]), passcode: "1234")
        #expect(items.map { state($0, context: early) } == [.open, .open])
        try enclave.enroll("finger 1", sample: .finger(1))
        let bound = try wrap([.biometryCurrentSet, .or, .devicePasscode])
        let finger = try enclave.proven(.biometrics)
        #expect(items.map { state($0, context: finger) } == [.open, .authenticationNeeded])
        #expect(state(bound, context: finger) == .open)
        #expect(enclave.unwrap(items[1], app: "app", context: finger).control?.flags == [.or, .devicePasscode])
        #expect(enclave.unwrap(items[0], app: "app", context: nil).control == nil)
        let passcode = try enclave.proven(.init(proofs: [.passcode]), passcode: "1234")
        #expect((items + [bound]).map { state($0, context: passcode) } == [.open, .open, .open])
        try enclave.enroll("finger 2", sample: .finger(2))
        let another = try enclave.proven(.biometrics)
        #expect(state(bound, context: another) == .authenticationNeeded)
        // Where no other way is left it is gone, as before.
        #expect(try state(wrap(.biometryCurrentSet), context: another) == .open)
        let alone = try wrap([.biometryCurrentSet, .or, .companion])
        try enclave.removeFinger("finger 2")
        #expect(state(alone) == .gone)
        #expect(state(bound) == .authenticationNeeded)
    }
}
