import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization

/// The socket of one connection: what is written to it goes out in its order, from whichever thread has it.
///
/// An answer goes to the kernel at once, from the thread that made it. Only what the peer's socket has no room for waits until it has, and
/// then all that comes behind it.
final class ConnectionSocket: Sendable {
    private enum Limits {
        /// Bytes that wait for the peer: with more than these nothing is read, until it is less than the other.
        static let full = 64 << 10
        static let low = 32 << 10
        /// Bytes that go out at a time: the loop waits for the lock meanwhile.
        static let turn = 1 << 20
    }

    private struct Piece {
        var bytes: Data
        var sent = 0
        /// Is told whether the kernel has all of it.
        var isWritten: (@Sendable (Bool) -> Void)?

        var left: Int { bytes.count - sent }
    }

    private struct State {
        /// Negative at the end.
        var descriptor: Int32
        var unsent: [Piece] = []
        var bytes = 0
        var isFull = false
        var wantsReading = true
        /// What it is watched for.
        var reads = false
        var writes = false
    }

    private let loop: ConnectionLoop
    private let number: UInt64
    private let state: Mutex<State>

    /// Takes ownership of `descriptor`, which the loop watches under `number`.
    init(_ descriptor: Int32, loop: ConnectionLoop, number: UInt64) {
        self.loop = loop
        self.number = number
        state = Mutex(State(descriptor: descriptor))
    }

    deinit { state.withLock { if $0.descriptor >= 0 { touchstone_close_peer($0.descriptor, nil, nil) } } }

    /// Whether the peer takes what it is sent, or much of it waits.
    var isWritable: Bool { state.withLock { $0.descriptor >= 0 && !$0.isFull } }

    /// Whether something is to be read; never while much waits for the peer.
    func setReading(_ reads: Bool) {
        state.withLock { state in
            state.wantsReading = reads
            watch(&state)
        }
    }

    /// Writes one frame and its NUL.
    ///
    /// - Parameters:
    ///   - frame: Without its NUL.
    ///   - isWritten: Is told whether the kernel has all of it, or the connection ended before.
    func write(_ frame: Data, isWritten: (@Sendable (Bool) -> Void)? = nil) {
        var piece = Piece(bytes: frame + [0], isWritten: isWritten)
        let result: Bool? = state.withLock { state in
            guard state.descriptor >= 0 else { return false }
            if state.unsent.isEmpty, Self.send(&piece, state.descriptor) { return true }
            state.unsent.append(piece)
            state.bytes += piece.left
            if state.bytes > Limits.full { state.isFull = true }
            watch(&state)
            return nil
        }
        if let result { isWritten?(result) }
    }

    /// Writes what waits, as far as there is room.
    ///
    /// - Returns: Whether much waited, and does not any more.
    func flush() -> Bool {
        var done: [Piece] = []
        let isRelieved = state.withLock { state in
            while state.descriptor >= 0, !state.unsent.isEmpty {
                let before = state.unsent[0].left
                let isDone = Self.send(&state.unsent[0], state.descriptor)
                state.bytes -= before - state.unsent[0].left
                guard isDone else { break }
                done.append(state.unsent.removeFirst())
            }
            let isRelieved = state.isFull && state.bytes < Limits.low
            if isRelieved { state.isFull = false }
            watch(&state)
            return isRelieved
        }
        for piece in done { piece.isWritten?(true) }
        return isRelieved
    }

    /// Takes what has come; the count, 0 at the end, and -1 with `errno`.
    func receive(_ room: UnsafeMutableRawBufferPointer) -> Int {
        var sender: pid_t = 0
        let descriptor = state.withLock { $0.descriptor }
        guard descriptor >= 0, let start = room.baseAddress else { return 0 }
        return unsafe touchstone_receive_from(descriptor, start, room.count, &sender)
    }

    /// Ends the connection, on the loop's thread, and gives its place back once the socket is closed.
    ///
    /// What was not received may keep it open. So nobody has more of those than places.
    func close(_ place: ConnectionPlaces.Place?) {
        let (descriptor, left) = state.withLock { state in
            defer { (state.descriptor, state.unsent) = (-1, []) }
            return (state.descriptor, state.unsent)
        }
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor, number)
        ConnectionPlaces.close(descriptor, place)
        for piece in left { piece.isWritten?(false) }
    }

    /// Sends what the kernel takes at once; false where something is left of it.
    private static func send(_ piece: inout Piece, _ descriptor: Int32) -> Bool {
        let end = min(piece.bytes.count, piece.sent + Limits.turn)
        while piece.sent < end {
            let count = unsafe piece.bytes.withUnsafeBytes { bytes in
                unsafe Glibc.send(
                    descriptor, bytes.baseAddress! + piece.sent, end - piece.sent, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                // There always is room at a peer that takes nothing any more: the loop hears of the end instead.
                if ![EAGAIN, ENOBUFS, ENOMEM].contains(errno) { shutdown(descriptor, Int32(SHUT_RDWR)) }
                return false
            }
            piece.sent += count
        }
        return piece.left == 0
    }

    private func watch(_ state: inout State) {
        let (reads, writes) = (state.wantsReading && !state.isFull, !state.unsent.isEmpty)
        guard state.descriptor >= 0, (reads, writes) != (state.reads, state.writes) else { return }
        (state.reads, state.writes) = (reads, writes)
        loop.change(state.descriptor, number, reads: reads, writes: writes)
    }
}
