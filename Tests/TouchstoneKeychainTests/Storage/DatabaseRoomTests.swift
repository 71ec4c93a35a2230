import Foundation
import GRDB
import Glibc
import Testing
import TouchstoneSystem

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Room on the disk that the database has before it needs it, so that a full disk prevents no deletion.
@Suite(.timeLimit(.minutes(10))) struct DatabaseRoomTests {
    private let store: KeychainStore
    private let file: URL
    private let files = Result { try PrivateDirectory() }

    init() throws {
        file = try files.get().url.appendingPathComponent("keychain.db")
        store = try KeychainStore(file: file)
    }

    /// What the file system has given the file, in bytes.
    private func roomBytes() throws -> Int {
        var status = stat()
        guard stat(file.path, &status) == 0 else { throw POSIXError(.EIO) }
        return Int(status.st_blocks) * 512
    }

    /// What the database takes with all that is in the log.
    private func neededBytes() throws -> Int {
        try store.inspect { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 } * 4096
    }

    private func grow() throws {
        try store.write { writer in
            try writer.database.execute(
                sql: "INSERT INTO quarantine (at, metadata) VALUES (0, zeroblob(?))", arguments: [40_000])
        }
    }

    @Test("After each write there is room for all of the database, also after a checkpoint gave some back")
    func room() throws {
        for round in 0..<40 {
            try grow()
            try check()
            guard round.isMultiple(of: 10) else { continue }
            // Makes the file as long as the database is, and gives back what lies behind it.
            try store.inspect { _ = try $0.checkpoint(.truncate) }
            try grow()
            try check()
        }
    }

    private func check() throws {
        let (room, needed) = (try roomBytes(), try neededBytes())
        #expect(room >= needed)
    }
}
