/// The Assuan protocol between gpg-agent and a pinentry: lines, with a few bytes escaped as `%XX`.
public enum AssuanText {
    /// Most bytes of a line, without its line feed.
    public static let maximumCount = 1000

    /// The bytes of a text as they stand in a line.
    public static func escaped(_ text: some Sequence<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        for byte in text { appendEscaped(byte) { line.append($0) } }
        return line
    }

    /// Gives one byte as it stands in a line, piece by piece.
    ///
    /// - Parameters:
    ///   - byte: Of a text.
    ///   - append: Gets one byte, or three.
    public static func appendEscaped(_ byte: UInt8, _ append: (UInt8) -> Void) {
        guard byte < 0x20 || byte == UInt8(ascii: "%") || byte == 0x7F else { return append(byte) }
        append(UInt8(ascii: "%"))
        append(digit(byte >> 4))
        append(digit(byte & 0xF))
    }

    /// Gives the bytes that escaped text stands for, one by one, so that a secret is in no other memory.
    ///
    /// - Parameters:
    ///   - text: As it stands in a line.
    ///   - append: Gets each byte.
    /// - Returns: False where an escape is malformed.
    public static func unescape(_ text: some Sequence<UInt8>, _ append: (UInt8) -> Void) -> Bool {
        var rest = text.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                append(byte)
                continue
            }
            guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value) else { return false }
            append(high << 4 | low)
        }
        return true
    }

    /// The text that escaped text stands for; nil where an escape is malformed.
    public static func unescaped(_ text: some Sequence<UInt8>) -> String? {
        var bytes: [UInt8] = []
        return unescape(text) { bytes.append($0) } ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
}

/// Errors as a pinentry tells them: the numbers are libgpg-error's, of the source "Pinentry".
public enum PinentryError: UInt32, Sendable {
    case general = 83_886_081
    case noPinentry = 83_886_166
    case lineTooLong = 83_886_343
    case tooMuchData = 83_886_353
    case unknownCommand = 83_886_355
    case syntax = 83_886_356
    case parameter = 83_886_360

    /// The line that tells it.
    public var line: [UInt8] {
        let words =
            switch self {
            case .general: "The ordinary pinentry failed"
            case .noPinentry: "No ordinary pinentry is installed"
            case .lineTooLong: "Line too long"
            case .tooMuchData: "Too many settings"
            case .unknownCommand: "Unknown IPC command"
            case .syntax: "IPC syntax error"
            case .parameter: "IPC parameter error"
            }
        return Array("ERR \(rawValue) \(words) <Pinentry>".utf8)
    }
}

/// What a pinentry says, by the first word of the line.
public enum PinentryReply: Equatable, Sendable {
    /// It is done.
    case success
    /// It failed, or the person cancelled.
    case failure
    /// A part of what was typed: the bytes from ``dataStart`` on, escaped.
    case data
    /// It wants something in turn, up to a line `END`.
    case inquiry
    /// A comment or a state: nothing to be done.
    case remark
    /// No line of the protocol.
    case malformed

    /// Where what was typed begins in a line of data.
    public static let dataStart = 2

    /// Looks at a line.
    ///
    /// - Parameter line: Without its line feed.
    public init(_ line: some Collection<UInt8>) {
        func begins(_ word: String) -> Bool {
            line.starts(with: word.utf8) && line.dropFirst(word.utf8.count).first.map { $0 == 0x20 } ?? true
        }
        self =
            if line.count > AssuanText.maximumCount {
                .malformed
            } else if line.first == UInt8(ascii: "#") || begins("S") {
                .remark
            } else if begins("OK") {
                .success
            } else if begins("ERR") {
                .failure
            } else if begins("D") {
                .data
            } else if begins("INQUIRE") {
                .inquiry
            } else {
                .malformed
            }
    }
}
