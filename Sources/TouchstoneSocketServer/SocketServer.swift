package import Foundation
import Glibc
import NIOCore
import NIOPosix
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

    private let group: MultiThreadedEventLoopGroup
    /// Ends what takes new connections.
    private let stopListening: @Sendable () -> Void

    /// Listens at `path`, where nothing may be but a socket that nobody serves any more.
    ///
    /// - Throws: NIO's errors, for a path that is in use or too long.
    package init(
        path: String, router: VarlinkRouter, identities: any PeerSource, configuration: Configuration = .init()
    ) throws {
        let connections = Connections(router, configuration)
        group = connections.group
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause())
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try connections.add(channel, .unknown(identities)) }
            }
        do {
            let channel = try bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).wait()
            stopListening = { try? channel.close().wait() }
        } catch {
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// Serves on a socket that listens already, which it takes ownership of: each connection for the one process that connected, and
    /// only what it sent after this process knew what it runs (DEC-055).
    ///
    /// - Throws: `POSIXError`, for what is no listening socket.
    package init(
        listening descriptor: Int32, router: VarlinkRouter, identities: any PeerSource,
        configuration: Configuration = .init()
    ) throws {
        let connections = Connections(router, configuration)
        group = connections.group
        let acceptor = try ConnectionAcceptor(
            listener: descriptor, identities: identities, places: connections.places,
            partialMessageTimeout: configuration.partialMessageTimeout, silence: configuration.connections.silence,
            accepted: { socket, place, peer, beginning in
                ClientBootstrap(group: connections.group)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try connections.add(channel, .known(peer, place, beginning: beginning))
                        }
                    }
                    .withConnectedSocket(socket)
                    .whenFailure { _ in place.leave() }
            })
        stopListening = { acceptor.stop() }
    }

    /// Ends every connection once what was written to it is on its way.
    package func stop() {
        stopListening()
        // A connection that was accepted last is on its way to its loop, which takes a few turns of two loops.
        for loop in Array(repeating: Array(group.makeIterator()), count: 4).joined() { try? loop.submit {}.wait() }
        try? group.syncShutdownGracefully()
    }

    /// What all connections of a server share.
    private struct Connections {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: min(4, max(2, System.coreCount)))
        let places: ConnectionPlaces
        private let turns: MessageTurns
        private let streams: WaitingStreams
        private let router: VarlinkRouter
        private let configuration: Configuration

        init(_ router: VarlinkRouter, _ configuration: Configuration) {
            self.router = router
            self.configuration = configuration
            places = ConnectionPlaces(configuration.connections)
            turns = MessageTurns(
                medium: Turns(VarlinkLimits.mediumTurns),
                large: Turns(VarlinkLimits.largeTurns, whenIdle: configuration.afterLargeMessages))
            streams = WaitingStreams(
                maximum: configuration.maximumWaitingStreams, perProcess: configuration.maximumWaitingStreamsPerProcess)
        }

        func add(_ channel: any Channel, _ origin: PeerHandler.Origin) throws {
            try channel.pipeline.syncOperations.addHandler(
                PeerHandler(
                    router: router, origin: origin, places: places, turns: turns, streams: streams,
                    configuration: configuration))
        }
    }
}

/// The turns of messages that take much memory (DEC-589): all connections of one app share them.
private struct MessageTurns {
    let medium: Turns
    let large: Turns
}

/// Accepts nothing for a moment where descriptors or memory ran out; it would try again at once, without an end.
///
/// Not NIO's `AcceptBackoffHandler`: that holds back the next read, and the one that failed stays pending.
private final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = Never

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            return context.fireErrorCaught(error)
        }
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        context.eventLoop.scheduleTask(in: .milliseconds(100)) {
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
    }
}

/// Counts the streams that wait for their peers.
private final class WaitingStreams: Sendable {
    private let maximum: Int
    private let perProcess: Int
    private let state = Mutex((count: 0, byProcess: [Int32: Int]()))

    init(maximum: Int, perProcess: Int) {
        self.maximum = maximum
        self.perProcess = perProcess
    }

    func enter(_ process: Int32) -> Bool {
        state.withLock { state in
            guard state.count < maximum, state.byProcess[process, default: 0] < perProcess else { return false }
            state.count += 1
            state.byProcess[process, default: 0] += 1
            return true
        }
    }

    func leave(_ process: Int32) {
        state.withLock { state in
            state.count -= 1
            state.byProcess[process, default: 1] -= 1
            if state.byProcess[process] == 0 { state.byProcess[process] = nil }
        }
    }
}

