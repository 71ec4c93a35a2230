/// Digits that can be read from across a desk.
enum LargeDigits {
    /// Three rows of each digit, as of a clock.
    private static let shapes = [
        " _ | ||_|", "     |  |", " _  _||_ ", " _  _| _|", "   |_|  |", " _ |_  _|", " _ |_ |_|", " _   |  |",
        " _ |_||_|",
        " _ |_| _|",
    ].map(Array.init)

    /// The digits as lines: large at a terminal, and in any case as they are, for a screen reader and for scripts.
    static func lines(_ digits: String, isLarge: Bool = Terminal.isOutput) -> [String] {
        let plain = "  \(digits.prefix(3)) \(digits.dropFirst(3))"
        guard isLarge else { return [plain] }
        let rows = (0..<3).map { row in
            let parts = digits.compactMap(\.wholeNumberValue).map { String(shapes[$0][row * 3..<row * 3 + 3]) }
            return "  " + parts.prefix(3).joined(separator: " ") + "    " + parts.dropFirst(3).joined(separator: " ")
        }
        return rows + ["", plain]
    }
}
