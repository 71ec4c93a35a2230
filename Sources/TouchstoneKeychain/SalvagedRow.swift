import Foundation
import GRDB
import TouchstoneCore

/// A row of `item` as it lies on a page of the database file, found without the pages that lead to it.
///
/// Reads the leaf pages of SQLite's documented file format (https://www.sqlite.org/fileformat2.html). Every length and
/// offset is checked, because the file may hold anything. SQLite's own recovery (`sqlite3_recover`) is an extension that the
/// library of the system does not have.
struct SalvagedRow {
    var rowID: Int64
    /// By the table's columns, in their order.
    var values: [DatabaseValue]

    /// Hands out the rows of a database file.
    ///
    /// `log` is SQLite's write-ahead log beside it; a page that it has is read there, so that what was deleted stays so.
    static func scan(_ file: Data, log: Data, _ body: (SalvagedRow) -> Void) {
        var pages = Pages(file, log)
        for number in pages.numbers { pages.rows(on: number).forEach(body) }
    }

    /// Whether it can be an item: what else lies in the file is not.
    private init?(rowID: Int64, values: [DatabaseValue]) {
        func bytes(_ index: Int) -> Int? {
            if case .blob(let data) = values[index].storage { data.count } else { nil }
        }
        func text(_ index: Int) -> String? {
            if case .string(let text) = values[index].storage { text } else { nil }
        }
        guard rowID > 0, values.count >= 9, text(1).flatMap(ItemClass.init) != nil,
            bytes(2) == ItemIdentifier.length, bytes(3) == ItemIdentifier.length,
            text(4).flatMap(Accessibility.init) != nil, bytes(5) != nil, bytes(6) != nil, bytes(7) != nil
        else { return nil }
        self.rowID = rowID
        self.values = values
    }

    private struct Pages {
        private let file: Data
        private let log: Data
        /// Where in the log the last committed state of a page is.
        private let logged: [Int: Int]
        let size: Int
        let usable: Int
        /// How many there can be; the log may say any number.
        private let count: Int
        /// Bytes of rows that are still read.
        private var bytesLeft: Int

        /// Rows do not share their bytes: what says so, and would have more read than this often all that there is, is no damage.
        private static let readings = 16
        /// More than a table of ours has: a column that is empty takes a byte of the file, and more of our memory.
        private static let mostColumns = 256

        init(_ file: Data, _ log: Data) {
            self.file = file
            self.log = log
            let head = file.prefix(100)
            let told = head.count == 100 ? Int(head[head.startIndex + 16]) << 8 | Int(head[head.startIndex + 17]) : 0
            // Where the head is damaged, what SQLite makes by default.
            size = told == 1 ? 65536 : (512...32768).contains(told) && told.nonzeroBitCount == 1 ? told : 4096
            let reserved = head.count == 100 ? Int(head[head.startIndex + 20]) : 0
            usable = size - (size - reserved >= 480 ? reserved : 0)
            let (logged, committed) = Self.committed(log, pageSize: size)
            self.logged = logged
            count = min(committed ?? .max, max(file.count / size, logged.keys.max() ?? 0))
            bytesLeft = Self.readings * (file.count + log.count)
        }

        /// Those that are there.
        var numbers: [Int] {
            let inFile = min(count, file.count / size)
            return (0..<inFile).map { $0 + 1 } + logged.keys.filter { $0 > inFile && $0 <= count }.sorted()
        }

        /// The pages of the log by their numbers, up to its last commit, and how many the database has from then on.
        private static func committed(_ log: Data, pageSize: Int) -> (pages: [Int: Int], count: Int?) {
            func number(_ offset: Int) -> Int {
                log[(log.startIndex + offset)..<(log.startIndex + offset + 4)].reduce(0) { $0 << 8 | Int($1) }
            }
            let (head, frameHead) = (32, 24)
            guard log.count >= head, number(0) & ~1 == 0x377F_0682, number(8) == pageSize else { return ([:], nil) }
            var (pages, open): ([Int: Int], [Int: Int]) = ([:], [:])
            var count: Int?
            var place = head
            // Frames of an earlier round have another salt.
            while place + frameHead + pageSize <= log.count, number(place + 8) == number(16),
                number(place + 12) == number(20)
            {
                open[number(place)] = place + frameHead
                if number(place + 4) != 0 {
                    pages.merge(open) { $1 }
                    open = [:]
                    count = number(place + 4)
                }
                place += frameHead + pageSize
            }
            return (pages, count)
        }

