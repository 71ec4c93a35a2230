/// What a client is answered.
public enum Answer: Hashable, Sendable {
    /// There is no result.
    case failed(ReturnValue)
    /// The values that the call's signature names.
    case done([AnswerValue])

    /// The body of a frame.
    ///
    /// - Parameter call: What was asked; nil where nobody can tell, and then the answer is an error.
    /// - Returns: Its bytes.
    public func body(of call: Call?) -> [UInt8] {
        var writer = Writer()
        guard case .done(let values) = self, let call, let signature = call.signature?.answer,
            values.map(\.letters).joined() == signature
        else {
            writer.word(0)
            writer.string(Array("u".utf8))
            writer.number(code.rawValue)
            return writer.bytes
        }
        writer.word(call.rawValue)
        writer.string(Array(signature.utf8))
        for value in values { value.write(&writer) }
        return writer.bytes
    }

    /// Never 0, which is no error to a client.
    private var code: ReturnValue {
        guard case .failed(let code) = self, code != .ok else { return .deviceError }
        return code
    }
}

/// A value of an answer.
public enum AnswerValue: Hashable, Sendable {
    case number(UInt64)
    case version(UInt8, UInt8)
    /// A text of this many bytes, filled up with spaces; cut where it is longer.
    case text(String, Int)
    case numbers([UInt64])
    case bytes([UInt8])
    /// Instead of a list of numbers that the client has no room for: how many they are.
    case countOfNumbers(Int)
    /// Instead of a list of bytes that the client has no room for: how many they are.
    case countOfBytes(Int)
    case attributes([Attribute])

    var letters: String {
        switch self {
        case .number: "u"
        case .version: "v"
        case .text: "s"
        case .numbers, .countOfNumbers: "au"
        case .bytes, .countOfBytes: "ay"
        case .attributes: "aA"
        }
    }

    func write(_ writer: inout Writer) {
        switch self {
        case .number(let number): writer.number(number)
        case .version(let major, let minor):
            writer.byte(major)
            writer.byte(minor)
        case .text(let text, let length): writer.string(Self.padded(text, length))
        case .numbers(let list): writer.list(list)
        case .bytes(let bytes): writer.list(bytes)
        case .countOfNumbers(let count), .countOfBytes(let count): writer.length(count)
        case .attributes(let list): writer.attributes(list)
        }
    }

    /// Whole characters only.
    private static func padded(_ text: String, _ length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let next = Array(String(scalar).utf8)
            guard bytes.count + next.count <= length else { break }
            bytes += next
        }
        return bytes + Array(repeating: UInt8(ascii: " "), count: length - bytes.count)
    }
}
