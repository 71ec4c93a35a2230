/// Text from elsewhere, made safe to print: no control characters, no direction overrides, no line breaks.
package enum PlainText {
    /// Longest text that is shown, in characters; the rest is cut off visibly.
    package static let maximumLength = 600

    package static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumLength) {
            line.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
        }
        if text.unicodeScalars.count > maximumLength { line.append("…") }
        return String(line)
    }

    package static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
        default: true
        }
    }
}
