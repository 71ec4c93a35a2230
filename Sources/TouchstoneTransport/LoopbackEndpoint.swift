import Foundation
internal import Synchronization
import TouchstoneCore

/// Connections to a router in this process: the same frames, without a socket.
package final class LoopbackEndpoint: VarlinkEndpoint {
    private let router: VarlinkRouter
    private let peer: Peer
    private let channels = Mutex<[WeakChannel]?>([])

    private struct WeakChannel { weak var channel: LoopbackChannel? }

    package init(router: VarlinkRouter, peer: Peer) {
        self.router = router
        self.peer = peer
    }

    package func connect() throws(TransportError) -> any VarlinkChannel {
        let channel = LoopbackChannel(router: router, peer: peer)
        let isOpen = channels.withLock { channels in
            channels?.removeAll { $0.channel == nil }
            channels?.append(WeakChannel(channel: channel))
            return channels != nil
        }
        guard isOpen else { throw .unreachable }
        return channel
    }

    /// Closes every connection and takes no more: the service is gone.
    package func stop() {
        let open = channels.withLock { channels in
            defer { channels = nil }
            return channels ?? []
        }
        for entry in open { entry.channel?.close() }
    }
}

private final class LoopbackChannel: VarlinkChannel {
    private let replies = ReplyQueue()
    private let connection: VarlinkConnection
    private let router: VarlinkRouter

    init(router: VarlinkRouter, peer: Peer) {
        self.router = router
        let replies = replies
        connection = VarlinkConnection(
            peer: peer, router: router, write: { replies.push($0) },
            writeThrough: { replies.pushThrough($0) }, reads: { replies.isRead }, disconnect: { replies.close() })
        replies.onClose = { [weak connection] in connection?.closed() }
    }

    func send(_ frame: Data) throws(TransportError) {
        guard frame.count <= router.maximumRequestBytes(beginning: frame) else {
            close()
            throw .closed
        }
        guard !replies.wasClosed else { throw .closed }
        connection.receive(frame)
    }

    func receive() throws(TransportError) -> Data {
        guard let frame = replies.pop() else { throw .closed }
        return frame
    }

    func waitUntilReadable() { replies.wait() }

    func close() { replies.close() }
}

/// Frames on their way to a thread that waits for them.
private final class ReplyQueue: @unchecked Sendable {
    // Unchecked: every access is under `condition`; `onClose` is set once, before the queue is shared.
    private let condition = NSCondition()
    private var frames: [Data] = []
    private var isClosed = false
    var onClose: @Sendable () -> Void = {}

    func push(_ frame: Data) {
        condition.withLock {
            frames.append(frame)
            condition.broadcast()
        }
    }

    /// Waits until the frame was taken; false where nobody takes it any more.
    func pushThrough(_ frame: Data) -> Bool {
        condition.withLock {
            frames.append(frame)
            condition.broadcast()
            while !frames.isEmpty && !isClosed { condition.wait() }
            return !isClosed
        }
    }

    /// As much as a socket holds may wait, in frames.
    private static let maximumWaiting = 256
    var isRead: Bool { condition.withLock { frames.count <= Self.maximumWaiting } }

    var wasClosed: Bool { condition.withLock { isClosed } }

    /// Waits until there is a frame, or there will be none.
    func wait() {
        condition.withLock {
            while frames.isEmpty && !isClosed { condition.wait() }
        }
    }

    func pop() -> Data? {
        condition.withLock {
            while frames.isEmpty && !isClosed { condition.wait() }
            guard !frames.isEmpty else { return nil }
            defer { if frames.isEmpty { condition.broadcast() } }
            return frames.removeFirst()
        }
    }

    func close() {
        let first = condition.withLock {
            defer { isClosed = true }
            condition.broadcast()
            return !isClosed
        }
        if first { onClose() }
    }
}
