import Crypto
import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Which keys of items touchstoned keeps, and for how long.
@Suite(.timeLimit(.minutes(10))) struct OpenedKeysTests {
    private let keys = OpenedKeys()

    private func item(
        _ rowID: Int64?, version: UInt8 = 1, wrappedKey: UInt8 = 1, group: String = "group",
        protection: Accessibility = .whenUnlocked, flags: AccessControl.Flags = []
    ) throws -> OpenItem {
        let row = ItemRow(
            rowID: rowID, itemClass: .genericPassword, identifier: ItemIdentifier(bytes: Data(repeating: 7, count: 16)),
            version: Data(repeating: version, count: 16), accessibility: protection, identityTag: Data(),
            metadata: Data(), wrappedKey: Data(repeating: wrappedKey, count: 102), secret: nil, tags: [:])
        return OpenItem(
            row: row, attributes: [.accessGroup: .string(group)],
            control: try AccessControl(protection: protection, flags: flags), data: nil)
    }

    private func key(_ number: Int64) -> Data {
        Data((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 8))) | 1 })
    }

    private func keep(_ rowID: Int64, protection: Accessibility = .whenUnlocked) throws {
        keys.keep(SymmetricKey(data: key(rowID)), of: try item(rowID, protection: protection), since: keys.moment)
    }

    private func isKept(_ rowID: Int64, protection: Accessibility = .whenUnlocked) throws -> Bool {
        keys.key(of: try item(rowID, protection: protection)) == SymmetricKey(data: key(rowID))
    }

    @Test("A key that was kept is found for the same row, and for nothing that differs from it in anything")
    func sameRowOnly() throws {
        try keep(1)
        #expect(try isKept(1))
        #expect(keys.key(of: try item(2)) == nil)
        #expect(keys.key(of: try item(nil)) == nil)
        #expect(keys.key(of: try item(1, version: 2)) == nil)
        #expect(keys.key(of: try item(1, wrappedKey: 2)) == nil)
        #expect(keys.key(of: try item(1, group: "another")) == nil)
        #expect(keys.key(of: try item(1, protection: .afterFirstUnlock)) == nil)
        #expect(keys.key(of: try item(1, flags: .userPresence)) == nil)
    }

    @Test("The 4,097th key takes the place of the oldest, and of no other") func maximum() throws {
        for rowID in 1...Int64(OpenedKeys.maximum) { try keep(rowID) }
        #expect(try isKept(1))
        try keep(4097)
        #expect(keys.count == OpenedKeys.maximum)
        #expect(try !isKept(1))
        #expect(try isKept(2) && isKept(4096) && isKept(4097))
        try keep(4098)
        #expect(try !isKept(2) && isKept(3))
    }

    @Test("AC-10: a key of an item with an access control is never kept, nor one that belongs to no row yet")
    func neverGuarded() throws {
        for flags in [AccessControl.Flags.userPresence, .biometryAny, .devicePasscode, .applicationPassword] {
            keys.keep(SymmetricKey(data: key(1)), of: try item(1, flags: flags), since: keys.moment)
        }
        keys.keep(SymmetricKey(data: key(1)), of: try item(nil), since: keys.moment)
        #expect(keys.count == 0)
        #expect(keys.isWiped)
        keys.keep(SymmetricKey(data: key(1)), of: try item(1), since: keys.moment)
        #expect(keys.count == 1)
    }

    @Test("KC-20: a lock wipes the keys of the classes that it shuts, out of memory too, and leaves the others")
    func lock() throws {
        try keep(1)
        try keep(2, protection: .afterFirstUnlock)
        keys.forgetAll(but: [.afterFirstUnlock, .always])
        #expect(try !isKept(1))
        #expect(try isKept(2, protection: .afterFirstUnlock))
        // The control: what is kept is seen there.
        #expect(!keys.isWiped)
        keys.forgetAll()
        #expect(keys.count == 0)
        #expect(keys.isWiped)
    }

    @Test("Once class keys were made anew no key is kept, so that each item is wrapped anew when it is read")
    func generation() throws {
        keys.forgetAll(but: [.whenUnlocked], generation: 1)
        try keep(1)
        keys.forgetAll(but: [.whenUnlocked], generation: 1)
        #expect(try isKept(1))
        keys.forgetAll(but: [.whenUnlocked], generation: 2)
        #expect(keys.isWiped)
    }

    @Test("A row that was changed or deleted has its key wiped; the others keep theirs") func change() throws {
        try keep(1)
        try keep(2)
        keys.forget([2, 3])
        #expect(try isKept(1) && !isKept(2))
        keys.forget([1])
        #expect(keys.isWiped)
        // A place that became free is used again.
        try keep(4)
        #expect(try isKept(4))
    }

    @Test("What was opened before a lock, or before a change, is not kept after it") func late() throws {
        let beforeLock = keys.moment
        keys.forgetAll()
        keys.keep(SymmetricKey(data: key(1)), of: try item(1), since: beforeLock)
        #expect(keys.isWiped)
        let beforeChange = keys.moment
        keys.forget([1])
        keys.keep(SymmetricKey(data: key(1)), of: try item(1), since: beforeChange)
        #expect(keys.isWiped)
        keys.keep(SymmetricKey(data: key(1)), of: try item(1), since: keys.moment)
        #expect(try isKept(1))
    }

    @Test("A key of another length is not kept") func length() throws {
        keys.keep(SymmetricKey(data: Data(repeating: 1, count: 31)), of: try item(1), since: keys.moment)
        #expect(keys.isWiped && keys.count == 0)
    }
}

