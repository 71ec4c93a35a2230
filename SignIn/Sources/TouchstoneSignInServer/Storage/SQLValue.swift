import Foundation

/// What a statement is given and what a row has: the three types that the schema uses, in both databases.
enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    /// PostgreSQL has no U+0000 in a text. It becomes U+FFFD in both databases, so that no text is cut there.
    case text(String)
    case bytes(Data)

    /// Microseconds since 1970, which PostgreSQL's own times have as well.
    ///
    /// Times beyond ±290,000 years are cut there.
    static func time(_ date: Date) -> Self {
        let farthest = 9.2e18
        return .integer(Int64(max(-farthest, min(farthest, (date.timeIntervalSince1970 * 1e6).rounded()))))
    }

    /// Eight bytes, big-endian, as in the signed message: compared as bytes they are in the order of the numbers, all of them.
    static func counter(_ counter: UInt64) -> Self {
        unsafe .bytes(withUnsafeBytes(of: counter.bigEndian) { unsafe Data($0) })
    }

    static func optional(_ bytes: Data?) -> Self { bytes.map(Self.bytes) ?? .null }
    static func optional(_ text: String?) -> Self { text.map(Self.text) ?? .null }
    static func optional(_ date: Date?) -> Self { date.map(Self.time) ?? .null }

    static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }
}

/// One row of an answer.
///
/// If the type is another one, this program's schema did not write it.
struct SQLRow: Sendable {
    var values: [SQLValue]

    func bytes(_ index: Int) throws -> Data {
        guard case .bytes(let value) = values[index] else { throw foreign(index) }
        return value
    }

    func text(_ index: Int) throws -> String {
        guard case .text(let value) = values[index] else { throw foreign(index) }
        return value
    }

    func integer(_ index: Int) throws -> Int64 {
        guard case .integer(let value) = values[index] else { throw foreign(index) }
        return value
    }

    func time(_ index: Int) throws -> Date { Date(timeIntervalSince1970: Double(try integer(index)) / 1e6) }

    func counter(_ index: Int) throws -> UInt64 {
        let bytes = try bytes(index)
        guard bytes.count == 8 else { throw foreign(index) }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A word of this program; an unknown one was written by a newer version.
    func word<Word: RawRepresentable>(_ index: Int, as _: Word.Type) throws -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: try text(index)) else { throw foreign(index) }
        return word
    }

    func optional<Value>(_ index: Int, _ read: (Int) throws -> Value) throws -> Value? {
        values[index] == .null ? nil : try read(index)
    }

    private func foreign(_ index: Int) -> StoreError {
        .schema("column \(index + 1) of a row is not what this program writes: is it a newer program's database?")
    }
}
