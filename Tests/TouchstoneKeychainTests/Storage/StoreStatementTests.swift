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
            #expect(try query.first([.integer(9)]) { _ in true } == nil)
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
            #expect(try Row.fetchOne(database, sql: "SELECT * FROM line WHERE number = 8")?["word"] as String? == nil)
        }
    }

    @Test("A change that SQLite refuses is its error, and the statement can be used again") func refused() throws {
        try queue.write { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            try insertion.execute(line)
            let error = #expect(throws: DatabaseError.self) { try insertion.execute(line) }
            #expect(error?.resultCode == .SQLITE_CONSTRAINT)
            try insertion.execute([.integer(8), nil, nil])
        }
    }

    @Test("Nothing is changed once SQLite has given up the transaction") func withoutTransaction() throws {
        try queue.writeWithoutTransaction { database in
            let insertion = try StoreStatement("INSERT INTO line VALUES (?, ?, ?)", in: database)
            let error = #expect(throws: DatabaseError.self) { try insertion.execute(line) }
            #expect(error?.resultCode == .SQLITE_ABORT)
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM line") == 0)
        }
    }

    @Test("A text that is no SQL is an error") func noSQL() throws {
        try queue.read { database in
            _ = #expect(throws: DatabaseError.self) { try StoreStatement("SELEKT 1", in: database) }
        }
    }
}
