import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveHost

@testable import TouchstoneEnclave

@Suite struct ProtectionClassTests {
    private static let classA: Set<Accessibility> = [
        .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly,
    ]
    private static let classC: Set<Accessibility> = [.afterFirstUnlock, .afterFirstUnlockThisDeviceOnly]
    private static let classD: Set<Accessibility> = [.always, .alwaysThisDeviceOnly]
    private static let binding = Enclave.ItemBinding(accessGroup: "group", item: Data("item".utf8))

    private var enclave: Enclave
    private var items: [Accessibility: Enclave.WrappedItem] = [:]

    init() throws {
        enclave = try Enclave.device()
        for protection in Accessibility.allCases {
            items[protection] = .init(
                wrappedKey: try enclave.wrap(
                    .init(
                        accessControl: .init(protection: protection, flags: []), binding: Self.binding,
                        key: Data(0..<32), app: "other", context: nil), now: 0), binding: Self.binding)
        }
    }

    /// The classes whose items are in this state, and whose metadata keys are there exactly where the items are open.
    private func classes(_ state: Enclave.KeyState) -> Set<Accessibility> {
        let metadata = enclave.metadataKeys()
        let opened = items.mapValues { enclave.unwrap($0, app: "app", context: nil).state }
        for (protection, state) in opened {
            #expect((metadata.keys[protection] != nil) == (state == .open), "KC-15: \(protection)")
            #expect(metadata.destroyed.contains(protection) == (state == .gone), "\(protection)")
        }
        return Set(opened.filter { $0.value == state }.keys)
    }

