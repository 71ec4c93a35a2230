/// What gpg-agent has said to a pinentry, and what it wants next (PE-1).
///
/// Bytes in, values out: it opens, shows and keeps nothing.
public struct PinentrySession: Sendable {
    /// Most settings that are remembered.
    public static let maximumSettings = 64
    /// Most characters of a key's name.
    public static let maximumNameCount = 96

    /// What is to be done for a line.
    public enum Request: Equatable, Sendable {
        /// These lines are the answer.
        case answer([[UInt8]])
        /// A passphrase is wanted.
        case passphrase
        /// Something is to be shown or confirmed: the whole line.
        case dialog([UInt8])
        /// What is kept for this key is wrong.
        case forget(keygrip: String)
        /// It is done.
        case end
    }

    private struct Setting {
        /// What it sets: another one with this name takes its place.
        var name: [UInt8]
        var line: [UInt8]
    }

    private let processID: Int32
    private var settings: [Setting] = []
    private var description: [UInt8]?

    /// The key whose passphrase is wanted: 40 hexadecimal digits.
    ///
    /// Nil where it is not a key's, such as that of a file, or a new one.
    public private(set) var keygrip: String?
    /// Whether gpg-agent allows that a passphrase is kept elsewhere: the option `allow-external-password-cache`.
    public private(set) var allowsKeeping = false

    /// A new one.
    ///
    /// - Parameter processID: What `GETINFO pid` answers.
    public init(processID: Int32) { self.processID = processID }

    /// Whether gpg-agent said that the last passphrase was wrong.
    public var saysWrong: Bool { has("SETERROR") }

    /// Whether a new passphrase is chosen: it is typed twice.
    public var choosesNew: Bool { has("SETREPEAT") }

