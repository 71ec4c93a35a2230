/// Sentences of one's own for a prompt that cannot name the client (BR-21).
public enum Sentence {
    private enum Limits {
        static let whole = 256
        static let path = 96
        static let part = 48
    }

    /// `WISH for “LAST-PART” (PATH)`, printable, at most 256 characters.
    ///
    /// - Parameters:
    ///   - wish: What the client wants: a verb, and what for.
    ///   - executable: The path of its program; nil where nobody knows.
    /// - Returns: The sentence.
    public static func reason(_ wish: String, for executable: String?) -> String {
        guard let executable else {
            return cut("\(printable(wish)) for a program that could not be identified", Limits.whole)
        }
        let path = shortened(printable(executable), Limits.path)
        let name = cut(printable(String(executable.split(separator: "/").last ?? "")), 48)
        let asker = " for “\(name)” (\(path))"
        return cut(printable(wish), Limits.whole - asker.unicodeScalars.count) + asker
    }

    /// Without anything that is not printable, or that could end a quotation.
    public static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                        "\u{FFFD}"
                    default: ["“", "”", "\"", "„", "‟"].contains(scalar) ? "'" : scalar
                    }
                }))
    }

    /// Printable, and both ends of it where it is longer than 48 scalars: part of a sentence whose end is seen, too.
    ///
    /// Scalars are counted here and below, since one character may have thousands of them.
    public static func short(_ text: String) -> String { shortened(printable(text), Limits.part) }

    private static func shortened(_ text: String, _ count: Int) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > count else { return text }
        let half = (count - 1) / 2
        return "\(String(scalars.prefix(half)))…\(String(scalars.suffix(half)))"
    }

    private static func cut(_ text: String, _ count: Int) -> String {
        let scalars = text.unicodeScalars
        return scalars.count > count ? "\(String(scalars.prefix(max(0, count - 1))))…" : text
    }
}
