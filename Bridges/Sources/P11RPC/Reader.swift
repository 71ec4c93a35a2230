/// Reads the values of p11-kit's wire format, one after the other; what is not there is nil, and nothing is read twice.
struct Reader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// A number of 32 bits.
    mutating func word() -> UInt32? { integer(4).map { UInt32($0) } }

    /// A number of 64 bits, `u`.
    mutating func number() -> UInt64? { integer(8) }

    private mutating func integer(_ count: Int) -> UInt64? {
        guard rest.count >= count else { return nil }
        defer { rest.removeFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, rest.count >= count else { return false }
        rest.removeFirst(count)
        return true
    }

    private static let null = UInt32.max

    /// A length and as many bytes; a null pointer is no bytes.
    mutating func string() -> [UInt8]? {
        guard let count = word() else { return nil }
        guard count != Self.null else { return [] }
        guard rest.count >= Int(count) else { return nil }
        defer { rest.removeFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }

    /// A list of bytes, `ay`: whether they are there, and then they, or how many they would be.
    mutating func bytes() -> [UInt8]? {
        guard let isThere = byte() else { return nil }
        guard isThere != 0 else { return word().map { _ in [] } }
        return string()
    }

    /// Passes over a list of bytes, of which no copy is made.
    mutating func skipBytes() -> Bool {
        guard let isThere = byte(), let count = word() else { return false }
        return isThere == 0 || count == Self.null || skip(Int(count))
    }

    /// The room of the caller for a list, `fy` or `fu`; 0 where they only want to know how long it is.
    mutating func room() -> Int? { word().map(Int.init) }

    /// A text, as a call's signature.
    mutating func text() -> String? { string().flatMap { String(validating: $0, as: UTF8.self) } }

    // MARK: Attributes

    /// A template, `aA`.
    mutating func attributes(depth: Int = 0) -> [Attribute]? {
        guard depth <= Attribute.deepest, let count = word(), count <= Attribute.mostOfList else { return nil }
        var list: [Attribute] = []
        for _ in 0..<count {
            guard let attribute = attribute(depth: depth) else { return nil }
            list.append(attribute)
        }
        return list
    }

    private mutating func attribute(depth: Int) -> Attribute? {
        guard let type = word().map(Attribute.Kind.init(rawValue:)), let isThere = byte() else { return nil }
        // A length that cannot be: the caller has no value.
        guard isThere != 0 else { return Attribute(type, nil) }
        guard let length = word() else { return nil }
        guard let value = value(of: type.form, depth) else { return nil }
        // An empty value is written as one of the type, which is not what the caller has.
        return Attribute(type, length == 0 ? .bytes([]) : value)
    }

    private mutating func value(of form: Attribute.Form, _ depth: Int) -> Attribute.Value? {
        switch form {
        case .flag: byte().map { .flag($0 != 0) }
        case .number: number().map { .number($0) }
        case .attributes: attributes(depth: depth + 1).map { .attributes($0) }
        case .mechanisms: mechanisms().map { .mechanisms($0) }
        case .bytes: string().map { .bytes($0) }
        }
    }

    private mutating func mechanisms() -> [UInt64]? {
        guard let count = word(), count <= Attribute.mostOfList else { return nil }
        var list: [UInt64] = []
        for _ in 0..<count {
            guard let mechanism = number() else { return nil }
            list.append(mechanism)
        }
        return list
    }

    /// What the caller wants to know, and the room that it has for each, `fA`.
    mutating func attributeRooms() -> [AttributeRoom]? {
        guard let count = word(), count <= Attribute.mostOfList else { return nil }
        var list: [AttributeRoom] = []
        for _ in 0..<count {
            guard let type = word(), let room = word() else { return nil }
            list.append(AttributeRoom(kind: Attribute.Kind(rawValue: type), room: Int(room)))
        }
        return list
    }

    // MARK: Mechanisms

    /// A mechanism, `M`.
    ///
    /// The parameters of one that this token does not have cannot be read: how they are written depends on the mechanism.
    mutating func mechanism() -> Mechanism? {
        guard let type = word() else { return nil }
        let mechanism = Mechanism(type: type)
        // Nothing follows the mark of "none"; behind one of ours stands what a mechanism without parameters has.
        if mechanism.isOurs { guard string() != nil else { return nil } }
        return mechanism
    }
}
