import Foundation
import GRDB
import Testing

@testable import TouchstoneKeychain

/// Statements without GRDB's values in between (DEC-390).
@Suite struct StoreStatementTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { try $0.execute(sql: "CREATE TABLE line (number INTEGER PRIMARY KEY, word TEXT, bytes BLOB)") }
    }

    private let line: [StoreStatement.Value?] = [.integer(7), .text("a\u{E9}"), .blob(Data([0, 1, 2]))]

    /// SQLite's refusal of what `body` does; nil if it is done.
    private func code(_ body: () throws -> Void) -> ResultCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? DatabaseError)?.resultCode
        }
    }

    @Test("What is put into the table is read back, of each type") func values() throws {
        try queue.write { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            try insertion.execute(line)
            try insertion.execute([.integer(8), nil, .blob(Data())])
            let query = try StoreStatement("SELECT * FROM line WHERE number = ?", in: database)
            try query.forEachRow([.integer(7)]) { row in
                #expect(row.integer(0) == 7 && row.text(1) == "a\u{E9}" && row.blob(2) == Data([0, 1, 2]))
                return true
            }
            try query.forEachRow([.integer(8)]) { row in
                #expect(row.isNull(1) && row.text(1) == nil)
                // Empty bytes are not the same as nothing.
                #expect(row.blob(2) == Data() && !row.isNull(2))
                return true
            }
            let absent = try query.first([.integer(9)]) { _ in true }
            #expect(absent == nil)
        }
    }

    @Test("A value of another type is no value: the file may be another's work") func otherTypes() throws {
        try queue.write { database in
            try database.execute(sql: "INSERT INTO line VALUES (1, x'41', 'text')")
            var rows = 0
            try StoreStatement("SELECT * FROM line", in: database).forEachRow([]) { row in
                #expect(row.text(1) == nil && row.integer(1) == nil && row.blob(2) == nil && !row.isNull(2))
                rows += 1
                return true
            }
            #expect(rows == 1)
        }
    }

    @Test("What was given is not kept by the statement") func bindings() throws {
        try queue.write { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            try insertion.execute(line)
            try insertion.execute([.integer(8)])
            let words = try String.fetchAll(database, sql: "SELECT word FROM line WHERE word IS NOT NULL")
            #expect(words == ["a\u{E9}"])
        }
    }

    @Test("A change that SQLite refuses is its error, and the statement can be used again") func refused() throws {
        try queue.write { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            try insertion.execute(line)
            #expect(code { try insertion.execute(line) } == .SQLITE_CONSTRAINT)
            try insertion.execute([.integer(8), nil, nil])
        }
    }

    @Test("Nothing is changed once SQLite has given up the transaction") func withoutTransaction() throws {
        try queue.writeWithoutTransaction { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            #expect(code { try insertion.execute(line) } == .SQLITE_ABORT)
            let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM line")
            #expect(count == 0)
        }
    }

    @Test("A text that is no SQL is an error") func noSQL() throws {
        try queue.read { database in
            #expect(code { _ = try StoreStatement("SELEKT 1", in: database) } == .SQLITE_ERROR)
        }
    }
}
