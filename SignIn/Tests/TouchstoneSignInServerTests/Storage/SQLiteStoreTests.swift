import Foundation
import GRDB
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct SQLiteStoreTests {
    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func filesAreTheirOwnersAlone() async throws {
        try await withFolder { folder in
            let path = folder + "/signin.sqlite"
            let store = try SQLStore.sqlite(at: path)
            try await store.addAccount(.made("ana"))
            for file in ["", "-wal", "-shm"] { #expect(try mode(path + file) == 0o600) }
            try await store.close()
        }
    }

    @Test func fileThatOthersCouldReadIsMadePrivate() async throws {
        try await withFolder { folder in
            let path = folder + "/signin.sqlite"
            try Data().write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            try await SQLStore.sqlite(at: path).close()
            #expect(try mode(path) == 0o600)
        }
    }

    @Test func writesAreDurable() async throws {
        try await withFolder { folder in
            let store = try SQLStore.sqlite(at: folder + "/signin.sqlite")
            let settings = try await store.database.transaction { connection in
                try ["synchronous", "foreign_keys"].map { try connection.rows("PRAGMA \($0)", [])[0].integer(0) }
                    + [try connection.rows("PRAGMA journal_mode", [])[0].text(0) == "wal" ? 1 : 0]
            }
            // FULL is 2.
            #expect(settings == [2, 1, 1])
            try await store.close()
        }
    }

    @Test func whatIsNoDatabaseOrNoPlaceForOneIsRefused() async throws {
        try await withFolder { folder in
            let text = folder + "/text"
            try Data(String(repeating: "no database. ", count: 100).utf8).write(to: URL(filePath: text))
            #expect(throws: StoreError.schema("the file is no SQLite database")) { try SQLStore.sqlite(at: text) }
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link", withDestinationPath: folder + "/target")
            for path in ["/link", "/missing/signin.sqlite"] {
                let error = #expect(throws: StoreError.self) { try SQLStore.sqlite(at: folder + path) }
                guard case .unavailable = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
            #expect(!FileManager.default.fileExists(atPath: folder + "/target"))
        }
    }

    /// NP-11, against processes that are not this one.
    @Test func oneOfSeveralProcessesTakesAChallenge() async throws {
        try await withFolder { folder in
            let path = folder + "/signin.sqlite"
            let store = try SQLStore.sqlite(at: path)
            for round in 0..<5 {
                let hash = bytes("c\(round)")
                try await store.addChallenge(.made("c\(round)"))
                let taken = try await atOnce(8, [store]) { store, number in
                    if number % 2 == 0 { return try await store.takeChallenge(hash: hash) == nil ? 0 : 1 }
                    return try takenByAnotherProcess(hash, path)
                }
                #expect(taken.reduce(0, +) == 1)
            }
            try await store.close()
        }
    }

    @Sendable private func takenByAnotherProcess(_ hash: Data, _ path: String) throws -> Int {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys
            file = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
            print(len(file.execute("DELETE FROM challenges WHERE hash = ? RETURNING 1", [bytes.fromhex(sys.argv[2])]).fetchall()))
            """, path, hash.map { String(format: "%02x", $0) }.joined(),
        ]
        let answer = Pipe()
        process.standardOutput = answer
        try process.run()
        let line = try answer.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        process.waitUntilExit()
        return try #require(Int(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }
}
