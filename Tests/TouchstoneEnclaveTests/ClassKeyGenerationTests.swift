import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// Class keys are made again with the passcode: what an old state opens ends there, and what the device opens does not.
@Suite(.timeLimit(.minutes(10))) struct ClassKeyGenerationTests {
    private static let binding = Enclave.ItemBinding(accessGroup: "app", item: Data("item".utf8))
    private static let key = Data(0..<32)

    /// One item of each class, and one private key.
    private struct Written {
        var items: [Accessibility: Enclave.WrappedItem] = [:]
        var privateKey: Data
        var metadata: [Accessibility: Data]

        init(by enclave: Enclave, _ protections: [Accessibility] = Accessibility.allCases) throws {
            for protection in protections { items[protection] = try wrap(protection, in: enclave) }
            privateKey = try enclave.createKey(
                .init(
                    kind: .p256,
                    accessControl: .init(protection: .whenUnlockedThisDeviceOnly, flags: .privateKeyUsage),
                    accessGroup: "app", app: "app", context: nil)
            ).key
            metadata = enclave.metadataKeys().keys
        }

        /// How many of all these an enclave opens that is unlocked.
        func opened(by enclave: Enclave) -> Int {
            let metadataKeys = enclave.metadataKeys()
            let known = metadata.filter { protection, key in
                metadataKeys.keys[protection] == key || metadataKeys.earlier[protection]?.contains(key) == true
            }
            return items.values.count { enclave.unwrap($0, app: "app", context: nil).key == key }
                + (signs(privateKey, in: enclave) ? 1 : 0) + known.count
        }

        var count: Int { items.count + 1 + metadata.count }
    }

    private static func wrap(
        _ protection: Accessibility, _ flags: AccessControl.Flags = [], context: String? = nil, in enclave: Enclave
    ) throws -> Enclave.WrappedItem {
        let wrapped = try enclave.wrap(
            .init(
                accessControl: .init(protection: protection, flags: flags), binding: binding, key: key, app: "app",
                context: context), now: 0)
        return .init(wrappedKey: wrapped, binding: binding)
    }

    private static func signs(_ key: Data, in enclave: Enclave) -> Bool {
        (try? enclave.sign(Self.key, with: .init(key: key, app: "app", accessGroups: ["app"])).get()) != nil
    }

    // MARK: an old state

    @Test(
        "KC-14: an old state, its passcode and the root key open what was written before the change, and nothing since")
    func oldState() throws {
        var enclave = try Enclave.device()
        let before = try Written(by: enclave)
        let file = try enclave.stateFile()
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        let since = try Written(by: enclave)
        // What was read since is wrapped again.
        let read = try before.items.mapValues { item in
            let rewrapped = enclave.unwrap(item, app: "app", context: nil).rewrappedKey
            return Enclave.WrappedItem(wrappedKey: try #require(rewrapped), binding: item.binding)
        }

        var old = try Enclave(stateFile: file, root: TestRoot(), now: 0)
        #expect(try old.unlock("1234"))
        #expect(before.opened(by: old) == before.count)
        #expect(since.opened(by: old) == 0)
        for item in read.values { #expect(old.unwrap(item, app: "app", context: nil).state == .gone) }

        var new = try enclave.restarted()
        #expect(try new.unlock("5678"))
        #expect(before.opened(by: new) == before.count && since.opened(by: new) == since.count)
        for item in read.values { #expect(new.unwrap(item, app: "app", context: nil).key == Self.key) }
    }

    @Test("KC-14, KC-22: so does a state from before the passcode was set or removed, for every class that is left")
    func setAndRemoved() throws {
        let unset = try Enclave.device(passcode: nil, fingers: 0)
        let withoutPasscode = Accessibility.allCases.filter { $0 != .whenPasscodeSetThisDeviceOnly }
        let before = try Written(by: unset, withoutPasscode)
        var enclave = unset
        #expect(try enclave.changePasscode(from: nil, to: "1234"))
        let set = try Written(by: enclave, withoutPasscode)
        #expect(before.opened(by: unset) == before.count)
        #expect(set.opened(by: unset) == 0)
        let withPasscode = enclave
        #expect(try enclave.changePasscode(from: "1234", to: nil))
        let removed = try Written(by: enclave, withoutPasscode)
        #expect(removed.opened(by: withPasscode) == 0)
        // Of P's metadata key nothing is left (KC-23).
        for written in [before, set, removed] {
            let expected = written.metadata[.whenPasscodeSetThisDeviceOnly] == nil ? written.count : written.count - 1
            #expect(written.opened(by: enclave) == expected)
        }
    }

    @Test("A change that is not kept makes no key: the old ones go on")
    func notKept() throws {
        let enclave = try RunningEnclave()
        #expect(try enclave.unlock("1234") == .right)
        let before = enclave.host.read { now, _ in (now.generation, now.keys[.whenUnlocked]?.unprotectedCopy) }
        enclave.storage.plan([.kept, .refused])
        #expect(try enclave.change(from: "1234", to: "5678") == .refused(.notKept))
        let after = enclave.host.read { now, _ in (now.generation, now.keys[.whenUnlocked]?.unprotectedCopy) }
        #expect(before == after)
        enclave.storage.plan([])
        #expect(try enclave.change(from: "1234", to: "5678") == .right)
        #expect(enclave.host.read { now, _ in now.generation } == before.0 + 1)
    }

    // MARK: what the change leaves

    @Test("KC-20: what an earlier class key protects is open and locked together with the current class key")
    func locked() throws {
        var enclave = try Enclave.device()
        let before = try Written(by: enclave)
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        func state(_ protection: Accessibility) throws -> Enclave.KeyState {
            enclave.unwrap(try #require(before.items[protection]), app: "app", context: nil).state
        }
        _ = enclave.lock(now: 0)
        #expect(try state(.whenUnlocked) == .locked && state(.afterFirstUnlock) == .open && state(.always) == .open)
        #expect(!Self.signs(before.privateKey, in: enclave))
        #expect(enclave.metadataKeys().earlier[.whenUnlocked] == nil)
        #expect(enclave.metadataKeys().earlier[.afterFirstUnlock]?.count == 2)
        // PC-33: the class keys that were held for a finger are the current ones.
        #expect(enclave.touch(.finger(1), now: 0).0 == .unlocked)
        #expect(before.opened(by: enclave) == before.count)
        enclave = try enclave.restarted()
        #expect(try state(.whenUnlocked) == .locked && state(.afterFirstUnlock) == .locked && state(.always) == .open)
        #expect(try enclave.unlock("5678"))
        #expect(before.opened(by: enclave) == before.count)
    }

    @Test("PC-33: a passcode that is changed behind the lock screen opens nothing, and a finger opens what is of now")
    func changedWhileLocked() throws {
        var enclave = try Enclave.device()
        let before = try Written(by: enclave)
        _ = enclave.lock(now: 0)
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        #expect(enclave.isLocked && enclave.keys[.whenUnlocked] == nil)
        #expect(enclave.touch(.finger(1), now: 0).0 == .unlocked)
        #expect(before.opened(by: enclave) == before.count)
        let since = try Written(by: enclave)
        enclave = try enclave.restarted()
        #expect(try enclave.unlock("5678"))
        #expect(since.opened(by: enclave) == since.count && before.opened(by: enclave) == before.count)
    }

    @Test("KC-23: removing the passcode destroys P's keys of every generation; a new passcode does not bring them back")
    func removedPasscode() throws {
        var enclave = try Enclave.device()
        var items = [try Self.wrap(.whenPasscodeSetThisDeviceOnly, in: enclave)]
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        items.append(try Self.wrap(.whenPasscodeSetThisDeviceOnly, in: enclave))
        for item in items { #expect(enclave.unwrap(item, app: "app", context: nil).state == .open) }
        #expect(try enclave.changePasscode(from: "5678", to: nil))
        #expect(enclave.state.earlierClassKeys?["akpu"] == nil)
        for item in items { #expect(enclave.unwrap(item, app: "app", context: nil).state == .gone) }
        for passcode in ["1234", "5678"] {
            try enclave.changePasscode(from: enclave.isPasscodeSet ? "1234" : nil, to: passcode)
            for item in items { #expect(enclave.unwrap(item, app: "app", context: nil).state == .gone) }
        }
        let new = try Self.wrap(.whenPasscodeSetThisDeviceOnly, in: enclave)
        #expect(enclave.unwrap(new, app: "app", context: nil).state == .open)
    }

    @Test("AC-50, DEC-080: what is wrapped anew asks for what it asked for, and is bound to the fingers that it was")
    func bound() throws {
        var enclave = try Enclave.device()
        let flags: [AccessControl.Flags] = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode,
            [.biometryCurrentSet, .or, .devicePasscode],
        ]
        let items = try flags.map { try Self.wrap(.whenUnlocked, $0, in: enclave) }
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        // Nobody is asked for that.
        let rewrapped = try items.map { item in
            let opened = enclave.unwrap(item, app: "app", context: nil)
            #expect(opened.state == .authenticationNeeded && opened.key == nil)
            return Enclave.WrappedItem(
                wrappedKey: try #require(opened.rewrappedKey), binding: item.binding)
        }
        func states(_ items: [Enclave.WrappedItem], _ context: String?) -> [Enclave.KeyState] {
            items.map { enclave.unwrap($0, app: "app", context: context).state }
        }
        let finger = try enclave.proven(.biometrics)
        let passcode = try enclave.proven(.deviceOwner, passcode: "5678")
        for context in [nil, finger, passcode] { #expect(states(items, context) == states(rewrapped, context)) }
        #expect(states(rewrapped, finger)[2] == .open && states(rewrapped, passcode)[2] == .authenticationNeeded)
        try enclave.enroll("finger 2", sample: .finger(2))
        let other = try enclave.proven(.biometrics)
        let owner = try enclave.proven(.deviceOwner, passcode: "5678")
        for context in [other, owner] { #expect(states(items, context) == states(rewrapped, context)) }
        #expect(states(rewrapped, other)[2] == .gone, "other fingers")
        #expect(states(rewrapped, owner)[4] == .open, "the way that is left")
        #expect(enclave.unwrap(items[2], app: "app", context: other).rewrappedKey == nil)
    }

    @Test("AC-04: a key under an application password is wrapped anew without it, and opens with it alone")
    func applicationPassword() throws {
        var enclave = try Enclave.device()
        func context(_ password: String) throws -> String {
            let context = enclave.createContext(app: "app", accessGroups: ["app"])
            let entry = try seal(
                password, to: enclave.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
            let job = try #require(try enclave.setCredential(entry, context: context, app: "app", now: 0))
            _ = enclave.finishCredential(job, key: try job.run())
            return context
        }
        let first = try context("right")
        let item = try Self.wrap(.whenUnlocked, .applicationPassword, context: first, in: enclave)
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        let wrapped = try #require(enclave.unwrap(item, app: "app", context: nil).rewrappedKey)
        let rewrapped = Enclave.WrappedItem(wrappedKey: wrapped, binding: item.binding)
        for item in [item, rewrapped] {
            let (right, other) = (try context("right"), try context("wrong"))
            #expect(enclave.unwrap(item, app: "app", context: right).key == Self.key)
            let wrong = enclave.unwrap(item, app: "app", context: other)
            #expect(wrong.key == nil && wrong.isPasswordWrong)
        }
    }

    @Test("A wrapped key that names another generation than its own is gone")
    func otherGeneration() throws {
        var enclave = try Enclave.device()
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        let item = try Self.wrap(.whenUnlocked, in: enclave)
        #expect(Array(item.wrappedKey.prefix(6)) == [3, 6, 2, 0, 0, 0])
        for generation: UInt32 in [0, 1, 3, 4, 256, .max] {
            var other = item
            for place in 0..<4 { other.wrappedKey[2 + place] = UInt8(truncatingIfNeeded: generation >> (8 * place)) }
            #expect(enclave.unwrap(other, app: "app", context: nil).state == .gone, "\(generation)")
        }
        #expect(enclave.unwrap(item, app: "app", context: nil).state == .open)
    }

    @Test(
        "Class keys are made anew 256 times; after that a new passcode seals those that are there, and all of it opens")
    func limit() throws {
        var enclave = try Enclave.device(fingers: 0)
        var written: [Written] = []
        var passcode = "1234"
        for number in 0..<260 {
            if number % 64 == 0 || number > 254 { written.append(try Written(by: enclave)) }
            #expect(try enclave.changePasscode(from: passcode, to: "passcode \(number)"))
            passcode = "passcode \(number)"
        }
        #expect(enclave.generation == Enclave.Limits.generations)
        #expect(try enclave.stateFile().count < 1 << 18, "far from what a state may be")
        enclave = try enclave.restarted()
        #expect(try enclave.unlock(passcode))
        for written in written { #expect(written.opened(by: enclave) == written.count) }
        // KC-23: there too.
        let guarded = try Self.wrap(.whenPasscodeSetThisDeviceOnly, in: enclave)
        #expect(try enclave.changePasscode(from: passcode, to: nil))
        #expect(try enclave.changePasscode(from: nil, to: "1234"))
        #expect(enclave.unwrap(guarded, app: "app", context: nil).state == .gone)
        let new = try Self.wrap(.whenPasscodeSetThisDeviceOnly, in: enclave)
        #expect(enclave.unwrap(new, app: "app", context: nil).state == .open)
    }

    // MARK: crashes

    @Test(
        "KC-14: changes, crashes, failing disks and rows whose new keys are lost, in any order: every item opens",
        arguments: 0..<60)
    func crashes(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let enclave = try RunningEnclave()
        var passcode = "1234"
        var items: [Enclave.WrappedItem] = []
        var keys: [Data] = []
        #expect(try enclave.unlock(passcode) == .right)
        for step in 0..<30 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let protection = Accessibility.allCases.randomElement(using: &random) ?? .always
                items.append(try enclave.host.read { now, _ in try Self.wrap(protection, in: now) })
                keys.append(
                    try enclave.host.read { now, _ in
                        try now.createKey(
                            .init(
                                kind: .p256,
                                accessControl: .init(protection: protection, flags: .privateKeyUsage),
                                accessGroup: "app", app: "app", context: nil)
                        ).key
                    })
            case 2, 3:
                // Counted, judged, kept: the disk may fail at each, with the new state on it or without.
                let next = "passcode \(step)"
                enclave.storage.plan(
                    (0..<3).map { _ in
                        Int.random(in: 0..<3, using: &random) == 0
                            ? UnreliableStorage.Outcome.allCases.randomElement(using: &random) ?? .kept : .kept
                    })
                let verdict = try enclave.change(from: passcode, to: next)
                enclave.storage.plan([])
                if verdict == .right {
                    passcode = next
                } else {
                    // Nobody heard which it is: the disk says.
                    try enclave.reboot()
                    enclave.clock.advance(by: enclave.retryAfter ?? 0)
                    if try enclave.unlock(next) == .right { passcode = next }
                }
            case 4: try enclave.reboot()
            default:
                // The keychain reads: what is wrapped again reaches its rows or does not.
                for index in items.indices {
                    let opened = enclave.host.read { now, _ in
                        now.unwrap(items[index], app: "app", context: nil).rewrappedKey
                    }
                    if let opened, Bool.random(using: &random) { items[index].wrappedKey = opened }
                }
            }
            if enclave.facts.isLocked {
                enclave.clock.advance(by: enclave.retryAfter ?? 0)
                #expect(try enclave.unlock(passcode) == .right, "step \(step)")
            }
            enclave.host.read { now, _ in
                for item in items {
                    #expect(now.unwrap(item, app: "app", context: nil).key == Self.key, "step \(step)")
                }
                for key in keys { #expect(Self.signs(key, in: now), "step \(step)") }
            }
        }
    }
}
