/// Where a log ends: the number of its last entry, and that entry's code.
package struct LogHead: Codable, Hashable, Sendable {
    /// 0 where there is none yet.
    package var sequence: Int
    /// 64 hexadecimal digits.
    package var code: String

    package init(sequence: Int, code: String) {
        self.sequence = sequence
        self.code = code
    }

    /// Before the first entry.
    package static let empty = LogHead(sequence: 0, code: String(repeating: "0", count: 64))
}
