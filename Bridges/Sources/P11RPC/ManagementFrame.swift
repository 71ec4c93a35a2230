/// A request of the command beside the bridge, and its answer, over the bridge's own socket.
public enum ManagementFrame {
    /// The first byte, and a frame with these contents.
    public static func request(_ contents: [UInt8]) -> [UInt8] {
        var writer = Writer()
        writer.word(Call.manage.rawValue)
        writer.string(Array("ay".utf8))
        writer.list(contents)
        return [Frame.version] + Frame(code: 1, body: writer.bytes).bytes
    }

    /// How long the answer is that begins with these bytes, its first byte with it; as ``Frame/length(_:)``.
    public static func length(_ bytes: [UInt8]) -> Int? {
        guard let length = Frame.length(Array(bytes.dropFirst())) else { return nil }
        return length == 0 ? 0 : length + 1
    }

    /// The contents of an answer; nil of any other message.
    public static func contents(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.first == Frame.version, let frame = Frame(Array(bytes.dropFirst())) else { return nil }
        var reader = Reader(frame.body)
        guard reader.word() == Call.manage.rawValue, reader.text() == "ay" else { return nil }
        return reader.bytes()
    }
}
