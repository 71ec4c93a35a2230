import CTouchstoneSystem
package import Foundation
import Glibc
import Synchronization
import TouchstoneCore
package import TouchstoneTransport

/// Serves a router on a Unix socket.
///
/// No peer can hold up another: frames have a largest size, and half a frame a deadline.
package final class SocketServer: Sendable {
    package struct Configuration: Sendable {
        package var connections = ConnectionLimits()
        /// Longest wait for the rest of a message whose beginning has come.
        package var partialMessageTimeout: TimeInterval = 10
        /// Longest wait for a peer to take the part of a stream that it was sent.
        package var unreadPartTimeout: TimeInterval = 10
        /// Streams that may wait for their peers at a time: each holds a thread, of which the system gives 255.
        package var maximumWaitingStreams = 128
        package var maximumWaitingStreamsPerProcess = 32
        /// Is called when large requests have been read and answered, and no other waits.
        package var afterLargeMessages: (@Sendable () -> Void)?
        package init() {}
    }

    private let connections: Connections
    /// Ends what takes new connections.
    private let stopListening: @Sendable () -> Void

    /// Listens at `path`, where nothing may be but a socket that nobody serves any more.
    ///
    /// - Throws: `POSIXError`, for a path that is in use or too long.
    package init(
        path: String, router: VarlinkRouter, identities: any PeerSource, configuration: Configuration = .init()
    ) throws {
        let connections = try Connections(router, configuration)
        let acceptor: PathAcceptor
        do {
            acceptor = try PathAcceptor(path: path, loop: connections.loops[0]) { socket in
                connections.add(socket, .unknown(identities))
            }
        } catch {
            connections.stop()
            throw error
        }
        self.connections = connections
        stopListening = { acceptor.stop() }
    }

    /// Serves on a socket that listens already, which it takes ownership of: each connection for the one process that connected, and
    /// only what it sent after this process knew what it runs (DEC-055).
    ///
    /// - Throws: `POSIXError`, for what is no listening socket.
    package init(
        listening descriptor: Int32, router: VarlinkRouter, identities: any PeerSource,
        configuration: Configuration = .init()
    ) throws {
        let connections = try Connections(router, configuration)
        let acceptor: ConnectionAcceptor
        do {
            acceptor = try ConnectionAcceptor(
                listener: descriptor, identities: identities, places: connections.shared.places,
                partialMessageTimeout: configuration.partialMessageTimeout,
                silence: configuration.connections.silence,
                accepted: { socket, place, peer, beginning in
                    connections.add(socket, .known(peer, place, beginning: beginning))
                })
        } catch {
            connections.stop()
            throw error
        }
        self.connections = connections
        stopListening = { acceptor.stop() }
    }

    /// Ends every connection once what was written to it is on its way.
    package func stop() {
        stopListening()
        connections.stop()
    }

    /// The loops, and what all connections of a server share.
    private final class Connections: Sendable {
        let loops: [ConnectionLoop]
        let shared: ServedConnection.Shared
        private let next = Atomic(0)
        private let open = Mutex<[ObjectIdentifier: ServedConnection]>([:])

        init(_ router: VarlinkRouter, _ configuration: Configuration) throws {
            loops = try (1...min(4, max(2, ProcessInfo.processInfo.activeProcessorCount))).map {
                try ConnectionLoop(name: "connections \($0)")
            }
            shared = .init(router, configuration)
        }

        /// Takes ownership of a connected socket; on any thread.
        func add(_ socket: Int32, _ origin: ServedConnection.Origin) {
            let loop = loops[next.add(1, ordering: .relaxed).newValue % loops.count]
            loop.execute { [self] in
                let connection = ServedConnection(socket, origin, shared, loop) { [weak self] ended in
                    self?.open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(ended)) }
                }
                open.withLock { $0[ObjectIdentifier(connection)] = connection }
                connection.begin()
            }
        }

        func stop() {
            for loop in loops {
                loop.execute { [self] in
                    let own = open.withLock { $0.values.filter { $0.loop === loop } }
                    for connection in own { connection.end() }
                }
                loop.stop()
            }
        }
    }
}

/// Listens at a path, and accepts on the thread of a loop.
private final class PathAcceptor: @unchecked Sendable {
    // Unchecked: used on the loop's thread alone, which whoever makes it, or ends it, waits for.
    private enum Limits {
        static let backlog: Int32 = 1024
        /// At a time: others are served in between.
        static let connections = 16
        /// Before the next try where descriptors or memory ran out, in seconds.
        static let pause = 0.1
    }

    private let listener: Int32
    private let loop: ConnectionLoop
    private var number: UInt64 = 0
    private var isWatched = false
    private let accepted: @Sendable (Int32) -> Void

    /// - Throws: `POSIXError`.
    init(path: String, loop: ConnectionLoop, accepted: @escaping @Sendable (Int32) -> Void) throws(POSIXError) {
        self.loop = loop
        self.accepted = accepted
        listener = try ListeningSocket.bound(at: path, backlog: Limits.backlog)
        let done = DispatchSemaphore(value: 0)
        loop.execute { [self] in
            number = loop.newNumber()
            if loop.watch(listener, number, { [self] _ in accept() }) {
                loop.change(listener, number, reads: true, writes: false)
                isWatched = true
            }
            done.signal()
        }
        done.wait()
        guard isWatched else {
            touchstone_close_peer(listener, nil, nil)
            throw POSIXError(.ENOMEM)
        }
    }

    private func accept() {
        for _ in 0..<Limits.connections {
            let socket = touchstone_accept(listener)
            guard socket >= 0 else {
                // Whoever connects waits until something is free again.
                guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) else { return }
                loop.change(listener, number, reads: false, writes: false)
                return loop.setDeadline(number, in: Limits.pause) { [self] in
                    loop.change(listener, number, reads: true, writes: false)
                }
            }
            guard touchstone_pass_credentials(socket) == 0 else {
                touchstone_close_peer(socket, nil, nil)
                continue
            }
            accepted(socket)
        }
    }

    func stop() {
        let done = DispatchSemaphore(value: 0)
        loop.execute { [self] in
            loop.unwatch(listener, number)
            // Who connected last, and was not accepted, may have sent something as well.
            touchstone_close_peer(listener, nil, nil)
            done.signal()
        }
        done.wait()
    }
}
