/// A value of D-Bus, of the types that services here use.
public indirect enum BusValue: Hashable, Sendable {
    /// `s`.
    case string(String)
    /// `o`.
    case path(String)
    /// `b`.
    case boolean(Bool)
    /// `i`.
    case int32(Int32)
    /// `u`.
    case uint32(UInt32)
    /// `t`.
    case uint64(UInt64)
    /// `ay`.
    case bytes([UInt8])
    /// `h`.
    case descriptor(BusDescriptor)
    /// `a` and the type of its elements.
    case array(String, [BusValue])
    /// One of an array's `{…}`.
    case entry(BusValue, BusValue)
    /// `(…)`.
    case structure([BusValue])
    /// `v`.
    case variant(BusValue)

    /// Its type, as D-Bus writes it.
    public var signature: String {
        switch self {
        case .string: "s"
        case .path: "o"
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .uint64: "t"
        case .bytes: "ay"
        case .descriptor: "h"
        case .array(let element, _): "a\(element)"
        case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
        case .structure(let values): "(\(values.map(\.signature).joined()))"
        case .variant: "v"
        }
    }

    /// An array of paths.
    public static func paths(_ paths: [String]) -> BusValue { .array("o", paths.map(BusValue.path)) }

    /// A dictionary of texts.
    public static func texts(_ texts: [String: String]) -> BusValue {
        .array("{ss}", texts.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .string($0.value)) })
    }

    /// A dictionary of variants.
    public static func variants(_ values: [(String, BusValue)]) -> BusValue {
        .array("{sv}", values.map { .entry(.string($0.0), .variant($0.1)) })
    }

    /// Its text; nil of another type than `s`.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// Its path; nil of another type than `o`.
    public var object: String? {
        guard case .path(let path) = self else { return nil }
        return path
    }

    /// Its bytes; nil of another type than `ay`.
    public var data: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// Its descriptor; nil of another type than `h`.
    public var file: BusDescriptor? {
        guard case .descriptor(let descriptor) = self else { return nil }
        return descriptor
    }

    /// Its elements; nil of another type than an array, but `ay`.
    public var elements: [BusValue]? {
        guard case .array(_, let elements) = self else { return nil }
        return elements
    }

    /// What a dictionary has for each text; nil where it is no dictionary with texts as its keys.
    public var dictionary: [String: BusValue]? {
        guard let elements else { return nil }
        var found: [String: BusValue] = [:]
        for element in elements {
            guard case .entry(.string(let key), let value) = element else { return nil }
            if case .variant(let inner) = value { found[key] = inner } else { found[key] = value }
        }
        return found
    }

    /// A dictionary of texts; nil of another type than `a{ss}`.
    public var textDictionary: [String: String]? {
        guard signature == "a{ss}", let dictionary else { return nil }
        return dictionary.compactMapValues(\.text)
    }
}
