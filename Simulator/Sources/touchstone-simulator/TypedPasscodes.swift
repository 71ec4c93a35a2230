import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import TouchstoneDevice

/// What was typed, as the page sends it: each entry in UTF-8, with a zero byte between two.
///
/// Unchecked: one thread makes it and hands it to one other thread, which is the last to use it.
struct TypedPasscodes: @unchecked Sendable {
    private let all: [PasscodeBuffer]

    /// Takes it out of what was received, and leaves zeros in that buffer; the server's own buffer may have it until it is read into again.
    init(takingFrom received: inout ByteBuffer) {
        var entries = [PasscodeBuffer()]
        unsafe received.withUnsafeMutableReadableBytes { bytes in
            for index in bytes.indices {
                if unsafe bytes[index] == 0 {
                    entries.append(PasscodeBuffer())
                } else {
                    unsafe entries[entries.count - 1].append(bytes[index])
                }
                unsafe bytes[index] = 0
            }
        }
        all = entries
    }

    /// - Throws: `Refusal` if there are more or fewer.
    func entries(_ count: Int) throws(Refusal) -> [PasscodeBuffer] {
        guard all.count == count else { throw Refusal(.badRequest) }
        return all
    }
}

/// What a passcode is entered for.
enum PasscodeUse: Sendable {
    case unlock
    /// The current one, then the new one, of this kind; empty for none.
    case change(kind: String)
    case eraseData(Bool)
    /// The prompt with this identifier, in the phase in which the page showed it.
    case prompt(String, phase: String)

    /// `unlock`, `change?kind=…`, `erase-data?isOn=…`, `prompt?prompt=…&phase=…`.
    ///
    /// - Throws: `Refusal`.
    init(_ name: String, _ query: FlatDictionary<Substring, Substring>) throws(Refusal) {
        switch name {
        case "unlock": self = .unlock
        case "change":
            guard let kind = query["kind"], ["fourDigit", "sixDigit", "numeric", "alphanumeric"].contains(kind) else {
                throw Refusal(.badRequest)
            }
            self = .change(kind: String(kind))
        case "erase-data":
            guard let isOn = query["isOn"].flatMap({ Bool(String($0)) }) else { throw Refusal(.badRequest) }
            self = .eraseData(isOn)
        case "prompt":
            guard let prompt = query["prompt"], let phase = query["phase"] else { throw Refusal(.badRequest) }
            self = .prompt(String(prompt), phase: String(phase))
        default: throw Refusal(.notFound)
        }
    }
}
