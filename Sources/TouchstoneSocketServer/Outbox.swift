import Foundation
import Glibc
import NIOCore
import Synchronization

/// What is written to one connection, in its order, from whichever thread has it.
///
/// An answer goes to the kernel at once, from the thread that made it: the event loop is not woken for it. Only what the peer's socket
/// has no room for goes through the event loop, which waits until it has, and then all that comes behind it.
final class Outbox: Sendable {
    private let channel: any Channel
    private let state: Mutex<State>

    private struct State {
        /// The connected socket once more, so that no other connection ever has its number; negative without one, and at the end.
        var socket: Int32
        /// Frames of which the kernel does not have all, and of these those that the event loop has not taken yet.
        var unsent = 0
        var queued = 0

        /// Sends what the kernel takes at once; false where something is left in `buffer`.
        mutating func send(_ buffer: inout ByteBuffer) -> Bool {
            guard socket >= 0, unsent == 0 else { return false }
            while buffer.readableBytes > 0 {
                let count = unsafe buffer.withUnsafeReadableBytes { bytes in
                    unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                }
                if count < 0, errno == EINTR { continue }
                // Of a peer that is gone the event loop hears, too.
                guard count > 0 else { return false }
                buffer.moveReaderIndex(forwardBy: count)
            }
            return true
        }
    }

    /// - Parameters:
    ///   - channel: The connection.
    ///   - socket: Its socket, which stays the channel's; nil where it has none.
    init(channel: any Channel, socket: Int32?) {
        self.channel = channel
        // Without a descriptor that is left, everything goes through the event loop.
        state = Mutex(State(socket: socket.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? -1))
    }

    deinit { close() }

    /// Lets go of the socket; to be called when the channel has closed, because the peer hears of the end only then.
    func close() {
        state.withLock { state in
            if state.socket >= 0 { _ = Glibc.close(state.socket) }
            state.socket = -1
        }
    }

    /// Writes one frame and its NUL.
    ///
    /// - Parameters:
    ///   - frame: Without its NUL.
    ///   - promise: Succeeds once the kernel has all of it; fails where the connection ends before.
    func write(_ frame: Data, promise: EventLoopPromise<Void>?) {
        var buffer = channel.allocator.buffer(capacity: frame.count + 1)
        buffer.writeBytes(frame)
        buffer.writeInteger(UInt8(0))
        let loop = channel.eventLoop
        enum Next { case sent, write(ByteBuffer), none }
        let next: Next = state.withLock { state in
            if state.send(&buffer) { return .sent }
            let rest = buffer
            state.unsent += 1
            if state.queued == 0, loop.inEventLoop { return .write(rest) }
            state.queued += 1
            // With the lock, so that the frames of two threads stay in their order.
            loop.execute { [self] in
                self.state.withLock { $0.queued -= 1 }
                hand(rest, promise)
            }
            return .none
        }
        switch next {
        case .sent: promise?.succeed()
        case .write(let rest): hand(rest, promise)
        case .none: break
        }
    }

    /// In the event loop.
    private func hand(_ rest: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        let written = promise ?? channel.eventLoop.makePromise()
        written.futureResult.whenComplete { [self] result in
            // A frame of which only a part went out is the last one.
            if case .failure = result { return close() }
            state.withLock { $0.unsent -= 1 }
        }
        channel.writeAndFlush(rest, promise: written)
    }
}
