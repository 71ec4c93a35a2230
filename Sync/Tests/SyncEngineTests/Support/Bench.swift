import Foundation
import Synchronization
import Testing

@testable import SyncEngine
@testable import SyncStores

/// A real directory as the store, and devices beside it.
final class Bench {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "touchstone-engine-\(UUID())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func store() async throws -> FaultyStore {
        let store = try DirectoryStore(path: path, circle: "family")
        try await store.prepare()
        return FaultyStore(store)
    }

    func member(_ device: SmallDevice, _ progress: SyncProgress? = nil) async throws -> Member {
        Member(device, try await store(), progress ?? SyncProgress(store: "family"))
    }
}

/// One device's engine, and what it saved.
final class Member {
    let device: SmallDevice
    let store: FaultyStore
    private let saved: Saved
    var engine: SyncEngine

    private final class Saved: Sendable {
        let progress: Mutex<SyncProgress>
        init(_ progress: SyncProgress) { self.progress = Mutex(progress) }
    }

    init(_ device: SmallDevice, _ store: FaultyStore, _ progress: SyncProgress) {
        (self.device, self.store) = (device, store)
        let saved = Saved(progress)
        self.saved = saved
        engine = SyncEngine(device, store, progress) { new in saved.progress.withLock { $0 = new } }
    }

    /// As it stands on the disk.
    var progress: SyncProgress {
        get throws {
            try JSONDecoder().decode(SyncProgress.self, from: JSONEncoder().encode(saved.progress.withLock { $0 }))
        }
    }

    @discardableResult
    func round(retries: Bool = false) async throws -> SyncEngine.Moved { try await engine.round(retries: retries) }

    /// The process ended, and begins with what it saved.
    func restart() throws {
        engine = SyncEngine(device, store, try progress) { [saved] new in saved.progress.withLock { $0 = new } }
    }
}

/// A directory that fails at a call, before or after it was done.
final class FaultyStore: SyncStore {
    private let store: DirectoryStore
    /// Calls that succeed; then one fails.
    let calls = Mutex<Int?>(nil)
    let names = Mutex<[String]>([])
    /// Bytes of the largest record that it takes; nil: of any.
    let longest = Mutex<Int?>(nil)

    init(_ store: DirectoryStore) { self.store = store }

    private func count(_ name: String) throws(StoreError) {
        names.withLock { $0.append(name) }
        let fails = calls.withLock { left in
            guard let now = left else { return false }
            left = now == 0 ? nil : now - 1
            return now == 0
        }
        if fails { throw .unavailable("it went away") }
    }

    func prepare() async throws(StoreError) { try await store.prepare() }

    func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        if let longest = longest.withLock({ $0 }), bytes.count > longest { throw .invalid("\(bytes.count) bytes") }
        try await store.put(name, bytes)
        try count("put \(name)")
    }

    func get(_ name: RecordName) async throws(StoreError) -> Data? {
        try count("get \(name)")
        return try await store.get(name)
    }

    func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        try count("list")
        return try await store.list(since: cursor, limit: limit)
    }

    func delete(_ name: RecordName) async throws(StoreError) {
        try await store.delete(name)
        try count("delete \(name)")
    }

    func head() async throws(StoreError) -> Data? { try await store.head() }

    func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try count("swap")
        return try await store.swapHead(expected, for: new)
    }
}
