import AgePlugin
import Foundation

/// The connection to age: standard input and standard output.
final class Conversation {
    /// Most bytes that age may send in all.
    private static let maximumCount = 1 << 20

    private var reader = StanzaReader()
    private var rest: ArraySlice<UInt8> = []
    private var count = 0

    /// Whether age has closed its end.
    static var isOver: Bool {
        var state = pollfd(fd: 0, events: 0, revents: 0)
        return unsafe poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// The next stanza.
    ///
    /// - Throws: `StanzaError.malformed` also where age ends in the middle.
    func next() throws(StanzaError) -> Stanza {
        while true {
            while let end = rest.firstIndex(of: 0x0A) {
                let line = Array(rest[rest.startIndex..<end])
                rest = rest[(end + 1)...]
                if let stanza = try reader.take(line) { return stanza }
            }
            guard rest.count <= StanzaReader.maximumCount, count <= Self.maximumCount else { throw .tooLong }
            var room = [UInt8](repeating: 0, count: 16 << 10)
            let read = unsafe room.withUnsafeMutableBytes { unsafe Glibc.read(0, $0.baseAddress, $0.count) }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw .malformed }
            count += read
            rest = rest + room[..<read]
        }
    }

    /// Says something, and reads what age answers.
    func ask(_ stanza: Stanza) throws(StanzaError) -> Stanza {
        try say(stanza)
        return try next()
    }

    /// Says something that has no answer.
    func say(_ stanza: Stanza) throws(StanzaError) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(stanza.encoded)) } catch { throw .malformed }
    }
}