/// Keys for what is still to be written.
@Suite(.timeLimit(.minutes(10))) struct SpareKeysTests {
    private let spares = SpareKeys(maximumKinds: 64, maximumOfKind: 16)

    private func kind(_ group: AccessGroup = "group", _ flags: AccessControl.Flags = []) throws -> SpareKeys.Kind? {
        SpareKeys.Kind(group, .genericPassword, try AccessControl(protection: .whenUnlocked, flags: flags))
    }

    private func keys(_ count: Int) -> [WrappedItemKey] { (0..<count).map { _ in WrappedItemKey(.genericPassword) } }

    @Test("Who adds one item asks for no more; who adds more asks for 4, 8 and then 16 at a time") func count() throws {
        let kind = try #require(try kind())
        #expect((0..<5).map { _ in spares.ask(for: kind).count } == [0, 4, 8, 16, 16])
    }

    @Test("Each spare key is given once, to its own group alone, and never more are kept than one call brings")
    func once() throws {
        let (kind, other) = (try #require(try kind()), try #require(try self.kind("another")))
        let moment = spares.ask(for: kind).moment
        spares.add(keys(2), kind, since: moment)
        #expect(spares.take(other) == nil)
        let taken = [spares.take(kind), spares.take(kind)].compactMap { $0?.binding.identifier }
        #expect(Set(taken).count == 2)
        #expect(spares.take(kind) == nil)
        for _ in 0..<3 { spares.add(keys(10), kind, since: moment) }
        #expect(spares.count == 16)
    }

    @Test("Where the class keys may have changed all spare keys go, and those that were on their way are not kept")
    func change() throws {
        let kind = try #require(try kind())
        let moment = spares.ask(for: kind).moment
        spares.add(keys(3), kind, since: moment)
        spares.forgetAll()
        #expect(spares.take(kind) == nil)
        _ = spares.ask(for: kind)
        spares.add(keys(3), kind, since: moment)
        #expect(spares.count == 0)
    }

    @Test("AC-10: an item with any flag in its access control has no spare keys") func flags() throws {
        for flags in [AccessControl.Flags.userPresence, .biometryCurrentSet, .applicationPassword, .privateKeyUsage] {
            #expect(try kind("group", flags) == nil)
        }
    }

    @Test("A spare key of one item is no other's, and of all items together only so many are kept") func items() throws
    {
        let spares = SpareKeys(maximumKinds: 4096, maximumOfKind: 4)
        let control = try AccessControl(protection: .whenUnlocked, flags: [])
        func kind(_ identifier: ItemIdentifier) throws -> SpareKeys.Kind {
            try #require(SpareKeys.Kind("group", .genericPassword, control, of: identifier))
        }
        let first = try kind(.random())
        #expect((0..<4).map { _ in spares.ask(for: first).count } == [0, 4, 4, 4])
        spares.add(keys(1), first, since: spares.ask(for: first).moment)
        #expect(try spares.take(kind(.random())) == nil)
        for _ in 0..<300 {
            let kind = try kind(.random())
            spares.add(keys(4), kind, since: spares.ask(for: kind).moment)
        }
        #expect(spares.count == SpareKeys.maximum)
        #expect(spares.take(first) != nil)
        #expect(spares.count == SpareKeys.maximum - 1)
    }

    @Test("Of many groups the 65th takes the room of the others") func kinds() throws {
        for number in 0..<spares.maximumKinds {
            let kind = try #require(try kind(AccessGroup("group \(number)")))
            spares.add(keys(1), kind, since: spares.ask(for: kind).moment)
        }
        #expect(spares.count == spares.maximumKinds)
        let kind = try #require(try kind("last"))
        spares.add(keys(1), kind, since: spares.ask(for: kind).moment)
        #expect(spares.count == 1)
    }
}

/// How often a device asks the enclave for an item's key.
@Suite(.timeLimit(.minutes(10))) struct OpenedKeyCallsTests {
    private let device: SimulatedDevice
    private let told = Told()

    private final class Told: Sendable {
        let messages = Mutex<[InspectorInterface.Message]>([])
        let marks = Atomic<Int>(0)
    }

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try watch()
        device.run { #expect(add(account("a").value("secret")) == errSecSuccess) }
        // Nothing is kept of what was added.
        try device.lock()
        try device.unlock(passcode: "1234")
    }

    /// Has the messages told that the device's daemons exchange until it restarts.
    private func watch() throws {
        let (client, told) = (try device.booted.withLock { try $0.client() }, told)
        let isReady = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? client.stream(InspectorInterface.WatchMessages.self, Empty()) { reply in
                told.messages.withLock { $0 += reply.messages }
                isReady.signal()
                return true
            }
        }
        isReady.wait()
    }

    private func calls(_ method: String) -> Int {
        told.messages.withLock { messages in
            messages.count {
                $0.to == .enclave && $0.outcome == nil && $0.method == "io.touchstone.Enclave.\(method)"
            }
        }
    }

    /// How often the enclave is asked for keys while `body` runs.
    private func unwraps(_ body: () throws -> Void) throws -> Int { try count("UnwrapKeys", body) }

    /// How often the enclave is asked to wrap a key while `body` runs.
    private func wraps(_ body: () throws -> Void) throws -> Int { try count("WrapKey", body) }

    private func count(_ method: String, _ body: () throws -> Void) throws -> Int {
        // A call that nothing else makes here is told behind all that came before it.
        func settle() throws {
            let count = told.marks.add(1, ordering: .relaxed).newValue
            _ = try device.call(DeviceInterface.ListFaceIDPermissions.self, Empty())
            eventually { calls("ListFaceIDPermissions") >= count }
        }
        try settle()
        let before = calls(method)
        try device.run(body)
        try settle()
        return calls(method) - before
    }

    private func addMany(_ numbers: Range<Int>, _ attributes: [CFString: Any] = [:]) {
        for number in numbers {
            #expect(add(account("n\(number)", attributes).value("secret \(number)")) == errSecSuccess)
        }
    }

    @Test(
        "Who adds many items asks the enclave for several keys at once, and each item opens after a restart (DEC-581)")
    func spares() throws {
        // One alone, then with 4, 8 and 16 more.
        #expect(try wraps { addMany(0..<1) } == 1)
        #expect(try wraps { addMany(1..<32) } == 3)
        device.reboot()
        try device.unlock(passcode: "1234")
        device.run { for number in 0..<32 { #expect(secret(account("n\(number)")) == "secret \(number)") } }
    }

    @Test(
        "Who changes an item again and again asks for several keys at once, and it opens after a restart as it was last"
    )
    func sparesOfItem() throws {
        func change(_ numbers: Range<Int>) {
            for number in numbers {
                #expect(update(account("a"), [kSecValueData: Data("\(number)".utf8)]) == errSecSuccess)
            }
        }
        // One alone, then with 4 more.
        #expect(try wraps { change(0..<1) } == 1)
        #expect(try wraps { change(1..<6) } == 1)
        #expect(try wraps { change(6..<7) } == 1)
        device.reboot()
        try device.unlock(passcode: "1234")
        device.run { #expect(secret(account("a")) == "6") }
    }

    @Test("KC-20: with spare keys a locked device adds nothing; once it is unlocked the enclave is asked again")
    func lockedSpares() throws {
        device.run { addMany(0..<3) }
        #expect(try wraps { addMany(3..<4) } == 0)
        try device.lock()
        device.run { #expect(add(account("locked").value("x")) == errSecInteractionNotAllowed) }
        try device.unlock(passcode: "1234")
        #expect(try wraps { addMany(4..<5) } == 1)
    }

    @Test("AC-10: an item with an access control has its key wrapped when it is added, each time")
    func guardedSpares() throws {
        let control = try control(.userPresence)
        #expect(try wraps { addMany(0..<8, [kSecAttrAccessControl: control]) } == 8)
        // Its twin: items without.
        #expect(try wraps { addMany(8..<16) } == 3)
    }

    private func reads(_ name: String = "a", _ expected: String = "secret") throws -> Int {
        try unwraps { #expect(secret(account(name)) == expected) }
    }

    @Test("The first read asks the enclave, the second does not") func secondRead() throws {
        #expect(try reads() == 1)
        #expect(try reads() == 0)
        let calls = try unwraps { #expect(accounts(account("a")) == ["a"]) }
        #expect(calls == 0)
    }

    @Test(
        "KC-20, KC-22: a locked device refuses a read although its key was there; the first after it is unlocked asks anew"
    )
    func lock() throws {
        device.run {
            #expect(
                add(account("c", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]).value("secret"))
                    == errSecSuccess)
        }
        #expect(try reads() == 1)
        #expect(try reads("c") == 0)
        try device.lock()
        let calls = try unwraps {
            #expect(read(account("a")) == errSecInteractionNotAllowed)
            #expect(secret(account("c")) == "secret")
        }
        #expect(calls == 0)
        try device.unlock(passcode: "1234")
        #expect(try reads("c") == 0)
        #expect(try reads() == 1)
        #expect(try reads() == 0)
    }

    @Test(
        "An item that an app has just added or changed is read as it is now, and the enclave is not asked for its key")
    func change() throws {
        let calls = try unwraps {
            #expect(update(account("a"), [kSecValueData: Data("other".utf8)]) == errSecSuccess)
        }
        // The old value is not opened.
        #expect(calls == 0)
        #expect(try reads("a", "other") == 0)
        // Its tags are others, so that its row is made anew.
        let again = try unwraps {
            #expect(update(account("a"), [kSecAttrLabel: "name", kSecValueData: Data("more".utf8)]) == errSecSuccess)
        }
        #expect(again == 0)
        #expect(try reads("a", "more") == 0)
        device.run {
            #expect(delete(account("a")) == errSecSuccess)
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(add(account("a").value("third")) == errSecSuccess)
        }
        #expect(try reads("a", "third") == 0)
        try device.lock()
        try device.unlock(passcode: "1234")
        #expect(try reads("a", "third") == 1)
    }

    @Test("A write that fails leaves no key, and the item is read as it was") func failedWrite() throws {
        device.run {
            #expect(add(account("b").value("second")) == errSecSuccess)
            #expect(add(account("b").value("third")) == errSecDuplicateItem)
            #expect(
                update(account("b"), [kSecAttrAccount: "a", kSecValueData: Data("x".utf8)]) == errSecDuplicateItem)
        }
        #expect(try reads("b", "second") == 0)
        #expect(try reads() == 1)
    }

    @Test("After a restart every item is asked for again") func restart() throws {
        #expect(try reads() == 1)
        device.reboot()
        try device.unlock(passcode: "1234")
        try watch()
        #expect(try reads() == 1)
        #expect(try reads() == 0)
    }

    @Test("Another passcode forgets every key: the item is wrapped anew, and its key is kept once its row has that")
    func passcode() throws {
        #expect(try reads() == 1)
        try device.changePasscode(from: "1234", to: "5678")
        #expect(try reads() == 1)
        device.booted.withLock { $0.settleRewrapping() }
        #expect(try reads() == 1)
        #expect(try reads() == 0)
    }

    @Test("AC-10: an item with an access control is asked for each time, with a context that has proven the owner too")
    func guarded() throws {
        let control = try control(.userPresence)
        device.run { #expect(add(account("g", [kSecAttrAccessControl: control]).value("secret")) == errSecSuccess) }
        let context = device.run { LAContext() }
        let query = account("g", [kSecUseAuthenticationContext: context])
        device.present(.finger(1))
        for _ in 0..<2 {
            let calls = try unwraps { #expect(secret(query) == "secret") }
            #expect(calls > 0)
        }
        // Its twin: an item without.
        #expect(try reads() == 1)
        #expect(try reads() == 0)
    }
}
