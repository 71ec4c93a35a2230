extension PlainText {
    /// Whole seconds of a number from the device, which may be any number: 0...1,000,000.
    package static func seconds(_ seconds: Double) -> Int {
        seconds > 0 ? Int(min(seconds, 1_000_000).rounded(.up)) : 0
    }

    /// At most so many bytes of it, without its middle if it is longer, because both ends of a path are informative.
    ///
    /// Marks that look like our quotation marks become plain ones, so that a text cannot seem to end the quotation.
    package static func quotable(_ text: String, bytes limit: Int) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            isHarmless(scalar) ? isQuotationMark(scalar) ? "'" : scalar : "\u{FFFD}"
        }
        guard scalars.reduce(0, { $0 + bytes($1) }) > limit else { return String(String.UnicodeScalarView(scalars)) }
        func fitting(_ scalars: some Sequence<Unicode.Scalar>) -> [Unicode.Scalar] {
            var left = (limit - bytes("…")) / 2
            return Array(
                scalars.prefix { scalar in
                    left -= bytes(scalar)
                    return left >= 0
                })
        }
        return String(String.UnicodeScalarView(fitting(scalars) + ["…"] + fitting(scalars.reversed()).reversed()))
    }

    /// As a pinentry is sent it: there a percent sign is escaped.
    private static func bytes(_ scalar: Unicode.Scalar) -> Int { scalar == "%" ? 3 : UTF8.width(scalar) }

    private static func isQuotationMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x22, 0x2BA, 0x2DD, 0x2EE, 0x5F4, 0x201C...0x201F, 0x2033, 0x2036, 0x275D, 0x275E, 0x2760,
            0x301D...0x301F, 0x3003, 0xFF02, 0x1F676...0x1F678:
            true
        default: false
        }
    }

    /// Number of terminal columns, near enough for drawing: East Asian wide characters and emoji count twice.
    package static func columns(_ text: String) -> Int {
        text.reduce(0) { $0 + ($1.unicodeScalars.contains(where: isWide) ? 2 : 1) }
    }

    /// Breaks at spaces, and inside words that are longer than a line.
    package static func wrap(_ text: String, columns width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        func finish() {
            lines.append(line)
            line = ""
        }
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            if !line.isEmpty, columns(line) + 1 + columns(String(word)) > width { finish() }
            if !line.isEmpty { line.append(" ") }
            for character in word {
                if columns(line) + columns(String(character)) > width { finish() }
                line.append(character)
            }
        }
        if !line.isEmpty || lines.isEmpty { finish() }
        return lines
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
