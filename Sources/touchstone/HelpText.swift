/// Help in the order in which people need it.
enum HelpText {
    /// Usage first, then what the command does with its examples, its arguments and subcommands, and last the lists of
    /// environment variables and exit statuses.
    ///
    /// - Parameter text: What the argument parser prints; anything but help stays as it is.
    /// - Returns: The text in that order.
    static func ordered(_ text: String) -> String {
        var paragraphs = text.split(separator: "\n\n", omittingEmptySubsequences: true).map(String.init)
        guard text.hasPrefix("OVERVIEW: "), let usage = paragraphs.firstIndex(where: { $0.hasPrefix("USAGE: ") }) else {
            return text
        }
        let first = paragraphs.remove(at: usage)
        let overview = paragraphs[..<usage]
        let lists = overview.filter(isList)
        let rest = paragraphs[usage...]
        return ([first] + overview.filter { !isList($0) } + rest + lists)
            .map { $0.hasPrefix("OVERVIEW: ") ? String($0.dropFirst("OVERVIEW: ".count)) : $0 }
            .map { $0.trimmingSuffix("\n") }.joined(separator: "\n\n") + "\n"
    }

    private static func isList(_ paragraph: String) -> Bool {
        paragraph.hasPrefix("ENVIRONMENT\n") || paragraph.hasPrefix("EXIT STATUS\n")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ end: Character) -> String {
        var text = self[...]
        while text.last == end { text.removeLast() }
        return String(text)
    }
}
