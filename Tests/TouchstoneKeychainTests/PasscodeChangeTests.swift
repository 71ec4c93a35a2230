import Foundation
import GRDB
import Security
import Testing
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// What becomes of the items when the passcode is changed, and when ten wrong ones erase the device.
@Suite(.timeLimit(.minutes(10))) struct PasscodeChangeTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    private let protections = [
        kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleAfterFirstUnlock,
        kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
        kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
    ]

    private func addItems() throws {
        for (number, protection) in protections.enumerated() {
            #expect(
                add(account("\(number)", [kSecAttrAccessible: protection]).value("secret \(number)")) == errSecSuccess)
        }
        let guarded = account("guarded", [kSecAttrAccessControl: try control(.biometryCurrentSet)])
        #expect(add(guarded.value("guarded")) == errSecSuccess)
    }

    private func settleRewrapping() { device.booted.withLock { $0 }.settleRewrapping() }

    /// Everything that lies in the database, column by column.
    private func rows() throws -> [[String: DatabaseValue]] {
        try device.store.inspect { database in
            try Row.fetchAll(database, sql: "SELECT * FROM item ORDER BY rowid").map { row in
                Dictionary(uniqueKeysWithValues: row.map { ($0.0, $0.1) })
            }
        }
    }

    private func count(_ table: String) throws -> Int {
        try device.store.inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? -1 }
    }

    private func status() throws -> DeviceInterface.Status {
        let endpoint = device.run { DeviceEndpoint.current() }
        return try endpoint.client().call(DeviceInterface.GetStatus.self, Empty()).status
    }

    /// Ten wrong passcodes, each as soon as it is looked at.
    private func failTenTimes() throws {
        try device.lock()
        for number in 0..<10 {
            device.advance(by: .seconds(try status().passcodeRetryAfterSeconds ?? 0))
            let error = #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "wrong \(number)") }
            let isErased = try number == 9 && status().wasErased
            #expect(error?.description.contains("erased") == isErased)
        }
    }

    @Test(
        "KC-14: a new passcode touches no row; a row that is read is wrapped under the current class keys, and no other row is"
    )
    func rowsStay() throws {
        try device.run {
            try addItems()
            let before = try rows()
            #expect(before.count == 6)
            try device.changePasscode(from: "1234", to: "a longer one")
            #expect(try rows() == before)
            device.reboot()
            #expect(read(account("0")) == errSecInteractionNotAllowed)
            try device.unlock(passcode: "a longer one")
            #expect(secret(account("0")) == "secret 0")
            settleRewrapping()
            let after = try rows()
            #expect(Array(after.dropFirst()) == Array(before.dropFirst()))
            // The value stays as it is: what it is under is under another class key.
            for (column, value) in before[0] {
                #expect((after[0][column] != value) == ["wrappedKey", "metadata"].contains(column), "\(column)")
            }
            for _ in 0..<2 {
                for number in protections.indices { #expect(secret(account("\(number)")) == "secret \(number)") }
                device.present(.finger(1))
                #expect(secret(account("guarded")) == "guarded")
                settleRewrapping()
            }
            let rewrapped = try rows()
            for (old, new) in zip(before, rewrapped) { #expect(old["wrappedKey"] != new["wrappedKey"]) }
            #expect(secret(account("1")) == "secret 1")
            settleRewrapping()
            #expect(try rows() == rewrapped, "once")
        }
    }

    @Test("KC-14: rows whose new keys were never written open all the same, after each of several changes")
    func lostRewrapping() throws {
        try device.run {
            try addItems()
            let before = try rows()
            var passcode = "1234"
            for number in 0..<4 {
                try device.changePasscode(from: passcode, to: "passcode \(number)")
                passcode = "passcode \(number)"
                #expect(add(account("since \(number)").value("since \(number)")) == errSecSuccess)
                for index in protections.indices { #expect(secret(account("\(index)")) == "secret \(index)") }
                // As where the daemon was killed before, or the disk was full: the row's old keys.
                settleRewrapping()
                try device.store.write { writer in
                    for row in before {
                        try writer.database.execute(
                            sql: "UPDATE item SET wrappedKey = ?, metadata = ? WHERE rowid = ?",
                            arguments: [row["wrappedKey"], row["metadata"], row["rowid"]])
                    }
                }
                device.reboot()
                try device.unlock(passcode: passcode)
            }
            for index in protections.indices { #expect(secret(account("\(index)")) == "secret \(index)") }
            for number in 0..<4 { #expect(secret(account("since \(number)")) == "since \(number)") }
            #expect(try count("quarantine") == 0)
            #expect(try count("item") == 10)
        }
    }

    @Test("A key that the enclave wrapped again replaces that of the row that was read, and of no other")
    func rewrapsOnlyWhatWasRead() throws {
        try device.run {
            #expect(add(account("a").value("old")) == errSecSuccess)
            let old = try rows()
            #expect(update(account("a"), [kSecValueData: Data("new".utf8)]) == errSecSuccess)
            let new = try rows()
            let rowID = try #require(Int64.fromDatabaseValue(old[0]["rowid"] ?? .null))
            let version = try #require(Data.fromDatabaseValue(old[0]["version"] ?? .null))
            let rewrapping = Rewrapping(device.store)
            rewrapping.add([.init(rowID: rowID, version: version, wrappedKey: Data([1]), metadata: Data([2]))])
            rewrapping.settle()
            #expect(try rows() == new)
            #expect(secret(account("a")) == "new")
        }
    }

    @Test(
        "PC-02: with Erase Data on, ten wrong passcodes leave no row, and the device takes new items as a new one does")
    func erased() throws {
        try device.run {
            try addItems()
            try device.setEraseData(true, passcode: "1234")
            #expect(try status().erasesData)
            try failTenTimes()
            #expect(try count("item") == 0)
            #expect(try count("quarantine") == 0)
            let after = try status()
            #expect(
                after.wasErased && !after.isPasscodeSet && !after.isEnrolled && !after.isLocked && after.isSimulated)
            for number in protections.indices { #expect(read(account("\(number)")) == errSecItemNotFound) }
            #expect(add(account("0").value("new")) == errSecSuccess)
            device.reboot()
            #expect(secret(account("0")) == "new", "erased once, not at every boot")
            try device.setPasscode("5678")
            #expect(try !status().wasErased)
            #expect(try device.enrollFinger() == 1)
        }
    }

    @Test("PC-02: with Erase Data off, ten wrong passcodes leave every row")
    func notErased() throws {
        try device.run {
            try addItems()
            let before = try rows()
            try failTenTimes()
            #expect(try rows() == before)
            let after = try status()
            #expect(!after.isPasscodeDisabled && !after.wasErased && after.isPasscodeSet && after.isEnrolled)
        }
    }

    @Test("PC-02: a keychain that did not hear of the erasure deletes the items when it does, before any is added")
    func erasedWhileAway() throws {
        try device.run {
            try addItems()
            try device.setEraseData(true, passcode: "1234")
            let before = try rows()
            try failTenTimes()
            // As after a power cut between the enclave's write and the keychain's: the old rows, and an erasure that is not confirmed.
            try device.store.write { writer in
                for row in before {
                    let columns = row.keys.sorted()
                    try writer.database.execute(
                        sql: "INSERT INTO item (\(columns.map { "\"\($0)\"" }.joined(separator: ", "))) VALUES "
                            + "(\(columns.map { _ in "?" }.joined(separator: ", ")))",
                        arguments: StatementArguments(columns.map { row[$0] }))
                }
            }
            #expect(try rows().count == 6)
            for number in protections.indices {
                #expect(read(account("\(number)")) == errSecItemNotFound, "there is no key that opens it")
            }
            try device.storage.replace(pendingAgain())
            device.crash()
            #expect(try count("item") == 0)
            #expect(try count("quarantine") == 0)
        }
    }

    @Test(
        "PC-02: while the disk does not take the deletion nothing is read or added; once it does, the device is as new")
    func deletionThatFails() throws {
        try device.run {
            try addItems()
            try device.setEraseData(true, passcode: "1234")
            try device.store.write {
                try $0.database.execute(
                    sql: "CREATE TRIGGER full BEFORE DELETE ON item BEGIN SELECT RAISE(ABORT, 'full'); END")
            }
            try failTenTimes()
            #expect(try status().wasErased)
            #expect(read(account("0")) == errSecInteractionNotAllowed)
            #expect(add(account("new").value("new")) == errSecInteractionNotAllowed)
            try device.store.write { try $0.database.execute(sql: "DROP TRIGGER full") }
            try device.setPasscode("5678")
            #expect(try count("item") == 0)
            #expect(add(account("new").value("new")) == errSecSuccess)
            #expect(read(account("0")) == errSecItemNotFound)
        }
    }

    @Test("PC-02: a search that meets a damaged item before the keychain has heard of the erasure is answered")
    func damagedItemMeanwhile() throws {
        let (storage, root, store) = (MemoryStorage(), MemoryRoot(), try KeychainStore())
        try storage.replace(Enclave.create(isSimulated: true, biometryType: .none, root: root))
        let host = try EnclaveHost(storage: storage, root: root, clock: ManualClock(), newPasscodeCost: { .minimum })
        func router(_ interface: VarlinkInterface) -> VarlinkRouter {
            VarlinkRouter(info: .init(product: "test", version: "1"), interfaces: [interface])
        }
        let peer = Peer(processID: getpid(), userID: getuid(), identify: { FileDevice.app })
        let enclave = LoopbackEndpoint(router: router(EnclaveService(host: host).interface), peer: peer)
        let service = try KeychainService(
            store: store, enclave: EnclaveClient(calls: enclave.client(), events: enclave.client()),
            contexts: ContextOwners(), broker: ScriptedBroker())
        let keychain = LoopbackEndpoint(router: router(service.interface), peer: peer)
        let client = try keychain.client()
        let item: KeychainInterface.Dictionary = [.class: .string("genp"), .account: .string("a")]
        _ = try client.call(
            KeychainInterface.Add.self,
            .init(attributes: item.merging([.valueData: .data(Data("a".utf8))]) { $1 }, context: nil))
        try store.write { try $0.database.execute(sql: "UPDATE item SET metadata = x'00'") }
        try host.change { now, _ in
            now.state.erasure = .pending
            return ((), [])
        }
        let error = #expect(throws: RemoteError.self) {
            try client.call(
                KeychainInterface.CopyMatching.self,
                .init(query: item.merging([.returnData: .boolean(true)]) { $1 }, context: nil))
        }
        #expect(error?.as(KeychainInterface.Failed.self)?.status == Status.itemNotFound.rawValue)
        try service.refreshKeys()
        #expect(host.read { now, _ in now.state.erasure } == .done)
        #expect(try store.inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 0)
    }

    /// The enclave's state before the keychain confirmed.
    private func pendingAgain() throws -> Data {
        var enclave = try Enclave(stateFile: device.storage.load(), root: device.root, now: 0)
        #expect(enclave.state.erasure == .done)
        enclave.state.erasure = .pending
        return try enclave.stateFile()
    }
}
