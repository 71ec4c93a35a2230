import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// The connections that have not yet shown the page's address: if there are too many, the oldest is closed.
///
/// Every program on the machine can connect, also another user's, and send half a request. This must not keep the page's own connections out.
final class Visitors: Sendable {
    private struct State {
        /// Oldest first.
        var unknown: [(number: ObjectIdentifier, leave: @Sendable () -> Void)] = []
    }

    private let maximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: Most connections that may be unknown.
    init(maximum: Int) { self.maximum = maximum }

    /// A connection was made; `leave` ends it, and may be called on any thread.
    func came(_ number: ObjectIdentifier, leave: @escaping @Sendable () -> Void) {
        let crowded = state.withLock { state in
            state.unknown.append((number, leave))
            return state.unknown.count > maximum ? state.unknown.removeFirst() : nil
        }
        crowded?.leave()
    }

    /// The connection is known by the page's address, or has ended.
    func forget(_ number: ObjectIdentifier) {
        state.withLock { state in state.unknown.removeAll { $0.number == number } }
    }

    /// Tells of one connection.
    final class Handler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = Any
        private let visitors: Visitors

        init(_ visitors: Visitors) { self.visitors = visitors }

        func handlerAdded(context: ChannelHandlerContext) {
            let channel = context.channel
            visitors.came(ObjectIdentifier(channel)) { channel.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            visitors.forget(ObjectIdentifier(context.channel))
            context.fireChannelInactive()
        }
    }
}

/// A request, and the connection that it came on.
struct PageContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let connection: ObjectIdentifier

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        connection = ObjectIdentifier(source.channel)
    }
}
