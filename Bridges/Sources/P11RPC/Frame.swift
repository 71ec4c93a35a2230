/// One message of p11-kit's RPC, in either direction (PK-4).
///
/// Three numbers of 32 bits, big-endian: the code by which an answer is matched to its request, the length of the options, and the
/// length of the body. Then options and body.
public struct Frame: Hashable, Sendable {
    /// The one version of the protocol that is spoken here.
    ///
    /// A client sends the highest that it knows, as its first byte, and goes on with what is answered. Every release of p11-kit knows
    /// this one.
    public static let version: UInt8 = 0
    /// The most bytes of a whole frame (PK-4).
    public static let longest = 1 << 20
    /// The most bytes of options, which clients put their module's name into.
    static let longestOptions = 4096
    private static let header = 12

    /// The code of the request, which its answer repeats; never 0.
    public let code: UInt32
    /// The body.
    public let body: [UInt8]

    /// A frame without options.
    public init(code: UInt32, body: [UInt8]) {
        (self.code, self.body) = (code, body)
    }

    /// How long the frame is that begins with these bytes.
    ///
    /// - Parameter bytes: The beginning of a frame, or more.
    /// - Returns: The length in bytes; nil where the beginning does not say it yet, and 0 where no frame begins like this.
    public static func length(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= header else { return nil }
        var reader = Reader(bytes)
        guard let code = reader.word(), let options = reader.word(), let body = reader.word(), code != 0,
            options <= longestOptions, body <= longest
        else { return 0 }
        let length = header + Int(options) + Int(body)
        return length <= longest ? length : 0
    }

    /// A frame that was read as a whole.
    ///
    /// - Parameter bytes: As many as ``length(_:)`` says.
    public init?(_ bytes: [UInt8]) {
        guard let length = Self.length(bytes), length == bytes.count, length > 0 else { return nil }
        var reader = Reader(bytes)
        guard let code = reader.word(), let options = reader.word(), reader.word() != nil,
            reader.skip(Int(options))
        else { return nil }
        self.init(code: code, body: Array(reader.rest))
    }

    /// The frame's bytes.
    public var bytes: [UInt8] {
        var writer = Writer()
        writer.word(code)
        writer.word(0)
        writer.word(UInt32(clamping: body.count))
        return writer.bytes + body
    }
}
