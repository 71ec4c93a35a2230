public import NIOCore
public import NIOHTTPTypes

/// Closes a connection that does not bring a whole request within a time of its opening, or of the answer before.
///
/// What is sent byte by byte does not move the deadline, as it would an idle time-out's: a slow client holds a connection for
/// this long at most.
public final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    public typealias InboundIn = HTTPRequestPart
    public typealias InboundOut = HTTPRequestPart
    public typealias OutboundIn = HTTPResponsePart
    public typealias OutboundOut = HTTPResponsePart

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?

    public init(_ time: TimeAmount) { self.time = time }

    public func handlerAdded(context: ChannelHandlerContext) { start(context) }

    public func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { deadline?.cancel() }
        context.fireChannelRead(data)
    }

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { start(context) }
        context.write(data, promise: promise)
    }

    private func start(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
