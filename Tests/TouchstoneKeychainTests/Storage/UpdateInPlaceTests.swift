import Foundation
import GRDB
import Security
import Testing

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Which updates write a row over itself, and which in the place of another.
@Suite(.timeLimit(.minutes(10))) struct UpdateInPlaceTests {
    private let device: SimulatedDevice
    private let item = account("a", [kSecAttrLabel: "é"])

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
        let control = try control(.userPresence)
        device.run {
            #expect(add(item.value("1")) == errSecSuccess)
            #expect(add(account("g", [kSecAttrAccessControl: control]).value("1")) == errSecSuccess)
        }
        try device.store.write {
            try $0.database.execute(
                sql: """
                    CREATE TABLE noted (x);
                    CREATE TRIGGER note AFTER INSERT ON item BEGIN INSERT INTO noted VALUES (1); END;
                    """)
        }
    }

    /// Rows that were inserted while `body` ran.
    private func insertions(_ body: () throws -> Void) throws -> Int {
        func count() throws -> Int {
            try device.store.inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM noted") ?? 0 }
        }
        let before = try count()
        try device.run(body)
        // What is counted of each group is right after every kind of update.
        #expect(try device.store.integrity() == [])
        return try count() - before
    }

    @Test("A value, or an attribute that nobody searches by, is written over the row") func inPlace() throws {
        let insertions = try insertions {
            for value in ["2", String(repeating: "long", count: 5_000), ""] {
                #expect(update(account("a"), [kSecValueData: Data(value.utf8)]) == errSecSuccess)
                #expect(secret(account("a")) == value)
            }
            #expect(update(account("a"), [kSecAttrLabel: "é"]) == errSecSuccess)
            #expect(secret(item) == "")
        }
        #expect(insertions == 0)
    }

    @Test(
        "An attribute with a tag, another spelling of it, and another class are inserted anew, and found by what they are now"
    )
    func anew() throws {
        let insertions = try insertions {
            #expect(update(account("a"), [kSecAttrLabel: "e\u{301}"]) == errSecSuccess)
            #expect(read(item) == errSecItemNotFound)
            #expect(secret(account("a", [kSecAttrLabel: "e\u{301}"])) == "1")
            #expect(update(account("a"), [kSecAttrComment: "c"]) == errSecSuccess)
            #expect(secret(account("a", [kSecAttrComment: "c"])) == "1")
            #expect(
                update(account("a"), [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]) == errSecSuccess)
            #expect(update(account("a"), [kSecAttrAccount: "b"]) == errSecSuccess)
            #expect(secret(account("b")) == "1")
        }
        #expect(insertions == 4)
    }

    @Test("AC-10: an item with an access control is inserted anew, as the enclave records each that comes and goes")
    func guarded() throws {
        device.present(.finger(1), .finger(1), .finger(1))
        let insertions = try insertions {
            #expect(update(account("g"), [kSecValueData: Data("2".utf8)]) == errSecSuccess)
            #expect(secret(account("g")) == "2")
        }
        #expect(insertions == 1)
    }
}
