import Foundation

/// Bytes from a store are not what they should be: too short, too long, or of another version.
package struct MalformedBytes: Error, Hashable {
    package init() {}
}

/// Reads what ``ByteWriter`` wrote, from bytes that anybody may have written: integers little-endian, lists with their length first.
struct ByteReader {
    private var rest: Data.SubSequence

    init(_ bytes: Data) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }
    var isAllZero: Bool { rest.allSatisfy { $0 == 0 } }

    mutating func bytes(_ count: Int) throws(MalformedBytes) -> Data {
        guard count >= 0, rest.count >= count else { throw .init() }
        defer { rest = rest.dropFirst(count) }
        return Data(rest.prefix(count))
    }

    mutating func integer<T: FixedWidthInteger>(_: T.Type) throws(MalformedBytes) -> T {
        try bytes(T.bitWidth / 8).reversed().reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    /// A counter of records or heads: at most 2⁵³, so that it is a number in JSON and in varlink, and has room above it.
    mutating func counter() throws(MalformedBytes) -> UInt64 {
        let number = try integer(UInt64.self)
        guard number <= 1 << 53 else { throw .init() }
        return number
    }

    /// Bytes with their length in front, `Length` wide, at most `maximum` of them.
    mutating func list<Length: FixedWidthInteger>(
        _: Length.Type, maximum: Int
    ) throws(MalformedBytes) -> Data {
        let count = try integer(Length.self)
        guard let count = Int(exactly: count), count <= maximum else { throw .init() }
        return try bytes(count)
    }

    mutating func end() throws(MalformedBytes) {
        guard rest.isEmpty else { throw .init() }
    }
}

/// Writes integers little-endian, and lists with their length first.
struct ByteWriter {
    private(set) var bytes = Data()

    mutating func add(_ more: Data) { bytes.append(more) }

    mutating func add(_ number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// The list's length, `Length` wide, then its bytes.
    mutating func add<Length: FixedWidthInteger>(_ list: Data, length: Length.Type) {
        add(Length(list.count))
        bytes.append(list)
    }
}
