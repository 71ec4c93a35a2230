internal import Foundation

/// One message between age and a plugin, written as a stanza of an age file's header (AG-2).
public struct Stanza: Hashable, Sendable {
    /// What it is, and what belongs to it: at least one, each of printable ASCII without spaces.
    public var arguments: [String]
    /// What it carries.
    public var body: [UInt8]

    /// A stanza by its parts.
    public init(_ arguments: [String], body: [UInt8] = []) {
        self.arguments = arguments
        self.body = body
    }

    /// As it is written: a line of arguments, then lines of 64 characters and one that is shorter.
    public var encoded: [UInt8] {
        var text = "-> \(arguments.joined(separator: " "))\n"
        var rest = Substring(UnpaddedBase64.encode(body))
        while rest.count >= Limits.columns {
            text += "\(rest.prefix(Limits.columns))\n"
            rest = rest.dropFirst(Limits.columns)
        }
        text += "\(rest)\n"
        return Array(text.utf8)
    }

    enum Limits {
        static let columns = 64
    }
}

/// Why bytes are no message of the protocol.
public enum StanzaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not written as a stanza is, or not with what belongs to it.
    case malformed
    /// A stanza of more than ``StanzaReader/maximumCount`` bytes, or too many of them.
    case tooLong

    /// For a person.
    public var description: String {
        switch self {
        case .malformed: "what age sent is malformed"
        case .tooLong: "age sent too much"
        }
    }
}

/// Reads stanzas line by line.
public struct StanzaReader: Sendable {
    /// Most bytes of a stanza (AG-2).
    public static let maximumCount = 64 << 10

    private var arguments: [String]?
    private var text: [UInt8] = []
    private var count = 0

    /// Before the first line.
    public init() {}

    /// Whether nothing was begun that is not finished.
    public var isBetween: Bool { arguments == nil }

    /// Takes one line, without its end.
    ///
    /// - Returns: The stanza that ends with it; nil where that goes on.
    public mutating func take(_ line: [UInt8]) throws(StanzaError) -> Stanza? {
        count += line.count + 1
        guard count <= Self.maximumCount else { throw .tooLong }
        guard let arguments else {
            self.arguments = try Self.arguments(line)
            return nil
        }
        guard line.count <= Stanza.Limits.columns else { throw .malformed }
        text += line
        guard line.count < Stanza.Limits.columns else { return nil }
        guard let body = UnpaddedBase64.decode(text) else { throw .malformed }
        self = StanzaReader()
        return Stanza(arguments, body: body)
    }

    private static func arguments(_ line: [UInt8]) throws(StanzaError) -> [String] {
        guard line.starts(with: "-> ".utf8) else { throw .malformed }
        var found: [String] = []
        for part in line.dropFirst(3).split(separator: 0x20, omittingEmptySubsequences: false) {
            guard !part.isEmpty, part.allSatisfy({ (33...126).contains($0) }) else { throw .malformed }
            found.append(String(decoding: part, as: UTF8.self))
        }
        return found
    }
}

/// Base64 of RFC 4648 without padding, in its one canonical form.
enum UnpaddedBase64 {
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text = Data(bytes).base64EncodedString()
        while text.last == "=" { text.removeLast() }
        return text
    }

    /// - Returns: Nil where it has padding, a character that does not belong, or bits that are not zero at its end.
    static func decode(_ text: [UInt8]) -> [UInt8]? {
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: Data(text + padding)), encode(data).utf8.elementsEqual(text) else {
            return nil
        }
        return Array(data)
    }
}
