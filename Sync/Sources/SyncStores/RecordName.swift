/// The name of a record in a store: who wrote it, its place among what they wrote, and a label that only members understand.
///
/// A store sees all three. As text it is `WRITER-NUMBER-LABEL`, with the number as 16 hexadecimal digits.
package struct RecordName: Sendable, Hashable, CustomStringConvertible {
    /// Of a writer and of a label, in bytes.
    package static let longestPart = 64
    /// In bytes.
    package static let longest = 2 * longestPart + 18

    package let writer: String
    package let number: UInt64
    package let label: String

    /// Checks its parts.
    ///
    /// - Parameters:
    ///   - writer: 1…64 of the characters a–z and 0–9.
    ///   - number: Larger than that of everything the writer put before.
    ///   - label: As the writer.
    /// - Throws: `invalid` for other characters.
    package init(writer: String, number: UInt64, label: String) throws(StoreError) {
        guard Self.isPart(writer), Self.isPart(label) else {
            throw .invalid("a writer and a label have 1…\(Self.longestPart) of the characters a–z and 0–9")
        }
        (self.writer, self.number, self.label) = (writer, number, label)
    }

    /// Reads what `description` says; nil for every other text.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        self.init(writer: parts[0], rest: text[parts[1].startIndex...])
    }

    /// With the writer apart, as in a path.
    init?(writer: some StringProtocol, rest: some StringProtocol) {
        guard Self.isPart(writer), let dash = rest.firstIndex(of: "-") else { return nil }
        let label = rest[rest.index(after: dash)...]
        guard Self.isPart(label), let number = Self.number(rest[..<dash]) else { return nil }
        (self.writer, self.number, self.label) = (String(writer), number, String(label))
    }

    package var description: String { "\(writer)-\(rest)" }

    /// All but the writer.
    var rest: String { "\(Self.digits(number))-\(label)" }

    /// 16 digits, in whose order the numbers are.
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func number(_ text: some StringProtocol) -> UInt64? {
        guard text.utf8.count == 16, let number = UInt64(text, radix: 16), digits(number) == text else { return nil }
        return number
    }

    static func isPart(_ text: some StringProtocol) -> Bool {
        1...longestPart ~= text.utf8.count
            && text.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
            }
    }
}

extension RecordName: Comparable {
    package static func < (one: Self, other: Self) -> Bool {
        (one.writer, one.number, one.label) < (other.writer, other.number, other.label)
    }
}
