import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneTransport

@testable import TouchstoneTesting

/// Section 5.6 of the rules: what is in a backup, and where it opens.
@Suite(.timeLimit(.minutes(10))) struct BackupTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private let migratable: [(String, CFString)] = [
        ("ak", kSecAttrAccessibleWhenUnlocked), ("ck", kSecAttrAccessibleAfterFirstUnlock),
        ("dk", kSecAttrAccessibleAlways),
    ]
    private let thisDeviceOnly: [(String, CFString)] = [
        ("aku", kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
        ("cku", kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly),
        ("dku", kSecAttrAccessibleAlwaysThisDeviceOnly),
    ]

    private func addAll(_ classes: [(String, CFString)]) {
        for (name, accessible) in classes {
            #expect(add(account(name, [kSecAttrAccessible: accessible]).value("of \(name)")) == errSecSuccess)
        }
    }

    @Test("Threat 34: the log says that a backup was agreed to and made, and how many keys went") func logged() throws {
        device.run { addAll(migratable) }
        let wrong = OwnersBackup(passcode: "9999")
        let booted = device.booted.withLock { $0 }
        #expect(throws: (any Error).self) { try wrong.authorize(.export, on: booted) }
        let (records, _) = try device.backup()
        let other = try SimulatedDevice(passcode: "1234")
        _ = try other.restore(records)
        func told(_ device: SimulatedDevice) throws -> [String] {
            _ = try device.call(DeviceInterface.GetLogHead.self, Empty())
            return device.log.lines.compactMap(LogEntry.init(line:))
                .filter { $0.event.hasPrefix("backup") || $0.event == "passcode-rejected" }
                .map { "\($0.event) \($0.asked ?? "-") \($0.result) \($0.count ?? 0)" }
        }
        #expect(
            try told(device) == [
                "passcode-rejected export wrong 0", "backup-authorized export ok 0", "backup-exported - ok 3",
            ])
        #expect(try told(other) == ["backup-authorized import ok 0", "backup-imported - ok 3"])
    }

    // MARK: what is in it

    @Test("KC-29, KC-26: items of the classes that may move come back on another device, whole") func movesHouse()
        throws
    {
        let reference = try device.run {
            addAll(migratable)
            let item = account(
                "whole",
                [
                    kSecAttrService: "service", kSecAttrLabel: "Étiquette", kSecAttrGeneric: Data([0, 1, 255]),
                    kSecAttrCreator: 7, kSecReturnPersistentRef: true,
                ])
            #expect(add(account("empty")) == errSecSuccess)
            #expect(add(account("cloud", [kSecAttrSynchronizable: true]).value("of cloud")) == errSecSuccess)
            let web = internet([kSecAttrServer: "example.org", kSecAttrPort: 443]).value("of the web")
            #expect(add(web) == errSecSuccess)
            return try #require(addReturning(item.value("of whole")).result as? Data)
        }
        let created = try device.run { try attributes(account("whole"))["cdat"] as? Date }
        let (records, counts) = try device.backup()
        #expect(counts.exported == 7)
        #expect((counts.thisDeviceOnly, counts.excluded, counts.damaged) == (0, 0, 0))

        let other = try SimulatedDevice(passcode: "1234")
        other.advance(by: .hours(5))
        let restored = try other.restore(records)
        #expect(restored.added == 7)
        #expect((restored.replaced, restored.kept, restored.foreign, restored.damaged) == (0, 0, 0, 0))
        try other.run {
            for (name, _) in migratable { #expect(secret(account(name)) == "of \(name)") }
            #expect(secret(account("cloud", [kSecAttrSynchronizable: true])) == "of cloud")
            #expect(secret(internet([kSecAttrServer: "example.org"])) == "of the web")
            #expect(find(account("empty").attributes).status == errSecSuccess)
            #expect(secret([kSecValuePersistentRef: reference]) == "of whole")
            let whole = try attributes(account("whole", [kSecAttrService: "service"]))
            #expect(whole["labl"] as? String == "Étiquette")
            #expect(whole["gena"] as? Data == Data([0, 1, 255]))
            #expect(whole["crtr"] as? Int == 7)
            #expect(whole["cdat"] as? Date == created)
            #expect(add(account("whole", [kSecAttrService: "service"])) == errSecDuplicateItem)
            // The class came with it.
            try other.lock()
            #expect(read(account("ak")) == errSecInteractionNotAllowed)
            #expect(secret(account("ck")) == "of ck")
        }
    }

    @Test("KC-26: what wants the owner, or a passcode to be set, is left out, even while it is proven") func leftOut()
        throws
    {
        let device = device
        let (records, counts) = try device.run {
            for (name, flags) in [
                ("presence", SecAccessControlCreateFlags.userPresence), ("any", .biometryAny),
                ("set", .biometryCurrentSet), ("passcode", .devicePasscode),
            ] {
                #expect(add(account(name, [kSecAttrAccessControl: try control(flags)]).value("x")) == errSecSuccess)
            }
            let passcodeSet = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            #expect(add(account("akpu", [kSecAttrAccessible: passcodeSet]).value("of akpu")) == errSecSuccess)
            // An access control that asks for nothing is none.
            #expect(add(account("free", [kSecAttrAccessControl: try control([])]).value("of free")) == errSecSuccess)
            let context = LAContext()
            device.present(.finger(1))
            #expect(secret(account("presence", [kSecUseAuthenticationContext: context])) == "x")
            return try device.backup()
        }
        #expect((counts.exported, counts.excluded) == (1, 5))
        let other = try SimulatedDevice(passcode: "1234")
        #expect(try other.restore(records).added == 1)
        other.run {
            #expect(accounts(generic()) == ["free"])
            #expect(secret(account("free")) == "of free")
        }
    }

    @Test("KC-26, SE-11: a key of the enclave is in no backup, whatever its access control") func enclaveKeys() throws {
        let key = try device.run {
            for flags: SecAccessControlCreateFlags in [[], .privateKeyUsage, [.userPresence, .privateKeyUsage]] {
                _ = try enclaveKey([kSecAttrAccessControl: try control(flags, kSecAttrAccessibleAlways)])
            }
            addAll([("ak", kSecAttrAccessibleWhenUnlocked)])
            return try enclaveKey()
        }
        let (records, counts) = try device.backup()
        #expect((counts.exported, counts.excluded) == (1, 4))
        let other = try SimulatedDevice(passcode: "1234")
        #expect(try other.restore(records).added == 1)
        other.run {
            #expect(find([kSecClass: kSecClassKey]).status == errSecItemNotFound)
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Data() as CFData, nil) == nil)
        }
    }

    @Test("AT-14: a restored device has the app's items and not its key; with a new key the app goes on")
    func lostKey() throws {
        func tag() -> Attributes { [kSecClass: kSecClassKey, kSecAttrApplicationTag: Data("sign-in".utf8)] }
        try device.run {
            _ = try enclaveKey([kSecAttrApplicationTag: Data("sign-in".utf8)])
            #expect(find(tag()).status == errSecSuccess)
            add(account("who signs in").value("anna"))
        }
        let (records, _) = try device.backup()
        let other = try SimulatedDevice(passcode: "1234")
        _ = try other.restore(records)
        try other.run {
            #expect(secret(account("who signs in")) == "anna", "what tells the app that it had a key")
            #expect(find(tag()).status == errSecItemNotFound)
            let key = try enclaveKey([kSecAttrApplicationTag: Data("sign-in".utf8)])
            let message = Data("nonce".utf8) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
            #expect(find(tag()).status == errSecSuccess)
        }
    }

    @Test("KC-25: items of this device only open on the same root of trust, and say nothing to another")
    func boundToDevice() throws {
        device.run { addAll(thisDeviceOnly) }
        let (records, counts) = try device.backup()
        #expect((counts.exported, counts.thisDeviceOnly) == (3, 3))
        for (name, _) in thisDeviceOnly { #expect(records.range(of: Data(name.utf8)) == nil, "\(name)") }

        let other = try SimulatedDevice(passcode: "1234")
        let elsewhere = try other.restore(records)
        #expect((elsewhere.added, elsewhere.foreign, elsewhere.damaged) == (0, 3, 0))
        other.run { #expect(find(generic().all).status == errSecItemNotFound) }

        device.run { #expect(delete(generic()) == errSecSuccess) }
        #expect(try device.restore(records).added == 3)
        device.run {
            for (name, accessible) in thisDeviceOnly {
                #expect(secret(account(name, [kSecAttrAccessible: accessible])) == "of \(name)")
            }
        }
    }

    @Test("KC-25: they open there also with the passcode changed meanwhile, and under another backup's key")
    func otherKey() throws {
        device.run { addAll(thisDeviceOnly + migratable) }
        let (records, _) = try device.backup()
        device.run { #expect(delete(generic()) == errSecSuccess) }
        try device.changePasscode(from: "1234", to: "98765")
        let other = OwnersBackup(key: "another key of a backup, also 32", passcode: "98765")
        let counts = try device.restore(records, other)
        // What may move is under the key of its backup, and under nothing else.
        #expect((counts.added, counts.damaged, counts.foreign) == (3, 3, 0))
        device.run { #expect(accounts(generic()) == ["aku", "cku", "dku"]) }
    }

    @Test("No secret is in the records but under its key, and touchstoned never has that key") func noSecrets() throws {
        device.run { #expect(add(account("a").value("canary-of-the-secret")) == errSecSuccess) }
        let (records, _) = try device.backup()
        #expect(records.range(of: Data("canary-of-the-secret".utf8)) == nil)
        #expect(records.range(of: Data("canary-of-the-secret".utf8.prefix(8))) == nil)
    }

    // MARK: who may

    @Test("Without the passcode there is no backup; with it there is one, for whoever has its key") func wantsPasscode()
        throws
    {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let booted = device.booted.withLock { $0 }
        let backup = OwnersBackup()
        func page(_ session: String) throws -> BackupInterface.Export.Reply {
            try booted.owner.call(BackupInterface.Export.self, .init(session: session, after: nil))
        }
        #expect(refusal(BackupInterface.NoSuchSession.self) { try page(backup.session) } != nil)
        let wrong = OwnersBackup(passcode: "4321")
        #expect(
            refusal(DeviceInterface.PasscodeRejected.self) { try wrong.authorize(.export, on: booted) } != nil)
        #expect(refusal(BackupInterface.NoSuchSession.self) { try page(backup.session) } != nil)
        #expect(try booted.owner.call(DeviceInterface.GetStatus.self, Empty()).status.passcodeFailures == 1)
        try backup.authorize(.export, on: booted)
        for session in ["", "x", OwnersBackup(key: "another key of a backup, also 32").session] {
            #expect(refusal(BackupInterface.NoSuchSession.self) { try page(session) } != nil)
        }
        #expect(try page(backup.session).counts.exported == 1)
        // One direction is not the other.
        #expect(
            refusal(BackupInterface.NoSuchSession.self) {
                try booted.owner.call(
                    BackupInterface.Import.self,
                    .init(session: backup.session, offset: 0, records: Data(), replaces: true))
            } != nil)
        _ = try booted.owner.call(BackupInterface.End.self, .init(session: backup.session))
        #expect(refusal(BackupInterface.NoSuchSession.self) { try page(backup.session) } != nil)
    }

    @Test("A passcode that was sealed for one thing is good for no other, and once") func purposes() throws {
        let booted = device.booted.withLock { $0 }
        let backup = OwnersBackup()
        let nonce = try booted.owner.call(DeviceInterface.GetNonce.self, Empty()).nonce
        let sealed = try booted.seal(["1234", backup.key], for: .backup(.import), nonce: nonce)
        func authorize(_ direction: BackupDirection) throws {
            _ = try booted.owner.call(
                DeviceInterface.AuthorizeBackup.self, .init(direction: direction, passcode: sealed))
        }
        #expect(refusal(DeviceInterface.Refused.self) { try authorize(.export) }?.reason == .staleNonce)
        try authorize(.import)
        #expect(refusal(DeviceInterface.Refused.self) { try authorize(.import) }?.reason == .staleNonce)
    }

    @Test("A locked device, and one without a passcode, give no backup") func refused() throws {
        let bare = try SimulatedDevice()
        #expect(refusalOfSimulated { _ = try bare.backup() } == .passcodeNotSet)
        try device.lock()
        #expect(refusalOfSimulated { _ = try device.backup() } == .locked)
        try device.unlock(passcode: "1234")
        _ = try device.backup()
    }

    private func refusalOfSimulated(_ body: () throws -> Void) -> DeviceInterface.RefusalReason? {
        refusal(DeviceInterface.Refused.self, body)?.reason
    }

    @Test("The lock, a reboot and another backup end it") func ends() throws {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let backup = OwnersBackup()
        func page(_ after: Int64? = nil) throws -> BackupInterface.Export.Reply {
            try device.booted.withLock { $0 }.owner.call(
                BackupInterface.Export.self, .init(session: backup.session, after: after))
        }
        func isOver() -> Bool { refusal(BackupInterface.NoSuchSession.self) { try page() } != nil }
        try backup.authorize(.export, on: device.booted.withLock { $0 })
        _ = try page()
        try device.lock()
        // Unlocked again by a finger: what was agreed to before is over.
        #expect(try device.unlock(finger: 1))
        #expect(isOver())
        try backup.authorize(.export, on: device.booted.withLock { $0 })
        try OwnersBackup(key: "another key of a backup, also 32").authorize(.export, on: device.booted.withLock { $0 })
        #expect(isOver())
        try backup.authorize(.export, on: device.booted.withLock { $0 })
        device.reboot()
        try device.unlock(passcode: "1234")
        #expect(isOver())
    }

    @Test("Another user is refused, the owner and root are not") func notOwner() throws {
        let router = device.booted.withLock { $0 }.router
        func client(_ userID: UInt32) throws -> VarlinkClient {
            let peer = Peer(processID: getpid(), userID: userID, identify: { nil })
            return try LoopbackEndpoint(router: router, peer: peer).client()
        }
        let stranger = try client(getuid() == 12345 ? 54321 : 12345)
        let check = BackupInterface.Check.Parameters(after: nil, repairs: true)
        #expect(refusal(BackupInterface.NotOwner.self) { try stranger.call(BackupInterface.Check.self, check) } != nil)
        #expect(
            refusal(BackupInterface.NotOwner.self) {
                try stranger.call(BackupInterface.Export.self, .init(session: "", after: nil))
            } != nil)
        #expect(
            refusal(BackupInterface.NotOwner.self) {
                try stranger.call(
                    BackupInterface.Import.self, .init(session: "", offset: 0, records: Data(), replaces: true))
            } != nil)
        _ = try client(getuid()).call(BackupInterface.Check.self, check)
    }

    // MARK: what is there already

    @Test("What is there stays; with replaces the backup's takes its place; both say how many") func conflicts() throws
    {
        device.run {
            for name in ["same", "changed", "deleted"] { #expect(add(account(name).value("old")) == errSecSuccess) }
        }
        let (records, _) = try device.backup()
        device.run {
            #expect(update(account("changed"), [kSecValueData: Data("new".utf8)]) == errSecSuccess)
            #expect(delete(account("deleted")) == errSecSuccess)
        }
        let kept = try device.restore(records)
        #expect((kept.added, kept.kept, kept.replaced) == (1, 2, 0))
        device.run {
            #expect(secret(account("changed")) == "new")
            #expect(secret(account("deleted")) == "old")
        }
        let replaced = try device.restore(records, replaces: true)
        #expect((replaced.added, replaced.kept, replaced.replaced) == (0, 2, 1))
        device.run {
            #expect(secret(account("changed")) == "old")
            #expect(accounts(generic()) == ["same", "changed", "deleted"])
        }
        // Another item of the same primary key, under another reference.
        device.run {
            #expect(delete(account("same")) == errSecSuccess)
            #expect(add(account("same").value("again")) == errSecSuccess)
        }
        #expect(try device.restore(records).kept == 3)
        device.run { #expect(secret(account("same")) == "again") }
        #expect(try device.restore(records, replaces: true).replaced == 1)
        device.run { #expect(secret(account("same")) == "old") }
    }

    @Test("KC-31: an item that can never be opened again blocks no other") func goneItem() throws {
        device.run { #expect(add(account("a").value("of the backup")) == errSecSuccess) }
        let (records, _) = try device.backup()
        try device.run {
            #expect(delete(account("a")) == errSecSuccess)
            let set = try control(.biometryCurrentSet)
            #expect(add(account("a", [kSecAttrAccessControl: set]).value("of the finger")) == errSecSuccess)
        }
        #expect(try device.restore(records).kept == 1)
        try device.enrollFinger()
        #expect(try device.restore(records).added == 1)
        device.run { #expect(secret(account("a")) == "of the backup") }
    }

    // MARK: the stream

    @Test("Records may be cut anywhere, and given twice", arguments: [1, 7, 100, 1000]) func pieces(count: Int) throws {
        device.run {
            for name in ["a", "b", "c"] { #expect(add(account(name).value("of \(name)")) == errSecSuccess) }
        }
        let (records, _) = try device.backup()
        let other = try SimulatedDevice(passcode: "1234")
        // Cut short, as by a killed import.
        let first = try other.restore(records.prefix(records.count / 2), pieces: count, isKilled: true)
        #expect(first.added == 1)
        let second = try other.restore(records, pieces: count)
        #expect((second.added, second.kept) == (2, 1))
        other.run { for name in ["a", "b", "c"] { #expect(secret(account(name)) == "of \(name)") } }
        // A piece that is not the next one.
        let booted = other.booted.withLock { $0 }
        let backup = OwnersBackup()
        try backup.authorize(.import, on: booted)
        func give(_ offset: Int) throws {
            _ = try booted.owner.call(
                BackupInterface.Import.self,
                .init(session: backup.session, offset: offset, records: records, replaces: false))
        }
        #expect(refusal(BackupInterface.Malformed.self) { try give(count) } != nil)
        try give(0)
        try give(records.count)
    }

    @Test("Who has no session does not end an import that is under way") func foreignSession() throws {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let (records, _) = try device.backup()
        device.run { #expect(delete(account("a")) == errSecSuccess) }
        let booted = device.booted.withLock { $0 }
        let backup = OwnersBackup()
        try backup.authorize(.import, on: booted)
        func give(_ session: String, _ offset: Int, _ records: Data) throws -> BackupInterface.Import.Reply {
            try booted.owner.call(
                BackupInterface.Import.self,
                .init(session: session, offset: offset, records: records, replaces: false))
        }
        let half = records.count / 2
        #expect(try give(backup.session, 0, records.prefix(half)).counts.added == 0)
        #expect(refusal(BackupInterface.NoSuchSession.self) { try give("another", 0, records) } != nil)
        #expect(try give(backup.session, half, Data(records.dropFirst(half))).counts.added == 1)
        device.run { #expect(secret(account("a")) == "1") }
    }

    @Test("What is no record is refused, what is of no known kind left out, and neither does harm") func malformed()
        throws
    {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let (records, _) = try device.backup()
        let other = try SimulatedDevice(passcode: "1234")
        for head in [Data([0, 0, 0, 0]), Data([255, 255, 255, 255]), Data([1, 0, 64, 1])] {
            #expect(refusal(BackupInterface.Malformed.self) { try other.restore(head + records) } != nil)
        }
        #expect(try other.restore(Data([1, 0, 0, 0, 99]) + records).damaged == 1)
        other.run { #expect(secret(account("a")) == "1") }
        // Flipped bytes all over: never a crash, never another item than there was.
        let third = try SimulatedDevice(passcode: "1234")
        for index in stride(from: 0, to: records.count, by: 13) {
            var changed = records
            changed[index] ^= 1 << (index % 8)
            _ = try? third.restore(changed, replaces: true)
            third.run {
                let found = find(generic().all.attributes.data).result as? [[String: Any]] ?? []
                for item in found { #expect(item["v_Data"] as? Data == Data("1".utf8), "\(index)") }
                #expect(delete(generic()) == errSecSuccess || found.isEmpty)
            }
        }
    }

    @Test("A large keychain goes in pages, each of bounded size") func pages() throws {
        device.run {
            for index in 0..<300 { #expect(add(account("\(index)").value("of \(index)")) == errSecSuccess) }
            let large = String(repeating: "x", count: 600 << 10)
            for name in ["l", "m", "n"] { #expect(add(account(name).value(large)) == errSecSuccess) }
        }
        let booted = device.booted.withLock { $0 }
        let backup = OwnersBackup()
        try backup.authorize(.export, on: booted)
        var after: Int64?
        var pages = 0
        repeat {
            let page = try booted.owner.call(
                BackupInterface.Export.self, .init(session: backup.session, after: after))
            #expect(page.records.count < 2 << 20)
            #expect(page.total == (after == nil ? 303 : 0))
            pages += 1
            after = page.next
        } while after != nil
        #expect(pages >= 3)
        let (records, counts) = try device.backup()
        #expect(counts.exported == 303)
        let other = try SimulatedDevice(passcode: "1234")
        #expect(try other.restore(records, pieces: 256 << 10).added == 303)
        other.run { #expect(secret(account("299")) == "of 299") }
    }
}
