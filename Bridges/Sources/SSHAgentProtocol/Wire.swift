/// Reads the values of ssh's wire format, one after the other; what is not there is nil, and nothing is read twice.
struct WireReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = ArraySlice(Array(bytes)) }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func number() -> UInt32? {
        guard rest.count >= 4 else { return nil }
        let value = rest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        rest.removeFirst(4)
        return value
    }

    /// A number of 64 bits.
    mutating func long() -> UInt64? {
        guard let high = number(), let low = number() else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }

    mutating func string() -> [UInt8]? {
        guard let count = number(), rest.count >= Int(count) else { return nil }
        defer { rest.removeFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }

    /// A string that is UTF-8.
    mutating func text() -> String? { string().flatMap { String(validating: $0, as: UTF8.self) } }

    mutating func skip(_ bytes: [UInt8]) -> Bool {
        guard rest.starts(with: bytes) else { return false }
        rest.removeFirst(bytes.count)
        return true
    }

    /// A number that is not negative, without leading zeros.
    mutating func magnitude() -> [UInt8]? {
        guard let bytes = string(), bytes.first.map({ $0 < 0x80 }) ?? true else { return nil }
        return Array(bytes.drop { $0 == 0 })
    }
}

/// Writes the values of ssh's wire format.
struct WireWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func number(_ value: Int) {
        // What is written here is our own, and shorter than 4 GiB.
        let value = UInt32(clamping: value)
        bytes += [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }

    mutating func string(_ value: some Collection<UInt8>) {
        number(value.count)
        bytes += value
    }

    mutating func text(_ value: String) { string(Array(value.utf8)) }

    /// An mpint: as few bytes as it takes, and a zero before them where the top bit is set (SA-4).
    mutating func magnitude(_ value: some Collection<UInt8>) {
        let digits = Array(value.drop { $0 == 0 })
        string((digits.first.map { $0 >= 0x80 } ?? false) ? [0] + digits : digits)
    }
}
