/// What a client asks of an ssh agent (SA-2).
public enum AgentRequest: Hashable, Sendable {
    case identities
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    case lock(passphrase: [UInt8])
    case unlock(passphrase: [UInt8])
    case `extension`(name: String, contents: [UInt8])
    /// A message that is known or not, and that this agent does not serve.
    case other(type: UInt8)
    /// A message of a known type that is not in its form.
    case malformed

    /// The most bytes behind a length (SA-1).
    public static let longest = 256 << 10

    /// How long the frame is that begins with these bytes, with its length; nil where they do not say it yet, 0 where no frame begins so.
    public static func frameLength(_ bytes: [UInt8]) -> Int? {
        var reader = WireReader(bytes.prefix(4))
        guard let length = reader.number() else { return nil }
        return (1...longest).contains(Int(length)) ? Int(length) + 4 : 0
    }

    /// Reads a frame.
    ///
    /// - Parameter frame: With its length.
    public init(frame: [UInt8]) {
        var reader = WireReader(frame.dropFirst(4))
        guard let type = reader.byte() else {
            self = .malformed
            return
        }
        self = Self.body(type, &reader) ?? .malformed
    }

    private static func body(_ type: UInt8, _ reader: inout WireReader) -> AgentRequest? {
        switch type {
        case 11: return .identities
        case 13:
            guard let key = reader.string(), let data = reader.string(), let flags = reader.number(), reader.isAtEnd
            else { return nil }
            return .sign(key: key, data: data, flags: flags)
        case 22, 23:
            guard let passphrase = reader.string(), reader.isAtEnd else { return nil }
            return type == 22 ? .lock(passphrase: passphrase) : .unlock(passphrase: passphrase)
        case 27:
            guard let name = reader.text() else { return nil }
            var contents: [UInt8] = []
            while let byte = reader.byte() { contents.append(byte) }
            return .extension(name: name, contents: contents)
        default: return .other(type: type)
        }
    }
}

/// What an ssh agent answers.
public enum AgentAnswer: Hashable, Sendable {
    case failure
    case success
    case identities([Identity])
    case signature([UInt8])
    /// An extension that is known and failed (SA-3).
    case extensionFailure
    case extensionAnswer([UInt8])

    /// A key, and what its owner calls it.
    public struct Identity: Hashable, Sendable {
        public var key: [UInt8]
        public var comment: String

        public init(key: [UInt8], comment: String) {
            self.key = key
            self.comment = comment
        }
    }

    /// The answer to `query`: the names of the extensions.
    public static func extensions(_ names: [String]) -> AgentAnswer {
        var writer = WireWriter()
        writer.text("query")
        for name in names { writer.text(name) }
        return .extensionAnswer(writer.bytes)
    }

    /// The frame, with its length.
    public var frame: [UInt8] {
        var body = WireWriter()
        switch self {
        case .failure: body.byte(5)
        case .success: body.byte(6)
        case .extensionFailure: body.byte(28)
        case .identities(let identities):
            body.byte(12)
            body.number(identities.count)
            for identity in identities {
                body.string(identity.key)
                body.text(identity.comment)
            }
        case .signature(let signature):
            body.byte(14)
            body.string(signature)
        case .extensionAnswer(let contents):
            body.byte(29)
            for byte in contents { body.byte(byte) }
        }
        var frame = WireWriter()
        frame.string(body.bytes)
        return frame.bytes
    }
}

/// The client's side of an extension, for the command beside the agent.
public enum AgentExtension {
    /// The frame that asks.
    public static func request(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        var body = WireWriter()
        body.byte(27)
        body.text(name)
        for byte in contents { body.byte(byte) }
        var frame = WireWriter()
        frame.string(body.bytes)
        return frame.bytes
    }

    /// What an answer holds; nil where it is no answer with contents.
    public static func contents(_ frame: [UInt8]) -> [UInt8]? {
        guard frame.count > 5, frame[4] == 29 else { return nil }
        return Array(frame[5...])
    }
}
