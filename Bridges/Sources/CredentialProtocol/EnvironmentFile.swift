/// A file of variables, one `NAME=VALUE` in each line, as `.env` files are written (EX-1).
///
/// Empty lines, lines that begin with `#`, and the word `export` before a name are allowed. A value in single quotes is taken as it stands.
/// In double quotes `\n`, `\t`, `\r`, `\"`, `\$` and `\\` stand for what they do in a shell. Without quotes it ends before white space and `#`. Nothing
/// is expanded and nothing is executed.
public struct EnvironmentFile: Equatable, Sendable {
    /// Most bytes of a file.
    public static let maximumCount = 1 << 20
    /// Most variables of a file.
    public static let maximumVariables = 4096

    /// A name and what it stands for.
    public struct Variable: Equatable, Sendable {
        /// Letters, digits and underscores, not beginning with a digit.
        public let name: String
        /// May be empty.
        public let value: String

        /// A variable by its parts.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// In the order of the file; of a name that is there twice the last counts.
    public let variables: [Variable]

    /// Reads a file.
    ///
    /// - Throws: `EnvironmentFileError`, which has the number of the line and no word of it.
    public init(_ bytes: some Collection<UInt8>) throws(EnvironmentFileError) {
        guard bytes.count <= Self.maximumCount else { throw .tooLong }
        var found: [Variable] = []
        var number = 0
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            number += 1
            guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else {
                throw .malformed(line: number)
            }
            let body = Self.trimmed(Substring(text))
            if body.isEmpty || body.hasPrefix("#") { continue }
            guard let variable = Self.variable(body) else { throw .malformed(line: number) }
            found.append(variable)
            guard found.count <= Self.maximumVariables else { throw .tooLong }
        }
        variables = found
    }

    /// Whether a text can be the name of a variable.
    public static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first), text.utf8.count <= 256 else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }

    private static func isSpace(_ character: Character) -> Bool {
        character == " " || character == "\t" || character == "\r"
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private static func variable(_ line: Substring) -> Variable? {
        var line = line
        if line.hasPrefix("export "), let after = line.firstIndex(of: " ") { line = trimmed(line[after...]) }
        guard let equals = line.firstIndex(of: "="), isName(line[..<equals]) else { return nil }
        let name = String(line[..<equals])
        let value = trimmed(line[line.index(after: equals)...])
        switch value.first {
        case "'":
            guard let (text, rest) = quoted(value.dropFirst(), until: "'", escapes: false), isEnd(rest) else {
                return nil
            }
            return Variable(name: name, value: text)
        case "\"":
            guard let (text, rest) = quoted(value.dropFirst(), until: "\"", escapes: true), isEnd(rest) else {
                return nil
            }
            return Variable(name: name, value: text)
        default:
            var text = value
            for index in value.indices where value[index] == "#" {
                guard index == value.startIndex || isSpace(value[value.index(before: index)]) else { continue }
                text = trimmed(value[..<index])
                break
            }
            return Variable(name: name, value: String(text))
        }
    }

    /// Whether nothing but a comment follows.
    private static func isEnd(_ rest: Substring) -> Bool {
        let rest = trimmed(rest)
        return rest.isEmpty || rest.hasPrefix("#")
    }

    private static func quoted(_ text: Substring, until end: Character, escapes: Bool) -> (String, Substring)? {
        var value = ""
        var rest = text
        while let character = rest.popFirst() {
            if character == end { return (value, rest) }
            guard escapes, character == "\\" else {
                value.append(character)
                continue
            }
            switch rest.popFirst() {
            case "n": value.append("\n")
            case "t": value.append("\t")
            case "r": value.append("\r")
            case "\"": value.append("\"")
            case "\\": value.append("\\")
            case "$": value.append("$")
            case let other?: value += "\\" + String(other)
            case nil: return nil
            }
        }
        return nil
    }
}

/// Why a file of variables is refused.
public enum EnvironmentFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// More than ``EnvironmentFile/maximumCount`` bytes, or more variables than ``EnvironmentFile/maximumVariables``.
    case tooLong
    /// This line, counted from 1, is not a variable.
    case malformed(line: Int)

    /// For a person.
    public var description: String {
        switch self {
        case .tooLong: "longer than 1 MiB, or more than 4096 variables"
        case .malformed(let line): "line \(line) is not of the form NAME=VALUE"
        }
    }
}
