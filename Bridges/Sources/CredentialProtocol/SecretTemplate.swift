/// A text with places for secrets: `{{ touchstone://SERVICE/ACCOUNT }}` (EX-1).
///
/// Other braces stay as they are.
public struct SecretTemplate: Equatable, Sendable {
    /// Most bytes of a text.
    public static let maximumCount = 1 << 20
    /// Most places in a text.
    public static let maximumReferences = 1024

    /// A stretch of the text, or a place in it.
    public enum Piece: Equatable, Sendable {
        /// Goes through as it is.
        case text([UInt8])
        /// Is replaced.
        case reference(SecretReference)
    }

    /// In the order of the text.
    public let pieces: [Piece]

    /// What the text refers to, each once, in the order in which they first come.
    public var references: [SecretReference] {
        var seen: Set<SecretReference> = []
        return pieces.compactMap { piece in
            guard case .reference(let reference) = piece, seen.insert(reference).inserted else { return nil }
            return reference
        }
    }

    /// Reads a text.
    ///
    /// - Throws: `SecretTemplateError`. What begins like a reference between braces has to be one.
    public init(_ bytes: [UInt8]) throws(SecretTemplateError) {
        guard bytes.count <= Self.maximumCount else { throw .tooLong }
        var pieces: [Piece] = []
        var start = 0
        var index = 0
        var count = 0
        while index + 1 < bytes.count {
            guard bytes[index] == UInt8(ascii: "{"), bytes[index + 1] == UInt8(ascii: "{"),
                let (name, end) = Self.name(bytes, index + 2)
            else {
                index += 1
                continue
            }
            guard let reference = SecretReference(name) else { throw .malformed(offset: index) }
            count += 1
            guard count <= Self.maximumReferences else { throw .tooLong }
            if start < index { pieces.append(.text(Array(bytes[start..<index]))) }
            pieces.append(.reference(reference))
            index = end
            start = end
        }
        if start < bytes.count { pieces.append(.text(Array(bytes[start...]))) }
        self.pieces = pieces
    }

    /// What stands between the braces that open before `start`, where it begins like a reference, and where what follows them begins.
    private static func name(_ bytes: [UInt8], _ start: Int) -> (String, end: Int)? {
        var first = start
        while first < bytes.count, bytes[first] == 0x20 { first += 1 }
        guard bytes[first...].starts(with: SecretReference.prefix.utf8) else { return nil }
        var index = first
        let limit = min(bytes.count - 1, first + SecretReference.maximumCount + 16)
        while index < limit {
            if bytes[index] == UInt8(ascii: "}"), bytes[index + 1] == UInt8(ascii: "}") {
                var name = bytes[first..<index]
                while name.last == 0x20 { name.removeLast() }
                return (String(decoding: name, as: UTF8.self), index + 2)
            }
            index += 1
        }
        // It opens and does not close: no name, which is refused.
        return ("", index)
    }
}

/// Why a text with places for secrets is refused.
public enum SecretTemplateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// More than ``SecretTemplate/maximumCount`` bytes, or more places than ``SecretTemplate/maximumReferences``.
    case tooLong
    /// At this byte begins what looks like a reference and is not one.
    case malformed(offset: Int)

    /// For a person.
    public var description: String {
        switch self {
        case .tooLong: "longer than 1 MiB, or more than 1024 references"
        case .malformed(let offset): "the reference at byte \(offset) is malformed"
        }
    }
}
