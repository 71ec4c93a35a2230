import Foundation
import GRDB
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveHost
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneEnclave
@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// AC-10: items with an access control are bound to the enclave's state: an older one that is put back, or one that is taken away, is noticed.
///
/// Those without one are not; each attack is made on such an item too, where it succeeds.
@Suite(.timeLimit(.minutes(10))) struct AlteredRowsTests {
    private let running = Running()

    /// The device, which can be booted anew.
    private final class Running {
        var device: FileDevice?
        /// Of the last check.
        var look = ""
    }

    private var device: FileDevice {
        guard let device = running.device else { preconditionFailure("between two boots there is none") }
        return device
    }
    private let queue: DatabaseQueue

    /// `errSecDecode`.
    private static let refused = OSStatus(-26275)

    init() throws {
        let device = try FileDevice()
        running.device = device
        queue = try device.tamperer()
        try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        try device.run {
            #expect(try add(guarded("guarded").value("the first")) == errSecSuccess)
            try addApart(guarded("other").value("the first"), from: group(of: row("guarded")))
            #expect(add(account("plain").value("the first")) == errSecSuccess)
        }
    }

    private func guarded(_ name: String) throws -> Attributes {
        account(name, [kSecAttrAccessControl: try control(.userPresence)])
    }

    /// What is altered shuts all items of its group: by chance, another one may be in it.
    private func group(of row: RawRow) -> UInt8? { row.bytes("identifier").first }

    /// Adds an item that is in another group.
    private func addApart(_ item: Attributes, from group: UInt8?) throws {
        let name = item[kSecAttrAccount] as? String ?? ""
        while true {
            #expect(add(item) == errSecSuccess)
            let newest = try queue.read {
                try Data.fetchOne($0, sql: "SELECT identifier FROM item ORDER BY rowid DESC LIMIT 1")
            }
            if newest?.first != group { return }
            #expect(delete(account(name)) == errSecSuccess)
        }
    }

    private func reboot() throws {
        let files = device.files
        running.device = nil
        running.device = try FileDevice(files)
        try device.unlock()
    }

    private struct Found: Equatable {
        var groups = 0
        var rows: [BackupInterface.AlteredRow] = []
        var damaged = 0
    }

    private func check(repairs: Bool = false) throws -> Found {
        var found = Found()
        var after: Int64?
        repeat {
            let reply = try device.device.owner.call(BackupInterface.Check.self, .init(after: after, repairs: repairs))
            found.rows += reply.altered ?? []
            found.groups += reply.alteredGroups ?? 0
            found.damaged += reply.damaged.count
            if let look = reply.look { running.look = look }
            after = reply.next
        } while after != nil
        return found
    }

    private func accept(_ passcode: String, look: String? = nil) throws {
        let look = look ?? running.look
        let nonce = try device.device.owner.call(DeviceInterface.GetNonce.self, Empty()).nonce
        let sealed = try device.device.seal([passcode], for: .acceptItems(look: look), nonce: nonce)
        _ = try device.device.owner.call(DeviceInterface.AcceptItems.self, .init(look: look, passcode: sealed))
    }

    /// Reads with the owner at hand, who has to be asked this often.
    private func readWithOwner(_ name: String, prompts: Int) -> String? {
        let before = device.person.prompts.count
        device.person.present(Array(repeating: .match, count: prompts))
        let text = secret(account(name))
        #expect(device.person.prompts.count - before == prompts, "\(name)")
        return text
    }

    private func row(_ name: String) throws -> RawRow {
        // In the order of their making.
        try RawRow(["guarded": 0, "other": 1, "plain": 2][name] ?? 0, in: queue)
    }

    private func change(_ name: String, to text: String) {
        if name != "plain" { device.person.present([.match]) }
        #expect(update(account(name), [kSecValueData: Data(text.utf8)]) == errSecSuccess)
    }

    @Test("AC-10: nothing is altered by adding, reading, changing, deleting, a new passcode and reboots")
    func honest() throws {
        for number in 0..<3 {
            try device.run { () throws in
                #expect(readWithOwner("guarded", prompts: 1) == (number == 0 ? "the first" : "change \(number - 1)"))
                change("guarded", to: "change \(number)")
                device.person.present([.match])
                #expect(update(account("other"), [kSecAttrLabel: "label \(number)"]) == errSecSuccess)
                #expect(try add(guarded("more \(number)").value("more")) == errSecSuccess)
                if number > 0 { #expect(delete(account("more \(number - 1)")) == errSecSuccess) }
                #expect(try check().groups == 0)
            }
            try reboot()
        }
        try device.run { () throws in
            #expect(delete(account("other")) == errSecSuccess)
            #expect(try check() == Found())
            #expect(delete(generic()) == errSecSuccess)
        }
        try reboot()
        #expect(try check() == Found())
    }

    @Test(
        "AC-10: a whole older row that is put back is refused without a prompt, also after a reboot, and found by a check",
        arguments: [false, true])
    func olderRow(isRebooted: Bool) throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            #expect(readWithOwner("guarded", prompts: 1) == "the second")
            try old.put(into: queue)
        }
        if isRebooted { try reboot() }
        device.run {
            for query in [account("guarded"), account("guarded").silent] { #expect(read(query) == Self.refused) }
            #expect(device.person.prompts.count == (isRebooted ? 0 : 2))
            #expect(readWithOwner("other", prompts: 1) == "the first")
        }
        let found = try check()
        #expect(found.groups == 1 && found.damaged == 0)
        #expect(found.rows.map(\.app) == [FileDevice.app.identifier] && found.rows.map(\.row) == [1])
    }

    @Test("An older row of an item without an access control is not noticed") func olderPlainRow() throws {
        try device.run {
            let old = try row("plain")
            change("plain", to: "the second")
            #expect(secret(account("plain")) == "the second")
            try old.put(into: queue)
            #expect(secret(account("plain")) == "the first")
        }
        #expect(try check() == Found())
    }

    @Test("AC-10: a row that is taken away is found by a check, and one without an access control is not")
    func takenAway() throws {
        try queue.write { try $0.execute(sql: "DELETE FROM item WHERE rowid = 3") }
        #expect(try check() == Found())
        try queue.write { try $0.execute(sql: "DELETE FROM item WHERE rowid = 1") }
        device.run { #expect(read(account("guarded")) == errSecItemNotFound) }
        #expect(try check() == Found(groups: 1))
        try reboot()
        #expect(try check() == Found(groups: 1))
    }

    @Test("AC-10: an item that an attacker deletes and an app adds again is read, and a check finds the change")
    func deletedAndAddedAnew() throws {
        let group = try group(of: row("guarded"))
        try queue.write { try $0.execute(sql: "DELETE FROM item WHERE rowid = 1") }
        try device.run {
            try addApart(guarded("guarded").value("anew"), from: group)
            #expect(readWithOwner("guarded", prompts: 1) == "anew")
        }
        #expect(try check().groups == 1)
        try reboot()
        #expect(try check().groups == 1)
    }

    @Test("PC-22: the passcode alone accepts the rows as they are; then they open, also after a reboot")
    func accepted() throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            try old.put(into: queue)
            #expect(read(account("guarded")) == Self.refused)
        }
        #expect(try check().groups == 1)
        let error = #expect(throws: RemoteError.self) { try accept("4321") }
        #expect(error?.as(DeviceInterface.PasscodeRejected.self) != nil)
        #expect(try check().groups == 1)
        try accept("1234")
        #expect(try check() == Found())
        device.run { #expect(readWithOwner("guarded", prompts: 1) == "the first") }
        try reboot()
        #expect(try check() == Found())
        device.run { #expect(readWithOwner("guarded", prompts: 1) == "the first") }
    }

    @Test("PC-22: a row that is altered after the look at which the owner was shown it is not accepted")
    func alteredAfterTheLook() throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            #expect(try check().groups == 0)
            try old.put(into: queue)
            try accept("1234")
            #expect(read(account("guarded")) == Self.refused)
        }
        #expect(try check().groups == 1)
    }

    @Test(
        "PC-22: after another look, which another program may have asked for, what the owner was shown is not accepted")
    func anotherLook() throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            #expect(try check().groups == 0)
            let shown = running.look
            try old.put(into: queue)
            #expect(try check().groups == 1)
            let error = #expect(throws: RemoteError.self) { try accept("1234", look: shown) }
            #expect(error?.as(DeviceInterface.Refused.self)?.reason == .staleNonce)
            #expect(read(account("guarded")) == Self.refused)
        }
        #expect(try check().groups == 1)
    }

    @Test("AC-10: an app that deletes the older row and adds its item again goes on; the check still tells")
    func appGoesOn() throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            try old.put(into: queue)
            #expect(try add(guarded("guarded").value("third")) == errSecDuplicateItem)
            #expect(delete(account("guarded")) == errSecSuccess)
            try addApart(guarded("guarded").value("third"), from: group(of: old))
            #expect(readWithOwner("guarded", prompts: 1) == "third")
        }
        #expect(try check().groups == 1)
        try accept("1234")
        #expect(try check() == Found())
    }

    @Test(
        "AC-10: taking away the mark that a row has an access control is noticed as taking away the row; a repair mends it"
    )
    func mark() throws {
        try queue.write { try $0.execute(sql: "UPDATE item SET guarded = NULL WHERE rowid = 1") }
        try reboot()
        device.run { #expect(read(account("guarded")) == Self.refused) }
        #expect(try check(repairs: true).groups == 1)
        #expect(try check() == Found())
        device.run { #expect(readWithOwner("guarded", prompts: 1) == "the first") }
    }

    @Test(
        "KC-16, AC-10: an altered item is in no other's way; alone it is refused, and so is a change of it and others")
    func inNoOthersWay() throws {
        try device.run {
            let old = try row("guarded")
            change("guarded", to: "the second")
            try old.put(into: queue)
            device.person.present([.match])
            #expect(accounts(generic()) == ["other", "plain"])
            let prompts = device.person.prompts.count
            #expect(read(account("guarded")) == Self.refused)
            #expect(find(account("guarded").all.attributes).status == Self.refused)
            #expect(update(generic(), [kSecAttrLabel: "changed"]) == Self.refused)
            #expect(try attributes(account("plain"))["labl"] == nil)
            #expect(device.person.prompts.count == prompts)
        }
    }

    @Test(
        "AC-10: a mark that another program gives an item without an access control is noticed; a repair takes it away")
    func surplusMark() throws {
        try queue.write { try $0.execute(sql: "UPDATE item SET guarded = x'01' WHERE rowid = 3") }
        try reboot()
        #expect(try check().groups == 1)
        #expect(try check(repairs: true).groups == 1)
        for _ in 0..<2 {
            #expect(try check() == Found())
            device.run { #expect(secret(account("plain")) == "the first") }
            try reboot()
        }
    }

    @Test("AC-10: after a repair of wrong marks and a damaged item at once, every look finds nothing altered")
    func repairedAtOnce() throws {
        let row = try row("other")
        var bytes = row.bytes("wrappedKey")
        bytes[bytes.count - 1] ^= 1
        try queue.write {
            try $0.execute(sql: "UPDATE item SET guarded = CASE rowid WHEN 3 THEN x'01' END WHERE rowid IN (1, 3)")
            try $0.execute(
                sql: "UPDATE item SET wrappedKey = ? WHERE identifier = ?",
                arguments: [bytes, row.bytes("identifier")])
        }
        #expect(try check(repairs: true).groups >= 1)
        for _ in 0..<2 {
            #expect(try check() == Found())
            try reboot()
        }
        device.run {
            #expect(readWithOwner("guarded", prompts: 1) == "the first")
            #expect(read(account("other")) == errSecItemNotFound)
            #expect(secret(account("plain")) == "the first")
        }
    }

    @Test("AC-10: rows that cannot be read at a boot are not taken for rows that are not there") func unreadable()
        throws
    {
        // All of it in the one file.
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        let pages = try queue.read {
            try Int.fetchAll($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name IN ('item', 'item_guarded')")
        }
        #expect(pages.count == 2)
        // A power cut: what the last change was before may be there still.
        device.device.halt()
        let files = device.files
        let database = device.database
        running.device = nil
        let whole = try Data(contentsOf: database)
        var damaged = whole
        for page in pages { damaged.replaceSubrange((page - 1) * 4096..<page * 4096, with: Data(count: 4096)) }
        try damaged.write(to: database)
        running.device = try FileDevice(files)
        try device.unlock()
        device.device.halt()
        running.device = nil
        try whole.write(to: database)
        running.device = try FileDevice(files)
        try device.unlock()
        #expect(try check() == Found())
        device.run {
            for name in ["guarded", "other"] { #expect(readWithOwner(name, prompts: 1) == "the first") }
        }
    }

    @Test("AC-10: rows that a repair puts aside are no alteration") func putAside() throws {
        let row = try row("guarded")
        var bytes = row.bytes("wrappedKey")
        bytes[bytes.count - 1] ^= 1
        try queue.write {
            try $0.execute(sql: "UPDATE item SET wrappedKey = ? WHERE rowid = 1", arguments: [bytes])
        }
        #expect(try check(repairs: true) == Found(damaged: 1))
        #expect(try check() == Found())
        try reboot()
        #expect(try check() == Found())
    }
}

/// AC-10: what a device had before there was such a record is taken as it is, once.
@Suite(.timeLimit(.minutes(10))) struct FirstRecordTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func groups() throws -> Int? {
        let endpoint = device.run { DeviceEndpoint.current() }
        return try endpoint.client().call(BackupInterface.Check.self, .init(after: nil, repairs: false)).alteredGroups
    }

    /// As a version before left it.
    private func forget() throws {
        var enclave = try Enclave(stateFile: device.storage.load(), root: device.root, now: 0)
        #expect(enclave.state.items != nil)
        enclave.state.items = nil
        try device.store.write { try $0.database.execute(sql: "UPDATE item SET guarded = NULL") }
        try device.storage.replace(enclave.stateFile())
        device.crash()
    }

    private var isRecorded: Bool {
        get throws { try Enclave(stateFile: device.storage.load(), root: device.root, now: 0).state.items != nil }
    }

    @Test("AC-10: after an upgrade the first unlock records the rows that are there; from then on they are bound")
    func upgrade() throws {
        try device.run {
            let guarded = account("guarded", [kSecAttrAccessControl: try control(.biometryAny)])
            #expect(add(guarded.value("guarded")) == errSecSuccess)
            #expect(add(account("plain").value("plain")) == errSecSuccess)
            try forget()
            #expect(try !isRecorded, "which rows are guarded is not known while they are locked")
            try device.unlock(passcode: "1234")
            #expect(try isRecorded)
            let marked = try device.store.inspect {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM item WHERE guarded IS NOT NULL")
            }
            #expect(marked == 1)
            #expect(try groups() == nil)
            device.present(.finger(1))
            #expect(secret(account("guarded")) == "guarded")
            // As by another program: what the store writes itself is recorded.
            try device.store.write { try $0.database.execute(sql: "UPDATE item SET guarded = NULL") }
            #expect(try groups() == 1)
            device.crash()
            try device.unlock(passcode: "1234")
            #expect(read(account("guarded")) == OSStatus(-26275))
            #expect(
                device.refusals.last
                    == "touchstone: SecItemCopyMatching -26275: biometryAny, and the keychain's file was altered by another program. Try: touchstone keychain check"
            )
            let endpoint = device.run { DeviceEndpoint.current() }
            _ = try endpoint.client().call(DeviceInterface.GetLogHead.self, Empty())
            let told = device.log.lines.filter { $0.contains("keychainAltered") }
            #expect(told.count == 1, "by the name of the app, and with nothing of the item")
            #expect(!told.joined().contains("guarded"))
        }
    }

    @Test("AC-10: a lock amid the first record leaves nothing recorded; the next unlock records all of it")
    func lockedMeanwhile() throws {
        func marked() throws -> Int? {
            try device.store.inspect {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM item WHERE guarded IS NOT NULL")
            }
        }
        try device.run {
            for name in ["first", "second", "third"] {
                let guarded = account(name, [kSecAttrAccessControl: try control(.biometryAny)])
                // So large that each is looked at in a turn of its own.
                #expect(add(guarded.with(kSecValueData, Data(count: (1 << 20) + 1))) == errSecSuccess)
            }
            try forget()
            let isFirst = Mutex(true)
            // A connection of its own: on the device's the unlock is under way.
            let owner = try device.booted.withLock { $0 }.client()
            device.store.observe {
                let locks = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if locks { #expect(throws: Never.self) { try owner.call(DeviceInterface.Lock.self, .init()) } }
            }
            try device.unlock(passcode: "1234")
            #expect(try marked() == 1)
            #expect(try !isRecorded)
            try device.unlock(passcode: "1234")
            #expect(try marked() == 3)
            #expect(try isRecorded)
            #expect(try groups() == nil)
        }
    }

    @Test("PC-02, KC-23: an erased device, and one whose passcode was removed, have nothing altered") func erased()
        throws
    {
        try device.run {
            for protection in [kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly] {
                let guarded = account("\(protection)", [kSecAttrAccessControl: try control(.userPresence, protection)])
                #expect(add(guarded.value("guarded")) == errSecSuccess)
            }
            try device.removePasscode("1234")
            #expect(read(account("\(kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)")) == errSecItemNotFound)
            #expect(try groups() == nil)
            device.reboot()
            #expect(try groups() == nil)
            try device.setPasscode("1234")
            try device.setEraseData(true, passcode: "1234")
            try device.lock()
            for number in 0..<10 {
                device.advance(by: .seconds(40_000))
                #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "wrong \(number)") }
            }
            #expect(try isRecorded)
            #expect(try groups() == nil)
            try device.setPasscode("1234")
            let guarded = account("new", [kSecAttrAccessControl: try control(.userPresence)])
            #expect(add(guarded.value("new")) == errSecSuccess)
            device.crash()
            try device.unlock(passcode: "1234")
            #expect(try groups() == nil)
            device.present(.passcode("1234"))
            #expect(secret(account("new")) == "new")
        }
    }
}
