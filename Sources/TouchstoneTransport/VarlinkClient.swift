package import Foundation
package import TouchstoneCore

/// One connection as a client has it: frames out, frames in, in order.
package protocol VarlinkChannel: Sendable {
    func send(_ frame: Data) throws(TransportError)
    /// Blocks until a frame came or the channel closed.
    func receive() throws(TransportError) -> Data
    /// May be called from any thread; wakes a `receive` that waits.
    func close()
}

/// A way to reach a device's services.
package protocol VarlinkEndpoint: Sendable {
    /// Connections may be kept and shared by all who name this; nil where a new one costs next to nothing.
    var identifier: String? { get }
    func connect() throws(TransportError) -> any VarlinkChannel
}

/// Typed, blocking calls over one channel, one at a time.
package final class VarlinkClient: Sendable {
    private let channel: any VarlinkChannel
    private let turn = NSLock()

    package init(_ channel: any VarlinkChannel) {
        self.channel = channel
    }

    /// - Throws: `RemoteError`, the peer's answer; `TransportError`, after which the connection is of no more use.
    package func call<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        let frame = try JSONEncoder().encode(RequestFrame(method: M.name, parameters: parameters, more: nil))
        guard frame.count <= VarlinkLimits.maximumRequestBytes else { throw TransportError.tooLarge }
        let answer = try turn.withLock {
            do {
                try channel.send(frame)
            } catch {
                // Without its last byte a request is none: nothing was carried out, and it may be sent again elsewhere.
                throw TransportError.unreachable
            }
            return try channel.receive()
        }
        return try Self.decode(M.Reply.self, answer).result.get()
    }

    /// Calls with `more` and hands each reply to `body`, until the stream ends or `body` returns false.
    package func stream<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, _ body: (M.Reply) throws -> Bool
    ) throws {
        let frame = try JSONEncoder().encode(RequestFrame(method: M.name, parameters: parameters, more: true))
        guard frame.count <= VarlinkLimits.maximumRequestBytes else { throw TransportError.tooLarge }
        try turn.withLock {
            try channel.send(frame)
            while true {
                let reply = try Self.decode(M.Reply.self, channel.receive())
                guard try body(reply.result.get()), reply.continues else { return }
            }
        }
    }

    /// Ends the connection; a call that waits fails with `.closed`.
    package func close() {
        channel.close()
    }

    deinit {
        channel.close()
    }

    private static func decode<R: Decodable>(_ type: R.Type, _ frame: Data) throws -> IncomingReply<R> {
        do {
            return try JSONDecoder().decode(IncomingReply<R>.self, from: frame)
        } catch {
            throw TransportError.malformed
        }
    }
}

extension VarlinkEndpoint {
    package var identifier: String? { nil }

    package func client() throws(TransportError) -> VarlinkClient {
        VarlinkClient(try connect())
    }
}
