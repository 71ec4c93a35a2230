import Foundation
import GRDB
import Security
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneFileRoot
import TouchstoneInterfaces
import TouchstoneKeychain
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneTesting

/// A directory of this test's own that only this user can enter, gone with the object.
final class PrivateDirectory: Sendable {
    let url: URL

    init() throws {
        // In memory where there is such a place: many small durable writes are what these tests do.
        let memory = "/dev/shm"
        let parent = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
        url = URL(fileURLWithPath: parent).appendingPathComponent("touchstone-\(UUID().uuidString)")
        try make(url)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func subdirectory(_ name: String) throws -> URL {
        let directory = url.appendingPathComponent(name)
        if !FileManager.default.fileExists(atPath: directory.path) { try make(directory) }
        return directory
    }

    private func make(_ directory: URL) throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
}

/// A simulated device whose files lie where a real device's do.
final class FileDevice: Sendable {
    let files: PrivateDirectory
    let database: URL
    let store: KeychainStore
    let person = Person()
    let device: BootedDevice
    private let endpoint: SimulatedEndpoint

    static let app = AppIdentity(
        identifier: "io.touchstone.fixture", evidence: .process, name: "Fixture", processID: getpid(), userID: getuid())

    /// Makes a device with passcode 1234 and one finger, unlocked.
    convenience init() throws {
        let files = try PrivateDirectory()
        let enclave = try files.subdirectory("enclave")
        let key = enclave.appendingPathComponent("root.key")
        try FileRoot.create(key)
        let state = try Enclave.create(isSimulated: true, biometryType: .touchID, root: FileRoot(key))
        try PrivateFile(enclave.appendingPathComponent("state")).replace(state)
        try self.init(files)
        let change = try seal(["", "1234"], for: .change)
        _ = try device.owner.call(DeviceInterface.ChangePasscode.self, .init(passcodes: change))
        _ = try device.owner.call(DeviceInterface.Enroll.self, .init(finger: "right-index"))
    }

    /// Boots the device whose files these are.
    init(_ files: PrivateDirectory) throws {
        self.files = files
        let enclave = try files.subdirectory("enclave")
        database = try files.subdirectory("keychain").appendingPathComponent("keychain.db")
        store = try KeychainStore(file: database)
        device = try BootedDevice(
            storage: PrivateFile(enclave.appendingPathComponent("state")),
            root: FileRoot(enclave.appendingPathComponent("root.key")), clock: ManualClock(), store: store)
        endpoint = SimulatedEndpoint(app: Self.app, device: device)
        person.attend(device)
    }

    deinit {
        person.leave()
        device.stop()
    }

    func run<R>(_ body: () throws -> R) rethrows -> R {
        try DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    func lock() throws { _ = try device.owner.call(DeviceInterface.Lock.self, .init()) }

    func unlock() throws {
        let passcode = try seal(["1234"], for: .unlock)
        _ = try device.owner.call(DeviceInterface.Unlock.self, .init(passcode: passcode))
    }

    private func seal(_ passcodes: [String], for purpose: SealedPasscode.Purpose) throws -> SealedPasscode {
        let nonce = try device.owner.call(DeviceInterface.GetNonce.self, Empty()).nonce
        return try device.seal(passcodes, for: purpose, nonce: nonce)
    }

    /// Another connection to the database, as whoever can write the file has.
    func tamperer() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: database.path, configuration: configuration)
    }
}

/// One row as it lies in the file.
struct RawRow {
    var columns: [String: DatabaseValue]

    init(_ account: Int, in queue: DatabaseQueue) throws {
        let row = try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM item ORDER BY rowid")[account] }
        columns = Dictionary(uniqueKeysWithValues: row.map { ($0.0, $0.1) })
    }

    func bytes(_ column: String) -> Data { Data.fromDatabaseValue(columns[column] ?? .null) ?? Data() }

    func with(_ column: String, _ value: some DatabaseValueConvertible) -> RawRow {
        var copy = self
        copy.columns[column] = value.databaseValue
        return copy
    }

    /// Takes these columns of another row.
    func taking(_ columns: [String], from other: RawRow) -> RawRow {
        var copy = self
        for column in columns { copy.columns[column] = other.columns[column] }
        return copy
    }

    /// Puts the row where it was, whatever is there.
    func put(into queue: DatabaseQueue) throws {
        let names = columns.keys.sorted()
        let places = Array(repeating: "?", count: names.count).joined(separator: ", ")
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        try queue.write {
            // So that the database counts what is replaced, too.
            try $0.execute(sql: "PRAGMA recursive_triggers = ON")
            try $0.execute(
                sql: "INSERT OR REPLACE INTO item (\(list)) VALUES (\(places))",
                arguments: StatementArguments(names.map { columns[$0] ?? .null }))
        }
    }
}
