import Foundation

/// Why a CSV file is not read.
///
/// No case has a word of the file, because each may be a password.
enum CSVError: Error, Equatable, CustomStringConvertible {
    case unreadable(String)
    case tooLarge
    case notText
    case quote(line: Int)
    case unended(line: Int)
    case empty
    case unknownHeader
    case columns(line: Int)

    /// A sentence without a full stop.
    var description: String {
        switch self {
        case .unreadable(let why): why
        case .tooLarge:
            "it has more than \(CSVTable.maximumBytes >> 20) MiB, \(CSVTable.maximumRows) lines, "
                + "\(CSVTable.maximumFields) columns, or a field of more than \(CSVTable.maximumFieldBytes >> 10) KiB"
        case .notText: "it is not text in UTF-8; export it again as CSV"
        case .quote(let line): "line \(line) has a quotation mark where none may be"
        case .unended(let line): "the quotation mark of line \(line) is not closed, so the end of the file is missing"
        case .empty: "it is empty"
        case .unknownHeader:
            "its first line is not one that KeePassXC, 1Password, Bitwarden or Touchstone writes; export it again as CSV"
        case .columns(let line): "line \(line) has another number of columns than the first line"
        }
    }
}

/// The rows of a CSV file (RFC 4180).
///
/// Fields are separated by commas. One that has a comma, a quotation mark or the end of a line stands in quotation marks, and each of its own
/// is doubled. Lines end with LF or CRLF. A mark of byte order at the beginning is no part of it, and empty lines are no rows.
struct CSVTable: Equatable {
    static let maximumBytes = 16 << 20
    static let maximumRows = 20_000
    static let maximumFields = 100
    static let maximumFieldBytes = 64 << 10

    /// A row, and the line where it begins, from 1.
    struct Row: Equatable {
        var line: Int
        var fields: [String]
    }

    private(set) var rows: [Row] = []

    /// Reads all of a file.
    init(_ bytes: [UInt8]) throws(CSVError) {
        guard bytes.count <= Self.maximumBytes else { throw .tooLarge }
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        var line = 1
        while !rest.isEmpty {
            let row = try Self.row(&rest, &line)
            guard row.fields != [""] else { continue }
            guard rows.count < Self.maximumRows else { throw .tooLarge }
            rows.append(row)
        }
    }

    private static func row(_ rest: inout ArraySlice<UInt8>, _ line: inout Int) throws(CSVError) -> Row {
        var row = Row(line: line, fields: [])
        while true {
            guard row.fields.count < maximumFields else { throw .tooLarge }
            row.fields.append(try field(&rest, &line))
            switch rest.popFirst() {
            case UInt8(ascii: ",")?: continue
            case nil: return row
            case UInt8(ascii: "\r")? where rest.first == UInt8(ascii: "\n"):
                rest.removeFirst()
                line += 1
                return row
            case UInt8(ascii: "\n")?:
                line += 1
                return row
            default: throw .quote(line: line)
            }
        }
    }

    /// One field, up to what ends it.
    private static func field(_ rest: inout ArraySlice<UInt8>, _ line: inout Int) throws(CSVError) -> String {
        var bytes: [UInt8] = []
        let begins = line
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest.removeFirst() }
        scan: while true {
            guard let byte = rest.first else {
                if isQuoted { throw .unended(line: begins) }
                break
            }
            switch byte {
            case UInt8(ascii: "\"") where !isQuoted: throw .quote(line: line)
            case UInt8(ascii: "\""):
                rest.removeFirst()
                guard rest.first == UInt8(ascii: "\"") else { break scan }
            case UInt8(ascii: ",") where !isQuoted, UInt8(ascii: "\n") where !isQuoted: break scan
            case UInt8(ascii: "\r") where !isQuoted && rest.dropFirst().first == UInt8(ascii: "\n"): break scan
            case UInt8(ascii: "\n"): line += 1
            default: break
            }
            rest.removeFirst()
            bytes.append(byte)
            guard bytes.count <= maximumFieldBytes else { throw .tooLarge }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText }
        return text
    }

    // MARK: Writing

    /// A row as it stands in a file: each field in quotation marks, and CRLF at the end.
    ///
    /// - Parameters:
    ///   - words: The fields before the secret.
    ///   - secret: The last field, in UTF-8.
    /// - Returns: The row, and the only copy of the secret that this makes.
    static func line(_ words: [String], secret: UnsafeRawBufferPointer) -> Data {
        var line = Data()
        // All of it at once: room that grows would leave copies.
        line.reserveCapacity(words.reduce(2 * secret.count + 4) { $0 + 2 * $1.utf8.count + 3 })
        for word in words {
            append(word.utf8, to: &line)
            line.append(UInt8(ascii: ","))
        }
        unsafe append(secret, to: &line)
        line.append(contentsOf: [0x0D, 0x0A])
        return line
    }

    private static func append(_ field: some Sequence<UInt8>, to line: inout Data) {
        let quote = UInt8(ascii: "\"")
        line.append(quote)
        for byte in field {
            if byte == quote { line.append(quote) }
            line.append(byte)
        }
        line.append(quote)
    }
}
