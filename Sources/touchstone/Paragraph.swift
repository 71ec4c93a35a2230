import TouchstoneCore

/// Sentences as lines of the terminal.
enum Paragraph {
    /// Text to the width of the terminal, and whole if standard output is not a terminal, because a script takes it line by line.
    ///
    /// - Parameters:
    ///   - text: One sentence or more, without a line break.
    ///   - indent: What stands before the first line; later lines begin with as many spaces.
    ///   - columns: Of the terminal; nil: not a terminal.
    /// - Returns: The lines.
    static func lines(_ text: String, indent: String = "", columns: Int? = width) -> [String] {
        guard let columns else { return [indent + text] }
        let margin = PlainText.columns(indent)
        let lines = PlainText.wrap(text, columns: max(minimum, min(columns, maximum) - margin))
        let later = String(repeating: " ", count: margin)
        return lines.enumerated().map { ($0.offset == 0 ? indent : later) + $0.element }
    }

    static var width: Int? { Terminal.isOutput ? Terminal.columns : nil }

    /// Longer lines are hard to read.
    private static let maximum = 100
    private static let minimum = 20
}