/// One connection: cuts the stream into frames and carries replies back.
private final class PeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Whose connection it is.
    enum Origin {
        /// To be asked when it begins.
        case unknown(any PeerSource)
        /// With its place, and what was sent on it so far.
        case known(Peer, ConnectionPlaces.Place, beginning: [UInt8])
    }

    private let router: VarlinkRouter
    private let origin: Origin
    private let places: ConnectionPlaces
    private let turns: MessageTurns
    private let streams: WaitingStreams
    private let configuration: SocketServer.Configuration
    private var place: ConnectionPlaces.Place?
    private var connection: VarlinkConnection?
    private var outbox: Outbox?
    private var partial = ByteBuffer()
    /// So many bytes of `partial` hold no end of a message.
    private var searched = 0
    private var deadline: Scheduled<Void>?
    /// Ends a connection on which nothing comes.
    private var silence: Scheduled<Void>?
    private var isTakingFrames = false
    /// Of the message that is being read, if it is more than a small one, and the most bytes that it may have.
    private var turn: (turn: Turn, maximumBytes: Int)?
    /// Whether nothing is read until the message has its turn.
    private var isWaiting = false

    init(
        router: VarlinkRouter, origin: Origin, places: ConnectionPlaces, turns: MessageTurns,
        streams: WaitingStreams,
        configuration: SocketServer.Configuration
    ) {
        self.router = router
        self.origin = origin
        self.places = places
        self.turns = turns
        self.streams = streams
        self.configuration = configuration
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let disconnect: @Sendable () -> Void = { channel.close(promise: nil) }
        // Never at once: whoever has the place of this one taken away holds the lock of all places.
        let disconnectLater: @Sendable () -> Void = { channel.eventLoop.execute(disconnect) }
        guard let peer = peer(context), let place = place(of: peer, disconnectLater) else { return disconnect() }
        self.place = place
        silence = context.eventLoop.scheduleTask(
            in: .nanoseconds(Int64(configuration.connections.silence * 1e9)), disconnect)
        let outbox = Outbox(channel: channel, socket: socket(context))
        self.outbox = outbox
        connection = VarlinkConnection(
            peer: peer.identifying { app in
                if place.belongs(to: app) { return true }
                disconnectLater()
                return false
            }, router: router,
            write: { outbox.write($0, promise: nil) },
            writeThrough: { [streams, timeout = configuration.unreadPartTimeout] frame in
                guard streams.enter(peer.processID) else {
                    disconnect()
                    return false
                }
                defer { streams.leave(peer.processID) }
                let promise = channel.eventLoop.makePromise(of: Void.self)
                let deadline = channel.eventLoop.scheduleTask(in: .nanoseconds(Int64(timeout * 1e9))) { disconnect() }
                defer { deadline.cancel() }
                outbox.write(frame, promise: promise)
                return (try? promise.futureResult.wait()) != nil
            }, reads: { channel.isWritable }, disconnect: disconnect)
        if case .known(_, _, let beginning) = origin {
            silence?.cancel()
            partial.writeBytes(beginning)
            takeFrames(context)
        }
    }

    private func place(of peer: Peer, _ disconnect: @escaping @Sendable () -> Void) -> ConnectionPlaces.Place? {
        guard case .known(_, let place, _) = origin else {
            return places.enter(peer.processID, disconnect: disconnect)
        }
        place.onEviction(disconnect)
        return place
    }

    /// The connected socket; nil where the channel has none.
    private func socket(_ context: ChannelHandlerContext) -> Int32? {
        try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 }
    }

    private func peer(_ context: ChannelHandlerContext) -> Peer? {
        switch origin {
        case .known(let peer, _, _): return peer
        case .unknown(let identities):
            // Asked before the first byte is read: the answer is of whoever connected.
            let peer = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { identities.peer(ofSocket: $0) }
            return peer.flatMap { $0 }.flatMap { $0 }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        silence?.cancel()
        let received = unwrapInboundIn(data)
        partial.writeImmutableBuffer(received)
        received.wipe()
        takeFrames(context)
    }

    /// Who does not read answers gets none, and is not read: what waits for one peer has a largest size, too.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        setReading(context)
        if isWritable { takeFrames(context) }
        context.fireChannelWritabilityChanged()
    }

    private func setReading(_ context: ChannelHandlerContext) {
        context.channel.setOption(.autoRead, value: context.channel.isWritable && !isWaiting).whenFailure { _ in }
    }

    /// Takes up the requests that came, for as long as the peer reads the answers.
    private func takeFrames(_ context: ChannelHandlerContext) {
        // An answer that is written at once comes back here through `channelWritabilityChanged`.
        guard !isTakingFrames, !isWaiting else { return }
        isTakingFrames = true
        defer { isTakingFrames = false }
        while context.channel.isWritable, let count = firstZero() {
            guard hasRoom(count, context) else { return }
            let frame = unsafe partial.withUnsafeReadableBytes { unsafe Data($0.prefix(count)) }
            partial.getSlice(at: partial.readerIndex, length: count)?.wipe()
            searched = 0
            partial.moveReaderIndex(forwardBy: count + 1)
            let turn = turn.take()?.turn
            // What it took is given back at once.
            if turn != nil { partial = ByteBuffer(bytes: partial.readableBytesView) }
            // What is left is the beginning of another message.
            cancelDeadline()
            connection?.receive(frame, turn)
        }
        discardReadBytes()
        guard context.channel.isWritable, partial.readableBytes > 0 else {
            // A turn always has an end, also where the peer reads nothing.
            return turn == nil ? cancelDeadline() : setDeadline(context)
        }
        searched = partial.readableBytes
        guard hasRoom(partial.readableBytes, context) else { return }
        setDeadline(context)
    }

    /// What was read is zero already; what moves to the beginning leaves a copy where it was.
    private func discardReadBytes() {
        // Small messages that came in one piece leave it large.
        if partial.readableBytes == 0, partial.storageCapacity > VarlinkLimits.maximumSmallRequestBytes {
            return partial = ByteBuffer()
        }
        let end = partial.writerIndex
        partial.discardReadBytes()
        let count = end - partial.writerIndex
        unsafe partial.withUnsafeMutableWritableBytes { bytes in
            if let start = bytes.baseAddress { unsafe explicit_bzero(start, min(count, bytes.count)) }
        }
    }

    /// One deadline for the whole message: more of it does not buy more time.
    private func setDeadline(_ context: ChannelHandlerContext) {
        guard deadline == nil else { return }
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(
            in: .nanoseconds(Int64(configuration.partialMessageTimeout * 1e9))
        ) { channel.close(promise: nil) }
    }

    /// Bytes of the first message, if all of it is there.
    private func firstZero() -> Int? {
        unsafe partial.withUnsafeReadableBytes { unsafe $0.firstZero(from: searched) }
    }

    /// Whether so many bytes of a message may be there; else it waits for its turn, or is too large and ends the connection.
    private func hasRoom(_ count: Int, _ context: ChannelHandlerContext) -> Bool {
        if count <= turn?.maximumBytes ?? VarlinkLimits.maximumSmallRequestBytes { return true }
        if count <= VarlinkLimits.maximumRequestBytes {
            waitForTurn(of: turns.medium, VarlinkLimits.maximumRequestBytes, context)
            return false
        }
        let beginning = unsafe partial.withUnsafeReadableBytes {
            unsafe Data($0.prefix(VarlinkRouter.bytesOfBeginning))
        }
        let maximum = router.maximumRequestBytes(beginning: beginning)
        guard count <= maximum else {
            context.close(promise: nil)
            return false
        }
        waitForTurn(of: turns.large, maximum, context)
        return false
    }

    /// Reads no more until the message has its turn, and everything before it is answered: whoever has a turn waits for nobody.
    ///
    /// A large one has the turn of a medium one until then, as it takes that much.
    private func waitForTurn(of turns: Turns, _ maximumBytes: Int, _ context: ChannelHandlerContext) {
        isWaiting = true
        cancelDeadline()
        setReading(context)
        guard let connection else { return }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let channel = NIOLoopBound(context, eventLoop: context.eventLoop)
        connection.whenIdle { [eventLoop = context.eventLoop] in
            connection.withParty { party in
                let mayWait = turns.take(for: party) { turn in
                    eventLoop.execute { handler.value.begin(turn, maximumBytes, channel.value) }
                }
                if !mayWait { connection.close() }
            }
        }
    }

    private func begin(_ turn: Turn, _ maximumBytes: Int, _ context: ChannelHandlerContext) {
        // One that is closed gives its turn back.
        guard connection != nil else { return }
        self.turn = (turn, maximumBytes)
        isWaiting = false
        setReading(context)
        takeFrames(context)
    }

    private func cancelDeadline() {
        deadline?.cancel()
        deadline = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelDeadline()
        silence?.cancel()
        place?.leave()
        turn = nil
        partial = ByteBuffer()
        outbox?.close()
        outbox = nil
        connection?.closed()
        connection = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension ByteBuffer {
    /// Zeroes what can be read, in place; to be called by whoever is the last to read it.
    ///
    /// NIO keeps the memory for what is read next. A write to a buffer that it shares would be one to a copy.
    fileprivate func wipe() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
