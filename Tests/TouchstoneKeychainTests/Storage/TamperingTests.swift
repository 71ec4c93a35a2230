import Foundation
import GRDB
import LocalAuthentication
import Security
import Testing

@testable import TouchstoneTesting

/// KC-12, KC-16: whoever can write the database can destroy items, and can do nothing else with them.
@Suite(.timeLimit(.minutes(10))) struct TamperingTests {
    private let device: FileDevice
    private let queue: DatabaseQueue

    init() throws {
        device = try FileDevice()
        queue = try device.tamperer()
        try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
    }

    private var item: Attributes {
        account("a", [kSecAttrService: "s", kSecAttrLabel: "l", kSecAttrGeneric: Data([1])]).value("the secret")
    }

    /// Every way in which an app can come by the item.
    private var queries: [Attributes] {
        [account("a", [kSecAttrService: "s"]), account("a"), generic([kSecAttrLabel: "l"]), generic()]
    }

    /// Reads in every way: as it was or not there, and never anything else.
    ///
    /// - Returns: In how many ways it was there.
    private func readings(_ name: String, by some: [Attributes]? = nil) -> Int {
        var count = 0
        for query in some ?? queries {
            let (status, result) = find(query.data.attributes)
            if status == errSecSuccess {
                count += 1
                let found = result as? [String: Any]
                #expect(found?["v_Data"] as? Data == Data("the secret".utf8), "\(name)")
                #expect(found?["acct"] as? String == "a", "\(name)")
                #expect(found?["svce"] as? String == "s", "\(name)")
                #expect(found?["labl"] as? String == "l", "\(name)")
                #expect(found?["pdmn"] as? String == "ak", "\(name)")
            } else {
                #expect(status == errSecItemNotFound, "\(name)")
            }
        }
        return count
    }

    private static let sealed = ["metadata", "wrappedKey", "secret", "identifier", "version"]

    @Test("KC-12, KC-16: a flipped byte of any sealed column makes the item absent", arguments: sealed)
    func sealedColumn(column: String) throws {
        try device.run {
            #expect(add(item) == errSecSuccess)
            let row = try RawRow(0, in: queue)
            let bytes = row.bytes(column)
            #expect(bytes.count >= 16)
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 1 << (index % 8)
                try row.with(column, changed).put(into: queue)
                #expect(readings("\(column) \(index)", by: [queries[index % 4]]) == 0, "\(column) \(index)")
            }
            try row.put(into: queue)
            #expect(readings(column) == queries.count)
        }
    }

    @Test("KC-11: each row has two keys of its own, new with every write")
    func ownKeys() throws {
        try device.run {
            #expect(add(account("a").value("the secret")) == errSecSuccess)
            #expect(add(account("b").value("the secret")) == errSecSuccess)
            let (a, b) = (try RawRow(0, in: queue), try RawRow(1, in: queue))
            #expect(update(account("a"), [kSecValueData: Data("the secret".utf8)]) == errSecSuccess)
            let again = try RawRow(0, in: queue)
            // The metadata key lies before the attributes, wrapped: nonce, 32 bytes, tag.
            for wrapped in [{ $0.bytes("wrappedKey") }, { $0.bytes("metadata").prefix(60) }] as [(RawRow) -> Data] {
                #expect(wrapped(a).count >= 60)
                #expect(Set([wrapped(a), wrapped(b), wrapped(again)]).count == 3)
            }
        }
    }

    @Test("KC-16: a flipped byte of a tag hides the item from queries by it, and shows no other") func tags() throws {
        try device.run {
            #expect(add(item) == errSecSuccess)
            let row = try RawRow(0, in: queue)
            var count = 0
            for column in row.columns.keys where !row.bytes(column).isEmpty && !Self.sealed.contains(column) {
                guard !["rowid", "class", "pdmn"].contains(column) else { continue }
                let bytes = row.bytes(column)
                for index in bytes.indices {
                    var changed = bytes
                    changed[index] ^= 1 << (index % 8)
                    try row.with(column, changed).put(into: queue)
                    #expect(readings("\(column) \(index)") <= queries.count)
                    count += 1
                }
            }
            #expect(count == 32 + 16 * 6, "identity; acct, svce, agrp, sync, labl, gena")
        }
    }

    @Test("KC-16: the tag of one item on another does not make the one pass for the other") func exchangedTags() throws
    {
        try device.run {
            #expect(add(item) == errSecSuccess)
            #expect(add(account("b", [kSecAttrService: "s"]).value("of b")) == errSecSuccess)
            let (a, b) = (try RawRow(0, in: queue), try RawRow(1, in: queue))
            try b.taking(["acct"], from: a).put(into: queue)
            try queue.write { try $0.execute(sql: "UPDATE item SET acct = NULL WHERE rowid = 1") }
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecItemNotFound)
        }
    }

    @Test("KC-20: another protection class or item class in the clear makes the item absent") func clearColumns() throws
    {
        try device.run {
            #expect(add(item) == errSecSuccess)
            let row = try RawRow(0, in: queue)
            for code in ["ck", "dk", "aku", "cku", "dku", "akpu", "xx", ""] {
                try row.with("pdmn", code).put(into: queue)
                #expect(readings(code) == 0, "\(code)")
            }
            for itemClass in ["inet", "cert", ""] {
                try row.with("class", itemClass).put(into: queue)
                #expect(readings(itemClass) == 0)
                #expect(find(internet([kSecAttrAccount: "a"])).status == errSecItemNotFound)
            }
        }
    }

    @Test("KC-16: values of another type or length in any column make the item absent", arguments: sealed)
    func otherTypes(column: String) throws {
        try device.run {
            #expect(add(item) == errSecSuccess)
            let row = try RawRow(0, in: queue)
            let values: [any DatabaseValueConvertible] = [
                5, 1.5, "text", Data(), Data([1]), Data(count: 12), Data(count: 100_000), row.bytes(column).dropLast(),
                row.bytes(column) + [0],
            ]
            for value in values {
                try row.with(column, value.databaseValue).put(into: queue)
                #expect(readings("\(column) \(value)") == 0, "\(column) \(value)")
            }
        }
    }

    @Test("KC-12: an item whose secret was taken out has none") func nullSecret() throws {
        try device.run {
            #expect(add(item) == errSecSuccess)
            try RawRow(0, in: queue).with("secret", DatabaseValue.null).put(into: queue)
            let (status, result) = find(account("a").data)
            #expect(status == errSecItemNotFound || result == nil)
        }
    }

    private static let parts = [
        ["secret"], ["metadata"], ["wrappedKey"], ["secret", "wrappedKey"], ["metadata", "secret"],
        ["metadata", "wrappedKey"], ["metadata", "wrappedKey", "secret"],
    ]

    @Test("KC-12: parts of one row in another make the item absent", arguments: parts)
    func exchangedParts(columns: [String]) throws {
        try device.run {
            #expect(add(item) == errSecSuccess)
            #expect(add(account("b", [kSecAttrService: "t"]).value("other secret")) == errSecSuccess)
            let (a, b) = (try RawRow(0, in: queue), try RawRow(1, in: queue))
            try a.taking(columns, from: b).put(into: queue)
            try b.taking(columns, from: a).put(into: queue)
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(read(account("b")) == errSecItemNotFound)
        }
    }

    @Test("KC-12: parts of an earlier version of the row make the item absent", arguments: parts)
    func earlierParts(columns: [String]) throws {
        try device.run {
            #expect(add(item.value("old secret")) == errSecSuccess)
            let old = try RawRow(0, in: queue)
            #expect(update(account("a"), [kSecValueData: Data("the secret".utf8)]) == errSecSuccess)
            let new = try RawRow(0, in: queue)
            #expect(old.bytes("version") != new.bytes("version"))
            try new.taking(columns, from: old).put(into: queue)
            #expect(readings("earlier \(columns)") == 0)
        }
    }

    @Test("AC-10: no change to the wrapped key opens a protected item without the owner") func protectedItem() throws {
        try device.run {
            #expect(try add(account("a", [kSecAttrAccessControl: control(.userPresence)]).value("a")) == errSecSuccess)
            #expect(add(account("b").value("b")) == errSecSuccess)
            let (a, b) = (try RawRow(0, in: queue), try RawRow(1, in: queue))
            let bytes = a.bytes("wrappedKey")
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 1 << (index % 8)
                try a.with("wrappedKey", changed).put(into: queue)
                #expect(read(account("a").silent) == errSecItemNotFound, "\(index)")
            }
            for columns in Self.parts {
                try a.taking(columns, from: b).put(into: queue)
                // Where the wrapped key is whole the row is one that was put aside, and that nobody but us may put back.
                let expected = columns == ["secret"] ? OSStatus(-26275) : errSecItemNotFound
                #expect(read(account("a").silent) == expected, "\(columns)")
            }
        }
    }

    @Test("AC-10: the secret of a protected item is not looked at before the owner has proven something")
    func protectedSecret() throws {
        try device.run {
            #expect(try add(account("a", [kSecAttrAccessControl: control(.userPresence)]).value("a")) == errSecSuccess)
            #expect(add(account("b").value("b")) == errSecSuccess)
            let (a, b) = (try RawRow(0, in: queue), try RawRow(1, in: queue))
            for _ in 0..<2 {
                try a.taking(["secret"], from: b).put(into: queue)
                #expect(read(account("a").silent) == errSecInteractionNotAllowed)
                try a.put(into: queue)
                #expect(read(account("a").silent) == errSecInteractionNotAllowed)
            }
            try a.taking(["secret"], from: b).put(into: queue)
            device.person.present([.match])
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(device.person.prompts.count == 1)
        }
    }

    @Test("KC-16, KC-31: a broken item is removed by the search that meets it, and an add takes its place")
    func brokenItems() throws {
        try device.run {
            for column in ["metadata", "wrappedKey", "secret"] {
                for isSearched in [true, false] {
                    #expect(add(item) == errSecSuccess, "\(column) \(isSearched)")
                    let row = try RawRow(0, in: queue)
                    var bytes = row.bytes(column)
                    bytes[bytes.count - 1] ^= 1
                    try row.with(column, bytes).put(into: queue)
                    if isSearched {
                        #expect(read(account("a")) == errSecItemNotFound)
                        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 0)
                    }
                    #expect(add(item) == errSecSuccess, "\(column) \(isSearched)")
                    #expect(readings(column) == queries.count)
                    #expect(delete(generic()) == errSecSuccess)
                }
            }
        }
    }

    @Test("KC-03: on another device the database tells nothing") func otherDevice() throws {
        device.run {
            #expect(add(item) == errSecSuccess)
            #expect(add(account("always", [kSecAttrAccessible: kSecAttrAccessibleAlways])) == errSecSuccess)
        }
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        let other = try FileDevice()
        let foreign = try other.tamperer()
        try foreign.inDatabase { try $0.execute(sql: "ATTACH ? AS there", arguments: [device.database.path]) }
        try foreign.write { try $0.execute(sql: "INSERT INTO item SELECT * FROM there.item") }
        other.run {
            for query in queries { #expect(read(query) == errSecItemNotFound) }
            #expect(add(item) == errSecSuccess)
        }
    }
}