    /// What gpg-agent calls the key, as the owner reads it: the line in quotation marks, else the first one.
    public var keyName: String? {
        guard let text = description.flatMap({ AssuanText.unescaped($0) }) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).map(Self.printable).filter { !$0.isEmpty }
        let quoted = lines.first { $0.count > 2 && $0.hasPrefix("\"") && $0.hasSuffix("\"") }
        return (quoted.map { String($0.dropFirst().dropLast()) } ?? lines.first)
            .map { String($0.prefix(Self.maximumNameCount)) }
    }

    /// Takes a line of gpg-agent's.
    ///
    /// - Parameter line: Without its line feed.
    /// - Returns: What is to be done.
    public mutating func take(_ line: [UInt8]) -> Request {
        guard line.count <= AssuanText.maximumCount else { return .answer([PinentryError.lineTooLong.line]) }
        guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 }) else { return .answer([PinentryError.syntax.line]) }
        if line.isEmpty || line[0] == UInt8(ascii: "#") { return .answer([]) }
        let words = line.split(separator: 0x20, maxSplits: 1)
        let name = words.first.map { String(decoding: $0, as: UTF8.self).uppercased() } ?? ""
        let parameter = words.count > 1 ? Array(words[1].drop { $0 == 0x20 }) : []
        switch name {
        case "OPTION": return option(parameter, line)
        case "SETKEYINFO":
            keygrip = Self.keygrip(parameter)
            return Self.done
        case "SETDESC", "SETPROMPT", "SETREPEAT", "SETREPEATERROR", "SETREPEATOK", "SETERROR", "SETOK", "SETNOTOK",
            "SETCANCEL",
            "SETQUALITYBAR", "SETQUALITYBAR_TT", "SETGENPIN", "SETGENPIN_TT", "SETTITLE", "SETTIMEOUT":
            if name == "SETDESC" { description = parameter }
            return set(Array(name.utf8), line)
        case "GETPIN": return .passphrase
        case "CONFIRM", "MESSAGE": return .dialog(line)
        case "CLEARPASSPHRASE": return Self.keygrip(parameter).map { .forget(keygrip: $0) } ?? Self.done
        case "GETINFO": return information(parameter)
        case "RESET":
            self = PinentrySession(processID: processID)
            return Self.done
        case "NOP": return Self.done
        case "BYE": return .end
        default: return .answer([PinentryError.unknownCommand.line])
        }
    }

    /// Forgets what counts for one passphrase alone, as every pinentry does.
    public mutating func wasAsked() {
        let once: Set<String> = [
            "SETERROR", "SETREPEAT", "SETREPEATERROR", "SETREPEATOK", "SETQUALITYBAR", "SETQUALITYBAR_TT", "SETGENPIN",
            "SETGENPIN_TT",
        ]
        settings.removeAll { once.contains(String(decoding: $0.name, as: UTF8.self)) }
    }

    /// All settings, for another pinentry.
    ///
    /// Neither the key nor that a passphrase may be kept is among them: only one program keeps it.
    ///
    /// - Parameter notice: Stands above gpg-agent's own text.
    /// - Returns: Lines, each at most 1000 bytes.
    public func lines(notice: String? = nil) -> [[UInt8]] {
        var lines = settings.map(\.line)
        guard let notice else { return lines }
        let head = Array("SETDESC ".utf8) + AssuanText.escaped(notice.utf8)
        let line = Self.cut(head + (description.map { Array("%0A%0A".utf8) + $0 } ?? []))
        if let index = settings.firstIndex(where: { $0.name == Array("SETDESC".utf8) }) {
            lines[index] = line
        } else {
            lines.append(line)
        }
        return lines
    }

    // MARK: Commands

    private static let done = Request.answer([Array("OK".utf8)])

    private mutating func option(_ parameter: [UInt8], _ line: [UInt8]) -> Request {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") && $0 != 0x20 }
        guard !name.isEmpty else { return .answer([PinentryError.syntax.line]) }
        guard !name.elementsEqual("allow-external-password-cache".utf8) else {
            allowsKeeping = true
            return Self.done
        }
        return set(Array("OPTION ".utf8) + name, line)
    }

    private mutating func set(_ name: [UInt8], _ line: [UInt8]) -> Request {
        if let index = settings.firstIndex(where: { $0.name == name }) {
            settings[index].line = line
            return Self.done
        }
        guard settings.count < Self.maximumSettings else { return .answer([PinentryError.tooMuchData.line]) }
        settings.append(Setting(name: name, line: line))
        return Self.done
    }

    private func information(_ parameter: [UInt8]) -> Request {
        let answers = ["pid": "\(processID)", "flavor": "touchstone", "version": "1"]
        guard let answer = answers[String(decoding: parameter, as: UTF8.self)] else {
            return .answer([PinentryError.parameter.line])
        }
        return .answer([Array("D \(answer)".utf8), Array("OK".utf8)])
    }

    private func has(_ name: String) -> Bool { settings.contains { $0.name.elementsEqual(name.utf8) } }

    /// Of a key of gpg's (`n/`) or of ssh's (`s/`): these have the same number for as long as the key is there.
    private static func keygrip(_ parameter: [UInt8]) -> String? {
        guard parameter.count == 42, parameter.starts(with: "n/".utf8) || parameter.starts(with: "s/".utf8) else {
            return nil
        }
        let digits = String(decoding: parameter.dropFirst(2), as: UTF8.self).uppercased()
        return digits.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) } ? digits : nil
    }

    private static func printable(_ line: Substring) -> String {
        String(
            String.UnicodeScalarView(
                line.unicodeScalars.filter {
                    ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
                }))
    }

    /// A line that is too long loses its end, never half of an escape or of a character.
    private static func cut(_ line: [UInt8]) -> [UInt8] {
        guard line.count > AssuanText.maximumCount else { return line }
        let mark = Array("…".utf8)
        var end = AssuanText.maximumCount - mark.count
        while end > 0, line[end] & 0xC0 == 0x80 { end -= 1 }
        if let percent = line[max(0, end - 2)..<end].lastIndex(of: UInt8(ascii: "%")) { end = percent }
        return line[..<end] + mark
    }
}
