public import NIOCore
public import NIOHTTPTypes

/// Closes a connection that does not send a complete request in time, counted from its opening or the answer before.
///
/// What is sent byte by byte does not move the deadline, as it would an idle time-out's: a slow client holds a connection for
/// this long at most.
public final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    /// Parts of a request.
    public typealias InboundIn = HTTPRequestPart
    /// The same, passed on.
    public typealias InboundOut = HTTPRequestPart
    /// Parts of an answer.
    public typealias OutboundIn = HTTPResponsePart
    /// The same, passed on.
    public typealias OutboundOut = HTTPResponsePart

    private let time: TimeAmount
    /// Nil while a complete request is answered.
    private var deadline: NIODeadline?
    /// Looks at the deadline, which may have moved by then: a timer for each request would cost more.
    private var timer: Scheduled<Void>?

    /// With these values.
    public init(_ time: TimeAmount) { self.time = time }

    /// Starts the deadline.
    public func handlerAdded(context: ChannelHandlerContext) { start(context) }

    /// Ends it.
    public func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    /// Ends it with the request's end.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { deadline = nil }
        context.fireChannelRead(data)
    }

    /// Starts it again with the answer's end.
    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { start(context) }
        context.write(data, promise: promise)
    }

    private func start(_ context: ChannelHandlerContext) {
        let deadline = NIODeadline.now() + time
        self.deadline = deadline
        if timer == nil { look(context, at: deadline) }
    }

    private func look(_ context: ChannelHandlerContext, at time: NIODeadline) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { [self] in
            timer = nil
            guard let deadline else { return }
            if deadline <= .now() { context.close(promise: nil) } else { look(context, at: deadline) }
        }
    }
}
