package import Foundation
internal import Glibc
package import TouchstoneCore
import TouchstoneInterfaces

/// One connection as a client has it: frames out, frames in, in order.
package protocol VarlinkChannel: Sendable {
    func send(_ frame: Data) throws(TransportError)
    /// Blocks until a frame came or the channel closed.
    func receive() throws(TransportError) -> Data
    /// Blocks until there is something to receive, or the channel closed; reads nothing.
    func waitUntilReadable()
    /// May be called from any thread; wakes a `receive` that waits.
    func close()
}

/// A way to reach a device's services.
package protocol VarlinkEndpoint: Sendable {
    /// Connections may be kept and shared by all who name this; nil where a new one costs next to nothing.
    var identifier: String? { get }
    /// Reads the enclave's public key for what only the enclave may read, from where touchstoned could not have put its own (DEC-005).
    func passcodeKey() throws(PasscodeKeyError) -> Data
    /// What its refused calls were explained with, of a device that is a test's own; nil for every other.
    var refusalLines: RefusalLines? { get }
    func connect() throws(TransportError) -> any VarlinkChannel
    /// The endpoint that this one stands for now; nearly always itself.
    var target: any VarlinkEndpoint { get }
}

/// Typed, blocking calls over one channel, one at a time; up to four others go before one that gives way.
package final class VarlinkClient: Sendable {
    private let channel: any VarlinkChannel
    private let order = CallOrder()
    private let trace: MessageTrace?
    /// Only touchstoned has a client that is traced.
    private static let route = MessageTrace.Route(caller: .touchstoned, callee: .enclave)

    /// `trace` is told of every message, as one between touchstoned and its enclave.
    package init(_ channel: any VarlinkChannel, trace: MessageTrace? = nil) {
        self.channel = channel
        self.trace = trace
    }

    /// Calls a method, and waits for its answer.
    ///
    /// What is called for somebody who watches the trace is not told there.
    ///
    /// - Parameters:
    ///   - method: What is called.
    ///   - parameters: What it takes.
    ///   - isTraced: Whether the trace is told.
    ///   - beforeReading: Called when the answer is there, and no byte of it in this process. If it throws, the connection is of no more use.
    /// - Returns: The answer.
    /// - Throws: `RemoteError`, the peer's answer; `TransportError`, after which the connection is of no more use.
    package func call<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, isTraced: Bool = true, beforeReading: (() throws -> Void)? = nil
    ) throws -> M.Reply {
        let trace = isTraced ? trace : nil
        let frame = try Frame.request(M.name, parameters, more: false)
        guard frame.count <= M.maximumRequestBytes else { throw TransportError.tooLarge }
        let traced = trace?.called(M.name, Self.route, bytes: frame.count)
        let answer = try order.call(givingWay: M.givesWay) {
            do {
                try channel.send(frame)
            } catch {
                // Without its last byte a request is none: nothing was carried out, and it may be sent again elsewhere.
                throw TransportError.unreachable
            }
            if let beforeReading {
                channel.waitUntilReadable()
                try beforeReading()
            }
            return try channel.receive()
        }
        let result = try Self.decode(M.Reply.self, answer).result
        trace?.answered(traced, M.name, Self.route, outcome: result.outcome, bytes: answer.count)
        return try result.get()
    }

    /// Calls with `more` and hands each reply to `body`, until the stream ends or `body` returns false.
    package func stream<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, _ body: (M.Reply) throws -> Bool
    ) throws {
        let frame = try Frame.request(M.name, parameters, more: true)
        guard frame.count <= M.maximumRequestBytes else { throw TransportError.tooLarge }
        try order.call(givingWay: M.givesWay) {
            try channel.send(frame)
            while true {
                let answer = try channel.receive()
                trace?.streamed(M.name, Self.route, bytes: answer.count)
                let reply = try Self.decode(M.Reply.self, answer)
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

    private static func decode<R: MessageCodable>(_ type: R.Type, _ frame: Data) throws -> IncomingReply<R> {
        do {
            return try IncomingReply<R>(frame)
        } catch {
            throw TransportError.malformed
        }
    }
}

extension Result where Failure == RemoteError {
    fileprivate var outcome: String {
        switch self {
        case .success: "ok"
        case .failure(let error): error.name
        }
    }
}

extension VarlinkEndpoint {
    package var identifier: String? { nil }
    package var target: any VarlinkEndpoint { self }

    package var refusalLines: RefusalLines? { nil }

    package func passcodeKey() throws(PasscodeKeyError) -> Data { throw .unreadable(ENOENT) }

    package func client(trace: MessageTrace? = nil) throws(TransportError) -> VarlinkClient {
        VarlinkClient(try connect(), trace: trace)
    }
}
