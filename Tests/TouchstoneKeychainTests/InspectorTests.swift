import Foundation
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// What the owner of a simulated device is shown of its inside.
@Suite(.timeLimit(.minutes(10))) struct InspectorTests {
    private typealias Item = InspectorInterface.Item

    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private static func items(_ client: VarlinkClient) throws -> [Item] {
        var items: [Item] = []
        var after: Int64?
        repeat {
            let page = try client.call(InspectorInterface.ListItems.self, .init(after: after))
            items += page.items
            after = page.next
        } while after != nil
        return items
    }

    private func items() throws -> [Item] { try Self.items(device.booted.withLock { try $0.client() }) }

    private func onlyItem() throws -> Item {
        let items = try items()
        #expect(items.count == 1)
        return try #require(items.first)
    }

    private func adding(_ flags: SecAccessControlCreateFlags, _ protection: CFString) throws {
        let status = try device.run {
            add(account("a").value("s").with(kSecAttrAccessControl, try control(flags, protection)))
        }
        #expect(status == errSecSuccess)
    }

    // MARK: items

    private enum State: String, CaseIterable {
        case unlocked, locked, beforeFirstUnlock, passcodeRemoved, newPasscode

        func enter(_ device: SimulatedDevice) throws {
            switch self {
            case .unlocked: break
            case .locked: try device.lock()
            case .beforeFirstUnlock: device.reboot()
            case .passcodeRemoved: try device.removePasscode("1234")
            case .newPasscode:
                try device.removePasscode("1234")
                try device.setPasscode("5678")
            }
        }

        func availability(of protection: String) -> InspectorInterface.Availability {
            switch (self, protection) {
            case (_, "dk"), (_, "dku"), (.unlocked, _), (.locked, "ck"), (.locked, "cku"): .available
            case (.locked, _): .locked
            case (.beforeFirstUnlock, _): .notUnlockedSinceBoot
            case (.passcodeRemoved, "akpu"), (.newPasscode, "akpu"): .passcodeRemoved
            case (.passcodeRemoved, _), (.newPasscode, _): .available
            }
        }
    }

    @Test(
        "KC-20, KC-23: every protection class in every state of the device, as a search finds it",
        arguments: ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"])
    func protectionClasses(protection: String) throws {
        for state in State.allCases {
            let device = try SimulatedDevice(passcode: "1234")
            try device.run {
                #expect(add(account("a").value("s").with(kSecAttrAccessible, protection)) == errSecSuccess)
                try state.enter(device)
                let item = try #require(try Self.items(device.booted.withLock { try $0.client() }).first)
                #expect(item.availability == state.availability(of: protection), "\(state)")
                #expect(item.protection?.rawValue == protection)
                #expect(item.itemClass == "genp")
                // KC-15: who cannot read the attributes does not know whose it is.
                let isReadable = item.availability == .available
                #expect(
                    item.accessGroup?.rawValue == (isReadable ? SimulatedDevice.applicationIdentifier : nil), "\(state)"
                )
                #expect(item.flags == (isReadable ? [] : nil))
                // The keychain itself is of the same opinion.
                #expect((read(account("a")) == errSecSuccess) == isReadable, "\(state)")
            }
        }
    }

    @Test("AC-11, AC-40: an item that needs the owner says so, and nobody is asked")
    func wantsTheOwner() throws {
        try adding(.biometryAny, kSecAttrAccessibleWhenUnlocked)
        let item = try onlyItem()
        #expect(item.availability == .authenticationNeeded)
        #expect(item.flags == .biometryAny)
        #expect(item.obstacle == nil)
        #expect(device.prompts.isEmpty)
    }

    @Test("CE-02, CE-03: why what it wants cannot be given now")
    func obstacles() async throws {
        try adding(.biometryAny, kSecAttrAccessibleWhenUnlocked)
        try device.setSensorConnected(false)
        #expect(try onlyItem().obstacle == .biometryNotAvailable)
        try device.setSensorConnected(true)
        #expect(try onlyItem().obstacle == nil)
        device.advance(by: .hours(49))
        #expect(try onlyItem().obstacle == .biometryLockout)
        try device.removeFinger(1)
        #expect(try onlyItem().obstacle == .biometryNotEnrolled)
        try device.removePasscode("1234")
        #expect(try onlyItem().obstacle == .biometryNotEnrolled)
    }

    @Test("AC-03: one of several proofs that can be given is enough")
    func eitherProof() throws {
        try adding([.biometryAny, .or, .devicePasscode], kSecAttrAccessibleWhenUnlocked)
        try device.setSensorConnected(false)
        #expect(try onlyItem().obstacle == nil)
        #expect(try onlyItem().availability == .authenticationNeeded)
    }

    @Test("EV-05: behind the lock screen nobody can be asked, though the class key is open")
    func behindTheLockScreen() throws {
        try adding(.userPresence, kSecAttrAccessibleAfterFirstUnlock)
        #expect(try onlyItem().obstacle == nil)
        try device.lock()
        #expect(try onlyItem().availability == .authenticationNeeded)
        #expect(try onlyItem().obstacle == .notInteractive)
        #expect(device.run { read(account("a")) } == errSecInteractionNotAllowed)
    }

    @Test("PC-02: after ten wrong passcodes the owner can still be asked")
    func tenWrongPasscodes() throws {
        try adding(.userPresence, kSecAttrAccessibleAfterFirstUnlock)
        for number in 0..<10 {
            device.advance(by: .hours(8))
            #expect(throws: (any Error).self) { try device.unlock(passcode: "wrong \(number)") }
        }
        #expect(try onlyItem().obstacle == nil)
        device.advance(by: .hours(8))
        device.present(.passcode("1234"))
        #expect(device.run { read(account("a")) } == errSecSuccess)
    }

    @Test("AC-20, SE-13: a private key whose control allows no use of it can be used by nobody")
    func privateKeyWithoutUsage() throws {
        try device.run {
            _ = try enclaveKey([
                kSecAttrIsPermanent: true,
                kSecAttrAccessControl: try control(.biometryAny, kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
            ])
        }
        #expect(try onlyItem().obstacle == .authenticationFailed)
    }

    @Test("AC-50, AC-51: bound to a set of fingers that has changed, for good; to any finger, not")
    func enrolmentChanged() throws {
        try adding(.biometryCurrentSet, kSecAttrAccessibleWhenUnlocked)
        #expect(try onlyItem().availability == .authenticationNeeded)
        try device.enrollFinger()
        #expect(try onlyItem().availability == .enrolmentChanged)
        try device.removeFinger(2)
        #expect(try onlyItem().availability == .enrolmentChanged)
        #expect(device.run { read(account("a")) } == errSecItemNotFound)
    }

    @Test("SE-04: a private key shows its own control, and whether it could be used")
    func privateKeys() throws {
        try device.run {
            _ = try enclaveKey([
                kSecAttrIsPermanent: true,
                kSecAttrAccessControl: try control(
                    [.privateKeyUsage, .biometryCurrentSet], kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
            ])
        }
        var key = try onlyItem()
        #expect(key.isEnclaveKey)
        #expect(key.itemClass == "keys")
        #expect(key.flags == [.privateKeyUsage, .biometryCurrentSet])
        #expect(key.protection == .whenUnlockedThisDeviceOnly)
        #expect(key.availability == .authenticationNeeded)
        try device.lock()
        key = try onlyItem()
        #expect(key.availability == .locked)
        #expect(key.accessGroup?.rawValue == SimulatedDevice.applicationIdentifier)
        try device.unlock(passcode: "1234")
        try device.enrollFinger()
        #expect(try onlyItem().availability == .enrolmentChanged)
    }

    @Test("SE-06: a private key of the class that a passcode keeps is gone with it")
    func privateKeyOfPasscode() throws {
        try device.run {
            _ = try enclaveKey([
                kSecAttrIsPermanent: true,
                kSecAttrAccessControl: try control(
                    .privateKeyUsage, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly),
            ])
        }
        #expect(try onlyItem().availability == .available)
        try device.removePasscode("1234")
        #expect(try onlyItem().availability == .passcodeRemoved)
        try device.setPasscode("1234")
        #expect(try onlyItem().availability == .passcodeRemoved)
    }

    @Test("KC-16: an altered row is listed as damaged and stays as it is")
    func damage() throws {
        #expect(device.run { add(account("a").value("s")) } == errSecSuccess)
        #expect(try onlyItem().availability == .available)
        try device.store.write { try $0.database.execute(sql: "UPDATE item SET wrappedKey = zeroblob(80)") }
        #expect(try onlyItem().availability == .damaged)
        try device.store.write { try $0.database.execute(sql: "UPDATE item SET metadata = zeroblob(80)") }
        #expect(try onlyItem().availability == .damaged)
        try device.store.write { try $0.database.execute(sql: "UPDATE item SET pdmn = 7") }
        #expect(try onlyItem() == Item(row: onlyItem().row, itemClass: nil, protection: nil, availability: .damaged))
    }

    @Test("KC-12: sizes are of ciphertext, and values are padded")
    func sizes() throws {
        device.run {
            for (name, count) in [("a", 1), ("b", 15), ("c", 1000)] {
                add(account(name).value(String(repeating: "s", count: count)))
            }
        }
        let items = try items()
        #expect(items[0].valueBytes == items[1].valueBytes)
        #expect(try #require(items[2].valueBytes) > 1000)
        #expect(items.allSatisfy { $0.attributeBytes > 60 && $0.wrappedKeyBytes > 60 })
    }

    @Test("Pages: every item is listed once, and no page is larger than 256")
    func pages() throws {
        device.run { for number in 0..<300 { add(account("a \(number)").value("s")) } }
        let client = try device.booted.withLock { try $0.client() }
        let first = try client.call(InspectorInterface.ListItems.self, .init())
        #expect(first.items.count == 256)
        let rows = try items().map(\.row)
        #expect(rows.count == 300)
        #expect(Set(rows).count == 300)
        // Whatever is asked for, nothing but pages comes back.
        for after in [Int64.max, .min, -1] {
            _ = try client.call(InspectorInterface.ListItems.self, .init(after: after))
        }
    }

    // MARK: keys

    /// What a stream has told so far.
    private final class Told<Reply: Sendable>: Sendable {
        private final class Replies: Sendable { let all = Mutex<[Reply]>([]) }
        private let replies = Replies()
        let client: VarlinkClient

        init<M: VarlinkMethod>(_ device: SimulatedDevice, _ method: M.Type) throws
        where M.Parameters == Empty, M.Reply == Reply {
            client = try device.booted.withLock { try $0.client() }
            let first = DispatchSemaphore(value: 0)
            // Not this object: its end is the stream's.
            Thread.detachNewThread { [client, replies] in
                try? client.stream(method, Empty()) { reply in
                    replies.all.withLock { $0.append(reply) }
                    first.signal()
                    return true
                }
                first.signal()
            }
            first.wait()
        }

        deinit { client.close() }

        var all: [Reply] { replies.all.withLock { $0 } }

        func eventually(
            _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: ([Reply]) -> Bool
        ) {
            let limit = Date(timeIntervalSinceNow: 120)
            while !condition(all) {
                guard Date() < limit else {
                    Issue.record(comment, sourceLocation: sourceLocation)
                    return
                }
                usleep(1000)
            }
        }
    }

    private static func summary(_ keys: [InspectorInterface.ClassKey]) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: keys.map {
                ($0.protection.rawValue, $0.state.rawValue + ($0.hasMetadataKey ? " +" : ""))
            })
    }

    @Test(
        "KC-14, KC-15, PC-33: class keys come and go with the lock, the boot and the passcode, and so do metadata keys")
    func classKeys() throws {
        let told = try Told(device, InspectorInterface.Watch.self)
        func expect(_ comment: Comment, _ keys: [String: String], in told: Told<InspectorInterface.Watch.Reply>) {
            told.eventually(comment) { $0.last.map { Self.summary($0.keys) } == keys }
        }
        func keys(_ a: String, _ c: String, _ p: String) -> [String: String] {
            ["ak": a, "aku": a, "ck": c, "cku": c, "dk": "open +", "dku": "open +", "akpu": p]
        }
        expect("unlocked", keys("open +", "open +", "open +"), in: told)
        try device.lock()
        expect("locked", keys("heldForBiometry", "open +", "heldForBiometry"), in: told)
        try device.unlock(finger: 1)
        expect("a finger", keys("open +", "open +", "open +"), in: told)
        try device.lock(requirePasscode: true)
        expect("a lock that wants the passcode", keys("sealed", "open +", "sealed"), in: told)
        device.reboot()
        let rebooted = try Told(device, InspectorInterface.Watch.self)
        expect("booted", keys("sealed", "sealed", "sealed"), in: rebooted)
        try device.unlock(passcode: "1234")
        expect("the first passcode", keys("open +", "open +", "open +"), in: rebooted)
        try device.removePasscode("1234")
        expect("no passcode", keys("open +", "open +", "absent"), in: rebooted)
    }

    @Test("Who watches hears of items that come, change and go, and of what changes what can be opened")
    func revisions() throws {
        let told = try Told(device, InspectorInterface.Watch.self)
        var revision = told.all.last?.itemsRevision
        func expectChange(_ comment: Comment, _ body: () throws -> Void) rethrows {
            try body()
            let before = revision
            told.eventually(comment) { $0.last?.itemsRevision != before }
            revision = told.all.last?.itemsRevision
        }
        device.run { expectChange("added") { add(account("a").value("s")) } }
        device.run { expectChange("changed") { update(account("a"), [kSecValueData: Data("t".utf8)]) } }
        try expectChange("enrolled") { try device.enrollFinger() }
        try expectChange("unplugged") { try device.setSensorConnected(false) }
        try expectChange("locked") { try device.lock() }
        try expectChange("unlocked") { try device.unlock(passcode: "1234") }
        device.run { expectChange("deleted") { delete(account("a")) } }
    }

    // MARK: messages

    @Test("The messages between app, daemons and agent are told in their order, a call with its answer")
    func messages() throws {
        try adding(.biometryAny, kSecAttrAccessibleWhenUnlocked)
        let told = try Told(device, InspectorInterface.WatchMessages.self)
        device.present(.finger(1))
        #expect(device.run { secret(account("a")) } == "s")
        #expect(device.run { read(account("nobody")) } == errSecItemNotFound)
        told.eventually("the failed search") { told in
            told.flatMap(\.messages).contains { $0.outcome == "io.touchstone.Keychain.Failed" }
        }
        let messages = told.all.flatMap(\.messages)
        #expect(messages.map(\.sequence) == Array(1...messages.count))
        #expect(told.all.allSatisfy { $0.lost == 0 })
        func first(
            _ from: InspectorInterface.Party, _ to: InspectorInterface.Party, _ method: String, _ outcome: String?
        )
            throws -> InspectorInterface.Message
        {
            try #require(
                messages.first {
                    $0.from == from && $0.to == to && $0.method == "io.touchstone.\(method)" && $0.outcome == outcome
                }, "\(from) to \(to): \(method) \(outcome ?? "call")")
        }
        let search = try first(.app, .touchstoned, "Keychain.CopyMatching", nil)
        #expect(search.app == AppIdentifier(SimulatedDevice.applicationIdentifier))
        let unwrap = try first(.touchstoned, .enclave, "Enclave.UnwrapKeys", nil)
        let unwrapped = try first(.enclave, .touchstoned, "Enclave.UnwrapKeys", "ok")
        #expect(unwrapped.call == unwrap.call)
        #expect(unwrapped.app == nil)
        let shown = try first(.touchstoned, .agent, "Agent.Subscribe", "more")
        #expect(shown.call == nil)
        let finger = try first(.owner, .touchstoned, "Device.PresentFinger", nil)
        let matched = try first(.enclave, .touchstoned, "Enclave.WatchEvents", "more")
        let found = try first(.touchstoned, .app, "Keychain.CopyMatching", "ok")
        #expect(found.call == search.call)
        let order = [search, unwrap, unwrapped, shown, finger, found].map(\.sequence)
        #expect(order == order.sorted())
        #expect(matched.sequence < found.sequence)
        #expect(try #require(found.duration) > 0)
        #expect(messages.allSatisfy { $0.bytes > 10 })
    }

    @Test("Watching is no message, nor is what it makes touchstoned ask")
    func watchingIsNotWatched() throws {
        let told = try Told(device, InspectorInterface.WatchMessages.self)
        let keys = try Told(device, InspectorInterface.Watch.self)
        try device.run {
            _ = try enclaveKey([kSecAttrIsPermanent: true])
            _ = try items()
            try device.lock()
            keys.eventually("locked") { $0.last?.keys.first?.state == .heldForBiometry }
        }
        told.eventually("the lock") { $0.flatMap(\.messages).contains { $0.method.hasSuffix("Device.Lock") } }
        let methods = Set(told.all.flatMap(\.messages).map(\.method))
        #expect(
            !methods.contains {
                $0.contains("Inspector") || $0.contains("InspectItems") || $0.contains("InspectClassKeys")
            })
        // Of the private key whose blob is looked at.
        #expect(!methods.contains("io.touchstone.Enclave.UnwrapKeys"))
    }

    @Test("No value, name, reason or passcode is in what is told, and what a client makes up is no method")
    func nothingSecret() throws {
        let canary = "canary-7461"
        let told = try Told(device, InspectorInterface.WatchMessages.self)
        let keys = try Told(device, InspectorInterface.Watch.self)
        try device.run {
            let item = account(canary).value(canary).with(kSecAttrService, canary).with(kSecAttrLabel, canary)
            let guarded = item.with(kSecAttrAccessControl, try control(.userPresence))
            #expect(add(guarded) == errSecSuccess)
            device.present(.fallback, .passcode(canary), .finger(1), .passcode("1234"))
            #expect(secret(account(canary).with(kSecUseOperationPrompt, canary)) == canary)
        }
        let raw = try device.booted.withLock { try $0.connection() }
        try raw.send(Data(#"{"method":"io.touchstone.Keychain.\#(canary)","parameters":{}}"#.utf8))
        _ = try raw.receive()
        try raw.send(Data(#"{"method":"\#(canary)","parameters":{}}"#.utf8))
        _ = try raw.receive()
        told.eventually("the made-up methods") { $0.flatMap(\.messages).count { $0.method.isEmpty } >= 4 }
        let seen =
            try JSONOutput.encode(told.all.flatMap(\.messages)) + JSONOutput.encode(keys.all)
            + JSONOutput.encode(items())
        #expect(seen.count > 2000)
        #expect(!String(decoding: seen, as: UTF8.self).contains(canary))
        #expect(!String(decoding: seen, as: UTF8.self).contains(Data(canary.utf8).base64EncodedString().prefix(12)))
    }

    // MARK: who may look

    @Test("Another user is told nothing")
    func anotherUser() throws {
        let other = try device.booted.withLock { try $0.client(userID: getuid() + 1) }
        func refusal(_ body: () throws -> Void) -> DeviceInterface.RefusalReason? {
            do {
                try body()
                return nil
            } catch {
                return (error as? RemoteError)?.as(DeviceInterface.Refused.self)?.reason
            }
        }
        #expect(refusal { _ = try other.call(InspectorInterface.ListItems.self, .init()) } == .notOwner)
        #expect(refusal { try other.stream(InspectorInterface.Watch.self, Empty()) { _ in false } } == .notOwner)
        #expect(
            refusal { try other.stream(InspectorInterface.WatchMessages.self, Empty()) { _ in false } } == .notOwner)
    }

    @Test("A device that was not created as simulated answers NotSimulated to each, and to what drives it")
    func notSimulated() throws {
        let (storage, root) = (MemoryStorage(), MemoryRoot())
        try storage.replace(Enclave.create(isSimulated: false, biometryType: .touchID, root: root))
        let real = try BootedDevice(storage: storage, root: root, clock: ManualClock(), store: KeychainStore())
        defer { real.stop() }
        let client = try real.client()
        func isRefused(_ body: () throws -> Void) -> Bool {
            do {
                try body()
                return false
            } catch {
                return (error as? RemoteError)?.as(DeviceInterface.NotSimulated.self) != nil
            }
        }
        #expect(isRefused { _ = try client.call(InspectorInterface.ListItems.self, .init()) })
        #expect(isRefused { try client.stream(InspectorInterface.Watch.self, Empty()) { _ in false } })
        #expect(isRefused { try client.stream(InspectorInterface.WatchMessages.self, Empty()) { _ in false } })
        #expect(isRefused { _ = try client.call(DeviceInterface.AdvanceClock.self, .init(seconds: 60)) })
        for isConnected in [true, false] {
            #expect(
                isRefused {
                    _ = try client.call(DeviceInterface.SetSensorConnected.self, .init(isConnected: isConnected))
                })
        }
        #expect(try !client.call(DeviceInterface.GetStatus.self, Empty()).status.isSimulated)
    }

    @Test("A stream is one only with more, and there is an end to how many watch")
    func streams() throws {
        let client = try device.booted.withLock { try $0.client() }
        #expect(throws: RemoteError.self) { _ = try client.call(InspectorInterface.Watch.self, Empty()) }
        #expect(throws: RemoteError.self) { _ = try client.call(InspectorInterface.WatchMessages.self, Empty()) }
        let watchers = try (0..<16).map { _ in try Told(device, InspectorInterface.Watch.self) }
        let seventeenth = try Told(device, InspectorInterface.Watch.self)
        #expect(seventeenth.all.isEmpty)
        watchers[0].client.close()
        let limit = Date(timeIntervalSinceNow: 300)
        while try Told(device, InspectorInterface.Watch.self).all.isEmpty, Date() < limit {}
        #expect(Date() < limit, "a place is free again")
    }
}
