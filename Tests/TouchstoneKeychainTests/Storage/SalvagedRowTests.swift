import Foundation
import Testing

@testable import TouchstoneKeychain

/// Files that were made to be hard to read, rather than damaged: what they say is looked at as often as there is something, and no more.
@Suite(.timeLimit(.minutes(20))) struct SalvagedRowTests {
    private static func number(_ value: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
    }

    private static func rows(_ file: Data, log: Data = Data()) -> Int {
        var count = 0
        SalvagedRow.scan(file, log: log) { _ in count += 1 }
        return count
    }

    /// The columns of an item with 16 bytes wherever bytes are wanted; the last has so many.
    private static func record(last: Int) -> Data {
        let type = UInt64(12 + 2 * last)
        let lastType = [type >> 14, type >> 7, type].enumerated().map { UInt8($1 & 0x7F) | ($0 < 2 ? 0x80 : 0) }
        let text = { (count: UInt8) in 13 + 2 * count }
        let types: [UInt8] = [0, text(4), 44, 44, text(2), 44, 44, 44] + lastType
        var record = Data([UInt8(types.count + 1)] + types) + Data("genp".utf8) + Data(count: 32) + Data("ak".utf8)
        record += Data(count: 3 * 16 + last)
        return record
    }

    private static func head(pageSize: Int) -> Data {
        Data("SQLite format 3\0".utf8) + Data([UInt8(pageSize >> 8), UInt8(pageSize & 0xFF)]) + Data(count: 82)
    }

    /// A leaf on the second page, of which every cell is the same row.
    private static func leaf(cells: Int, last: Int, pageSize: Int) -> Data {
        let record = record(last: last)
        let length = [record.count >> 14, record.count >> 7, record.count].enumerated()
            .map { UInt8($1 & 0x7F) | ($0 < 2 ? 0x80 : 0) }
        let place = 8 + 2 * cells
        let pointer = Data([UInt8(place >> 8), UInt8(place & 0xFF)])
        var page = Data([0x0D, 0, 0, UInt8(cells >> 8), UInt8(cells & 0xFF), 0, 0, 0])
        for _ in 0..<cells { page += pointer }
        page += Data(length + [1]) + record
        page += Data(count: pageSize - page.count)
        return head(pageSize: pageSize) + Data(count: pageSize - 100) + page
    }

    @Test("a row is found, and each cell that is one")
    func found() {
        #expect(Self.rows(Self.leaf(cells: 1, last: 16, pageSize: 4096)) == 1)
        #expect(Self.rows(Self.leaf(cells: 3, last: 16, pageSize: 4096)) == 3)
        #expect(Self.rows(Self.leaf(cells: 1, last: 20_000, pageSize: 32768)) == 1)
    }

    @Test("thousands of cells that share one row's bytes are not all read")
    func shared() {
        // Two pages, each of which may be read sixteen times; the last row may go beyond.
        let rows = Self.rows(Self.leaf(cells: 5000, last: 20_000, pageSize: 32768))
        #expect(rows > 0 && rows <= 2 * 16 * 32768 / 20_000 + 1)
    }

    @Test("a log that says that the database has four billion pages does not have four billion read")
    func manyPages() {
        let page = Data(Self.leaf(cells: 1, last: 16, pageSize: 512).dropFirst(512))
        let salt = Data([1, 2, 3, 4, 5, 6, 7, 8])
        var log = Self.number(0x377F_0682) + Self.number(3_007_000) + Self.number(512) + Self.number(0) + salt
        log += Data(count: 8)
        log += Self.number(.max - 1) + Self.number(.max) + salt + Data(count: 8) + page
        let file = Self.head(pageSize: 512) + Data(count: 412)
        // The page of that number is in the log: it is read, and no other.
        #expect(Self.rows(file, log: log) == 1)
    }
}
