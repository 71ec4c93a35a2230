import Foundation
import Testing

@testable import SyncStores

/// A kind of store that the contract is held against.
enum Engine: CaseIterable, CustomTestStringConvertible {
    case directory
    case directoryWithoutLinks
    case postgreSQL
    case objectStore

    var testDescription: String { "\(self)" }

    /// An empty store for one test.
    func bench() async throws -> any StoreBench {
        switch self {
        case .directory: try DirectoryBench(hasLinks: true)
        case .directoryWithoutLinks: try DirectoryBench(hasLinks: false)
        case .postgreSQL: try PostgreSQLBench()
        case .objectStore: try await ObjectStoreBench()
        }
    }
}

/// One empty store, which members connect to.
protocol StoreBench: Sendable {
    /// One more member's way to it.
    func store(circle: String) throws -> any SyncStore
}

extension StoreBench {
    /// Ready to use.
    func member(circle: String = "family") async throws -> any SyncStore {
        let store = try store(circle: circle)
        try await store.prepare()
        return store
    }
}

/// A folder that goes away with it.
final class DirectoryBench: StoreBench {
    let path: String
    private let hasLinks: Bool

    init(hasLinks: Bool = true) throws {
        self.hasLinks = hasLinks
        path = FileManager.default.temporaryDirectory.appending(path: "touchstone-sync-\(UUID())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func store(circle: String) throws -> any SyncStore {
        try DirectoryStore(Folder(path: path, hasLinks: hasLinks), circle: circle)
    }
}
