/// Lines of `security -i`: each is a command with its arguments (SC-8).
public enum SecurityLine {
    /// Most bytes of a line.
    public static let maximumCount = 64 << 10

    /// The words of a line.
    ///
    /// White space stands between them. In single or double quotation marks it is part of a word, and so is a mark of the other kind. A
    /// backslash takes the next byte as it is, also within quotation marks.
    ///
    /// - Parameter line: Without its line feed.
    /// - Returns: The words; of an empty line none.
    /// - Throws: `SecurityCommandError.malformed` for a line that is too long, has NUL, or ends within quotation marks or after a backslash.
    public static func words(_ line: some Collection<UInt8>) throws(SecurityCommandError) -> [[UInt8]] {
        guard line.count <= maximumCount, !line.contains(0) else { throw .malformed("the line") }
        var words: [[UInt8]] = []
        var word: [UInt8]?
        var mark: UInt8?
        var isEscaped = false
        for byte in line {
            switch byte {
            case _ where isEscaped:
                word = (word ?? []) + [byte]
                isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case _ where byte == mark: mark = nil
            case _ where mark != nil: word = (word ?? []) + [byte]
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                mark = byte
                // Nothing between two marks is a word, too.
                word = word ?? []
            case 0x20, 0x09...0x0D:
                if let done = word { words.append(done) }
                word = nil
            default: word = (word ?? []) + [byte]
            }
        }
        guard mark == nil, !isEscaped else { throw .malformed("the end of the line") }
        return words + (word.map { [$0] } ?? [])
    }
}