    @Test("KC-20: unlocked, every class is open")
    func unlocked() {
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("KC-20: locked after the first unlock, A is locked, C and D are open; the passcode brings A back")
    mutating func locked() throws {
        _ = enclave.lock(now: 0)
        #expect(classes(.locked) == Self.classA)
        #expect(classes(.open) == Self.classC.union(Self.classD))
        #expect(try !enclave.unlock("9999"))
        #expect(classes(.locked) == Self.classA)
        #expect(try enclave.unlock("1234"))
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("PC-33: a finger brings A back as long as biometry is allowed; A is discarded once the passcode is required")
    mutating func lockedWithAFinger() {
        _ = enclave.lock(now: 0)
        #expect(enclave.touch(.finger(1), now: 1).0 == .unlocked)
        #expect(classes(.open) == Set(Accessibility.allCases))
        _ = enclave.lock(now: 1)
        for _ in 0..<5 { #expect(enclave.touch(.stranger, now: 1).0 == .notMatched) }
        #expect(enclave.screenLock.held.isEmpty)
        #expect(enclave.touch(.finger(1), now: 1).0 == .passcodeRequired)
        #expect(classes(.locked) == Self.classA)
    }

    @Test("PC-33: without a finger, and in lockout, A is discarded with the lock")
    mutating func lockedWithoutBiometry() throws {
        try enclave.removeFinger("finger 1")
        _ = enclave.lock(now: 0)
        #expect(enclave.screenLock.held.isEmpty)
        #expect(try enclave.unlock("1234"))
        try enclave.enroll("finger 1", sample: .finger(1))
        enclave.state.biometryFailures = 5
        _ = enclave.lock(now: 0)
        #expect(enclave.screenLock.held.isEmpty)
    }

    @Test("PC-20, PC-33: a lock that asks for the passcode discards A at once, also behind the lock screen")
    func lockThatRequiresThePasscode() throws {
        for isLockedBefore in [false, true] {
            var enclave = try Enclave.device()
            if isLockedBefore { _ = enclave.lock(now: 0) }
            _ = enclave.lock(requiresPasscode: true, now: 0)
            #expect(enclave.screenLock.held.isEmpty)
            #expect(enclave.touch(.finger(1), now: 0).0 == .passcodeRequired)
            #expect(enclave.biometryObstacle(now: 0) == .biometryLockout, "PC-25")
            #expect(try enclave.unlock("1234"))
            #expect(enclave.biometryObstacle(now: 0) == nil)
            _ = enclave.lock(now: 0)
            #expect(enclave.touch(.finger(1), now: 0).0 == .unlocked, "once")
        }
    }

    @Test("PC-21: the times after which only the passcode helps are one configuration: the older text's too")
    func otherPolicy() throws {
        var older = PasscodePolicy()
        older.longestWithoutPasscode = 6 * 24 * 3600
        older.longestWithoutFinger = 8 * 3600
        let (hours, root) = (3600.0, TestRoot())
        for (policy, refusedAt) in [(PasscodePolicy(), 157.0), (older, 145)] {
            var enclave = try Enclave(stateFile: Enclave.device().stateFile(), root: root, now: 0, policy: policy)
            #expect(try enclave.unlock("1234"))
            // A finger every day, and the last one nine hours before.
            for hour in stride(from: 24, to: refusedAt - 9, by: 24) {
                _ = enclave.lock(now: hour * hours)
                #expect(enclave.touch(.finger(1), now: hour * hours).0 == .unlocked)
            }
            _ = enclave.lock(now: (refusedAt - 9) * hours)
            #expect(enclave.touch(.finger(1), now: (refusedAt - 9) * hours).0 == .unlocked)
            #expect(enclave.biometryObstacle(now: (refusedAt - 2) * hours) == nil)
            #expect(enclave.biometryObstacle(now: refusedAt * hours) == .biometryLockout)
        }
    }

    @Test("PC-33: removing the last finger behind the lock screen discards A")
    mutating func lastFingerRemovedWhileLocked() throws {
        _ = enclave.lock(now: 0)
        #expect(!enclave.screenLock.held.isEmpty)
        try enclave.removeFinger("finger 1")
        #expect(enclave.screenLock.held.isEmpty)
    }

    @Test("KC-14, KC-20: before the first unlock only D is open, whatever finger is shown")
    mutating func beforeFirstUnlock() throws {
        enclave = try enclave.restarted()
        #expect(enclave.touch(.finger(1), now: 0).0 == .passcodeRequired)
        #expect(classes(.open) == Self.classD)
        #expect(classes(.locked) == Self.classA.union(Self.classC))
        #expect(try enclave.unlock("1234"))
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("KC-14: no file and no root opens A or C without the passcode")
    func nothingWithoutThePasscode() throws {
        let restarted = try enclave.restarted()
        #expect(Set(restarted.state.classKeys.keys) == Set(Self.classD.map(\.rawValue)))
        let sealed = try #require(restarted.state.passcode).classKeys
        #expect(Set(sealed.keys) == Set(Self.classA.union(Self.classC).map(\.rawValue)))
        for purpose in ["class keys", "state", "templates", "domain state", "lookup"] {
            #expect(ClassKeys(sealed, under: restarted.deviceKey.derive(purpose)) == nil)
        }
    }

    @Test("KC-22: without a passcode the device cannot be locked, and every class but P is open, also after a restart")
    mutating func withoutPasscode() throws {
        enclave = try Enclave.device(passcode: nil, fingers: 0)
        _ = enclave.lock(now: 0)
        #expect(!enclave.isLocked)
        enclave = try enclave.restarted()
        #expect(!enclave.isLocked)
        let keys = Set(enclave.metadataKeys().keys.keys)
        #expect(keys == Set(Accessibility.allCases).subtracting([.whenPasscodeSetThisDeviceOnly]))
        #expect(enclave.metadataKeys().destroyed == [.whenPasscodeSetThisDeviceOnly])
    }

    @Test("KC-14: a new passcode keeps every item; the old one opens nothing any more")
    mutating func passcodeChange() throws {
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        #expect(classes(.open) == Set(Accessibility.allCases))
        enclave = try enclave.restarted()
        #expect(try !enclave.unlock("1234"))
        #expect(classes(.open) == Self.classD)
        #expect(try enclave.unlock("5678"))
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("KC-14: a passcode change with a wrong current one changes nothing")
    mutating func refusedPasscodeChange() throws {
        let before = enclave.state.passcode
        #expect(try !enclave.changePasscode(from: "9999", to: "5678"))
        #expect(try !enclave.changePasscode(from: "8888", to: nil))
        #expect(enclave.state.passcode == before)
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("KC-14: changed behind the lock screen, the passcode does not unlock")
    mutating func passcodeChangeWhileLocked() throws {
        enclave = try enclave.restarted()
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        #expect(enclave.isLocked)
        #expect(classes(.open) == Self.classD)
        #expect(try enclave.unlock("5678"))
        #expect(classes(.open) == Set(Accessibility.allCases))
    }

    @Test("KC-23: removing the passcode destroys P for good, and no other class; a new passcode makes another P")
    mutating func passcodeRemoval() throws {
        let others = Set(Accessibility.allCases).subtracting([.whenPasscodeSetThisDeviceOnly])
        #expect(try enclave.changePasscode(from: "1234", to: nil))
        #expect(classes(.open) == others)
        #expect(classes(.gone) == [.whenPasscodeSetThisDeviceOnly])
        #expect(throws: Enclave.NotWrapped.self, "KC-24") {
            try enclave.wrap(
                .init(
                    accessControl: .init(protection: .whenPasscodeSetThisDeviceOnly, flags: []),
                    binding: Self.binding, key: Data(0..<32), app: "other", context: nil), now: 0)
        }
        #expect(try enclave.changePasscode(from: nil, to: "1234"))
        let opened = items.mapValues { enclave.unwrap($0, app: "app", context: nil).state }
        #expect(opened.filter { $0.value == .gone }.map(\.key) == [.whenPasscodeSetThisDeviceOnly])
        enclave = try enclave.restarted()
        #expect(try enclave.unlock("1234"))
        for protection in others {
            let item = try #require(items[protection])
            #expect(enclave.unwrap(item, app: "app", context: nil).state == .open)
        }
    }

    @Test("KC-23: removed behind the lock screen, the passcode leaves no trace of P in the state")
    mutating func removalBehindTheLockScreen() throws {
        enclave = try enclave.restarted()
        #expect(try enclave.changePasscode(from: "1234", to: nil))
        #expect(!enclave.isLocked)
        #expect(enclave.state.passcode == nil)
        #expect(enclave.state.classKeys["akpu"] == nil)
        #expect(classes(.gone) == [.whenPasscodeSetThisDeviceOnly])
    }
}
