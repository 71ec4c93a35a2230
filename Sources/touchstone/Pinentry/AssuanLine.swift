import Foundation
import TouchstoneCore
import TouchstoneDevice

/// Lines of the Assuan protocol, which pinentry programs speak: at most 1000 bytes, with line ends escaped.
enum AssuanLine {
    static let maximumBytes = 1000

    /// A command to send, without its line feed; text that does not fit is cut at a character, visibly.
    static func command(_ name: String, _ text: String? = nil) -> Data {
        guard let text else { return Data(name.utf8) }
        var line = Data("\(name) ".utf8)
        let mark = Data("…".utf8)
        var end = line.count
        for character in text {
            line.append(contentsOf: character.utf8.flatMap(escape))
            guard line.count <= maximumBytes else { return line.prefix(end) + mark }
            if line.count + mark.count <= maximumBytes { end = line.count }
        }
        return line
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        guard byte < 0x20 || byte == UInt8(ascii: "%") || byte == 0x7F else { return [byte] }
        return [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// What a pinentry answers.
    enum Reply: Equatable {
        case ok
        /// A number of libgpg-error's, and its words.
        case error(code: UInt32, text: String)
        /// A part of what was asked for: it is in the buffer that was given.
        case data
        /// A comment or the progress of something: nothing to be done.
        case remark
        /// It wants something in turn.
        case inquiry
        case malformed
    }

    /// Reads one line; the data of a data line goes to `data`, and nowhere else.
    static func read(_ line: UnsafeRawBufferPointer, data: PasscodeBuffer) -> Reply {
        guard line.count <= maximumBytes else { return .malformed }
        func word(_ name: StaticString) -> Bool {
            let count = name.utf8CodeUnitCount
            guard line.count >= count, unsafe memcmp(line.baseAddress!, name.utf8Start, count) == 0 else {
                return false
            }
            return unsafe line.count == count || line[count] == UInt8(ascii: " ")
        }
        guard line.count > 0 else { return .malformed }
        if unsafe line[0] == UInt8(ascii: "#") || word("S") { return .remark }
        if word("OK") { return .ok }
        if word("ERR") { return unsafe error(line.dropFirst(3)) }
        if word("INQUIRE") { return .inquiry }
        guard word("D") else { return .malformed }
        var index = 2
        while index < line.count {
            var byte = unsafe line[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < line.count, let high = unsafe value(line[index]),
                    let low = unsafe value(line[index + 1])
                else { return .malformed }
                byte = high << 4 | low
                index += 2
            }
            data.append(byte)
        }
        return .data
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func error(_ rest: Slice<UnsafeRawBufferPointer>) -> Reply {
        let words = unsafe String(decoding: rest, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard let code = words.first.flatMap({ UInt32($0) }) else { return .malformed }
        return .error(code: code, text: words.count > 1 ? PlainText.line(String(words[1])) : "")
    }

    /// `GPG_ERR_CANCELED` of the pinentry's own source.
    static let canceled: UInt32 = 83_886_179
    /// `GPG_ERR_NOT_CONFIRMED` of the pinentry's own source: the third button.
    static let notConfirmed: UInt32 = 83_886_194
}
