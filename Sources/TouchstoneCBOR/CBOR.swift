/// Another form than the canonical one, bytes that end too early, or a kind of value that CTAP and WebAuthn do not use.
public struct MalformedCBOR: Error, Hashable, Sendable {}

/// A value in CTAP2's canonical CBOR: the shortest form of everything, lengths in front, keys in order, at most four levels (FD-8).
public enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number -1 - value.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    case map([CBOR: CBOR])
    case boolean(Bool)

    /// Most levels of arrays and maps.
    public static let mostLevels = 4

    /// A number that is small enough, as all are that CTAP names.
    public init(_ number: Int) {
        self = number < 0 ? .negative(UInt64(-1 - number)) : .unsigned(UInt64(number))
    }

    /// The number, if it is one that fits.
    public var number: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    // MARK: Writing

    /// Its bytes.
    public var encoded: [UInt8] {
        switch self {
        case .unsigned(let value): return Self.head(0, value)
        case .negative(let value): return Self.head(1, value)
        case .bytes(let bytes): return Self.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): return Self.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let values): return Self.head(4, UInt64(values.count)) + values.flatMap(\.encoded)
        case .map(let values):
            let pairs = values.map { (key: $0.key.encoded, value: $0.value) }
                .sorted { Self.isBefore($0.key[...], $1.key[...]) }
            return Self.head(5, UInt64(pairs.count)) + pairs.flatMap { $0.key + $0.value.encoded }
        case .boolean(let value): return [value ? 0xF5 : 0xF4]
        }
    }

    private static func head(_ kind: UInt8, _ value: UInt64) -> [UInt8] {
        func big(_ count: Int) -> [UInt8] { (1...count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - $0))) } }
        return switch value {
        case 0..<24: [kind << 5 | UInt8(value)]
        case 0...0xFF: [kind << 5 | 24] + big(1)
        case 0...0xFFFF: [kind << 5 | 25] + big(2)
        case 0...0xFFFF_FFFF: [kind << 5 | 26] + big(4)
        default: [kind << 5 | 27] + big(8)
        }
    }

    /// The order of keys: by kind, then the shorter one first, then byte by byte.
    private static func isBefore(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Bool {
        guard let first = one.first, let second = other.first else { return one.count < other.count }
        guard first >> 5 == second >> 5 else { return first >> 5 < second >> 5 }
        guard one.count == other.count else { return one.count < other.count }
        return one.lexicographicallyPrecedes(other)
    }

    // MARK: Reading

    /// Reads one value, and nothing behind it.
    ///
    /// - Throws: ``MalformedCBOR``.
    public init(_ bytes: [UInt8]) throws(MalformedCBOR) {
        var rest = bytes[...]
        try self.init(takenFrom: &rest)
        guard rest.isEmpty else { throw MalformedCBOR() }
    }

    /// Reads one value, and leaves what is behind it.
    ///
    /// - Parameter bytes: The value's are taken from their beginning; after an error they are as they were.
    /// - Throws: ``MalformedCBOR``.
    public init(takenFrom bytes: inout ArraySlice<UInt8>) throws(MalformedCBOR) {
        var reader = Reader(rest: bytes)
        self = try reader.value(level: 0)
        bytes = reader.rest
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func take(_ count: UInt64) throws(MalformedCBOR) -> ArraySlice<UInt8> {
            guard let count = Int(exactly: count), count <= rest.count else { throw MalformedCBOR() }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func head() throws(MalformedCBOR) -> (kind: UInt8, value: UInt64) {
            guard let first = rest.popFirst() else { throw MalformedCBOR() }
            let small = first & 0x1F
            guard small >= 24 else { return (first >> 5, UInt64(small)) }
            guard small <= 27 else { throw MalformedCBOR() }
            let value = try take(1 << UInt64(small - 24)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let least: [UInt64] = [24, 0x100, 0x1_0000, 0x1_0000_0000]
            guard value >= least[Int(small - 24)] else { throw MalformedCBOR() }
            return (first >> 5, value)
        }

        mutating func value(level: Int) throws(MalformedCBOR) -> CBOR {
            let (kind, value) = try head()
            switch kind {
            case 0: return .unsigned(value)
            case 1: return .negative(value)
            case 2: return .bytes(Array(try take(value)))
            case 3:
                guard let text = String(validating: try take(value), as: UTF8.self) else { throw MalformedCBOR() }
                return .text(text)
            case 4:
                // Each value has a byte at least, so nobody can ask for more room than they sent.
                guard level < CBOR.mostLevels, value <= UInt64(rest.count) else { throw MalformedCBOR() }
                var values: [CBOR] = []
                for _ in 0..<value { values.append(try self.value(level: level + 1)) }
                return .array(values)
            case 5:
                guard level < CBOR.mostLevels, value <= UInt64(rest.count / 2) else { throw MalformedCBOR() }
                var values: [CBOR: CBOR] = [:]
                var last: ArraySlice<UInt8>?
                for _ in 0..<value {
                    let before = rest
                    let key = try self.value(level: level + 1)
                    let bytes = before.prefix(before.count - rest.count)
                    if let last, !CBOR.isBefore(last, bytes) { throw MalformedCBOR() }
                    last = bytes
                    // Two texts that Swift takes for the same are no two keys.
                    guard values.updateValue(try self.value(level: level + 1), forKey: key) == nil else {
                        throw MalformedCBOR()
                    }
                }
                return .map(values)
            case 7 where value == 20 || value == 21: return .boolean(value == 21)
            default: throw MalformedCBOR()
            }
        }
    }
}

extension CBOR {
    /// A map with numbers for keys; what is nil is left out.
    ///
    /// - Parameter pairs: Each key once.
    /// - Returns: The map.
    public static func entries(_ pairs: [(Int, CBOR?)]) -> CBOR {
        .map(Dictionary(uniqueKeysWithValues: pairs.compactMap { pair in pair.1.map { (CBOR(pair.0), $0) } }))
    }

    /// A map with texts for keys; what is nil is left out.
    ///
    /// - Parameter pairs: Each key once.
    /// - Returns: The map.
    public static func names(_ pairs: [(String, CBOR?)]) -> CBOR {
        .map(Dictionary(uniqueKeysWithValues: pairs.compactMap { pair in pair.1.map { (.text(pair.0), $0) } }))
    }
}