        /// Whether the page is there at all: a file may have been cut.
        private func has(_ page: Int) -> Bool {
            (1...max(1, count)).contains(page) && (logged[page] != nil || page <= file.count / size)
        }

        private func byte(_ page: Int, _ offset: Int) -> Int {
            bytes(page, offset, 1).reduce(0) { $0 | Int($1) }
        }

        private func bytes(_ page: Int, _ offset: Int, _ count: Int) -> Data {
            if let place = logged[page] {
                let start = log.startIndex + place + offset
                return log[start..<(start + count)]
            }
            let start = file.startIndex + (page - 1) * size + offset
            return file[start..<(start + count)]
        }

        /// A varint and the offset after it; nil beyond the page.
        private func varint(_ page: Int, _ offset: Int) -> (Int64, Int)? {
            guard offset < usable else { return nil }
            let available = bytes(page, offset, min(9, usable - offset))
            guard let (value, count) = Pages.varint(available) else { return nil }
            return (value, offset + count)
        }

        static func varint(_ bytes: Data) -> (Int64, Int)? {
            var value: UInt64 = 0
            for (index, byte) in bytes.prefix(9).enumerated() {
                if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(byte)), 9) }
                value = value << 7 | UInt64(byte & 0x7F)
                if byte & 0x80 == 0 { return (Int64(bitPattern: value), index + 1) }
            }
            return nil
        }

        mutating func rows(on page: Int) -> [SalvagedRow] {
            guard has(page) else { return [] }
            let start = page == 1 ? 100 : 0
            // A leaf of a table.
            guard byte(page, start) == 0x0D else { return [] }
            let cells = byte(page, start + 3) << 8 | byte(page, start + 4)
            guard start + 8 + 2 * cells <= usable else { return [] }
            var rows: [SalvagedRow] = []
            for index in 0..<cells {
                let place = start + 8 + 2 * index
                if let row = row(page, byte(page, place) << 8 | byte(page, place + 1)) { rows.append(row) }
            }
            return rows
        }

        private mutating func row(_ page: Int, _ offset: Int) -> SalvagedRow? {
            guard let (length, afterLength) = varint(page, offset), let (rowID, start) = varint(page, afterLength),
                length >= 1, length <= Int64(min(BackupRecord.maximumBytes, file.count + log.count)), bytesLeft > 0,
                let payload = payload(page, start, Int(length)), let values = Self.values(payload)
            else { return nil }
            return SalvagedRow(rowID: rowID, values: values)
        }

        private mutating func payload(_ page: Int, _ start: Int, _ length: Int) -> Data? {
            let most = usable - 35
            let least = (usable - 12) * 32 / 255 - 23
            let spill = least + (length - least) % (usable - 4)
            let local = length <= most ? length : spill <= most ? spill : least
            guard start + local <= usable else { return nil }
            var payload = Data(bytes(page, start, local))
            defer { bytesLeft -= payload.count }
            guard local < length else { return payload }
            guard start + local + 4 <= usable else { return nil }
            var next = number(page, start + local)
            // Each page gives something, so that a ring of them ends too.
            while payload.count < length {
                guard has(next), payload.count < bytesLeft else { return nil }
                payload.append(bytes(next, 4, min(usable - 4, length - payload.count)))
                next = number(next, 0)
            }
            return payload
        }

        private func number(_ page: Int, _ offset: Int) -> Int {
            bytes(page, offset, 4).reduce(0) { $0 << 8 | Int($1) }
        }

        /// The columns of a record; nil if it is not a record, or holds other values than NULL, text and bytes.
        static func values(_ record: Data) -> [DatabaseValue]? {
            let record = Data(record)
            guard let (headLength, first) = varint(record), headLength <= Int64(record.count), headLength >= 1 else {
                return nil
            }
            var place = first
            var body = Int(headLength)
            var values: [DatabaseValue] = []
            while place < Int(headLength) {
                guard let (type, count) = varint(record.dropFirst(place)) else { return nil }
                place += count
                guard values.count < mostColumns else { return nil }
                if type == 0 {
                    values.append(.null)
                    continue
                }
                guard type >= 12, type <= Int64(2 * BackupRecord.maximumBytes) else { return nil }
                let length = Int(type - 12) / 2
                guard body + length <= record.count else { return nil }
                let bytes = Data(record[body..<(body + length)])
                body += length
                values.append(
                    type.isMultiple(of: 2)
                        ? bytes.databaseValue : String(decoding: bytes, as: UTF8.self).databaseValue)
            }
            return values
        }
    }
}
