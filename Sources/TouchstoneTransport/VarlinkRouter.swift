package import Foundation
internal import Synchronization
package import TouchstoneCore
import TouchstoneInterfaces

/// An interface as a service offers it: its description file and a handler for each method.
package struct VarlinkInterface: Sendable {
    package let name: String
    /// The text of the `.varlink` file.
    package let description: String
    package let handlers: [VarlinkHandler]

    package init(name: String, description: [UInt8], handlers: [VarlinkHandler]) {
        self.name = name
        self.description = String(decoding: description, as: UTF8.self)
        self.handlers = handlers
    }
}

/// The answer to one method.
package struct VarlinkHandler: Sendable {
    package let name: String
    /// The types, for the test that holds them against what was recorded.
    package let parameters: any MessageCodable.Type
    package let reply: any MessageCodable.Type
    let maximumRequestBytes: Int
    let prepare: @Sendable (MessageDecoder) throws -> @Sendable (PendingCall) -> Void
    /// The whole answer to a message that was answered before; nil: it is read and answered as any other.
    var recall: (@Sendable (Data, VarlinkConnection) -> Data?)?

    /// A method that answers at once.
    ///
    /// What it throws is the answer, if it is a `VarlinkError`.
    package static func method<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, VarlinkConnection) throws -> M.Reply
    ) -> VarlinkHandler {
        deferred(method) { parameters, call in
            do {
                call.reply(try body(parameters, call.connection))
            } catch let error as any VarlinkError {
                call.fail(error)
            } catch {
                call.drop()
            }
        }
    }

    /// A method that answers through its call, when it can.
    package static func deferred<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, VarlinkCall<M>) -> Void
    ) -> VarlinkHandler {
        VarlinkHandler(
            name: M.name, parameters: M.Parameters.self, reply: M.Reply.self,
            maximumRequestBytes: M.maximumRequestBytes
        ) { request in
            let parameters = try request.decode(M.Parameters.self)
            return { pending in body(parameters, VarlinkCall(pending)) }
        }
    }

    /// A method that answers through its call, unless `recall` has the answer already.
    ///
    /// `recall` is given the message before anybody reads it, where others' requests are read: it must not wait. It answers for a message
    /// that was in `VarlinkCall.frame` of a call, and for no other.
    package static func deferred<M: VarlinkMethod>(
        _ method: M.Type, recalling recall: @escaping @Sendable (Data, VarlinkConnection) -> M.Reply?,
        _ body: @escaping @Sendable (M.Parameters, VarlinkCall<M>) -> Void
    ) -> VarlinkHandler {
        var handler = deferred(method, body)
        handler.recall = { frame, connection in
            recall(frame, connection).flatMap { try? Frame.reply($0, continues: false) }
        }
        return handler
    }
}

/// A call that waits for its answer.
///
/// Exactly one of `reply`, `fail` and `drop` counts, the first.
package struct VarlinkCall<M: VarlinkMethod>: Sendable {
    private let pending: PendingCall

    init(_ pending: PendingCall) { self.pending = pending }

    package var connection: VarlinkConnection { pending.connection }
    package var wantsMore: Bool { pending.more }
    /// The message, where its answer may be remembered; else nil.
    package var frame: Data? { pending.frame }

    package func reply(_ reply: M.Reply) {
        pending.finish("ok") { try Frame.reply(reply, continues: false) }
    }

    /// As `reply`, and waits until the peer has taken it; to be called from `VarlinkConnection.perform` only.
    package func replyWhenTaken(_ reply: M.Reply) {
        pending.finish("ok", isWaited: true) { try Frame.reply(reply, continues: false) }
    }

    /// One reply of a stream; to be called only where `wantsMore`.
    package func `continue`(_ reply: M.Reply) {
        pending.send { try Frame.reply(reply, continues: true) }
    }

    /// As `continue`, and waits until the peer has taken what it was sent: a stream is made no faster than it is read.
    ///
    /// To be called from `VarlinkConnection.perform` only.
    ///
    /// - Returns: Whether the peer is still there.
    package func continueWhenTaken(_ reply: M.Reply) -> Bool {
        pending.sendThrough { try Frame.reply(reply, continues: true) }
    }

    package func fail(_ error: any VarlinkError) {
        pending.fail(error)
    }

    /// Ends the connection without an answer: our own fault, or the peer is gone.
    package func drop() {
        pending.connection.close()
    }
}

final class PendingCall: Sendable {
    let connection: VarlinkConnection
    let more: Bool
    /// nil where nobody remembers the answer.
    let frame: Data?
    private let oneway: Bool
    private let isFinished = Mutex(false)
    private let trace: MessageTrace?
    /// The handler's name, never what a client made up.
    private let method: String
    private let traced: MessageTrace.Call?

    init(
        connection: VarlinkConnection, more: Bool = false, oneway: Bool = false, method: String, bytes: Int,
        frame: Data? = nil, trace: MessageTrace?
    ) {
        self.connection = connection
        self.more = more
        self.frame = frame
        self.oneway = oneway
        self.method = method
        self.trace = trace
        traced = trace?.called(method, Self.route(method, connection), bytes: bytes)
    }

    private static func route(_ method: String, _ connection: VarlinkConnection) -> MessageTrace.Route {
        MessageTrace.Route(caller: .init(callerOf: method), callee: .touchstoned) {
            (try? connection.identity())?.identifier
        }
    }

    func finish(_ outcome: String, isWaited: Bool = false, _ frame: () throws -> Data) {
        let first = isFinished.withLock { finished in
            defer { finished = true }
            return !finished
        }
        guard first else { return }
        if !oneway, let frame = encoded(frame) {
            trace?.answered(
                traced, method, Self.route(method, connection), outcome: outcome, bytes: frame.count)
            // The turn of a large answer ends when the peer has taken it.
            if isWaited || frame.count > VarlinkLimits.maximumRequestBytes && connection.hasLargeTurn {
                _ = connection.sendThrough(frame)
            } else {
                connection.send(frame)
            }
        }
        connection.next()
    }

    func send(_ frame: () throws -> Data) {
        guard isFinished.withLock({ !$0 }), !oneway, let frame = encoded(frame) else { return }
        trace?.streamed(method, Self.route(method, connection), bytes: frame.count)
        connection.send(frame)
    }

    func sendThrough(_ frame: () throws -> Data) -> Bool {
        guard isFinished.withLock({ !$0 }), !oneway, let frame = encoded(frame) else { return false }
        trace?.streamed(method, Self.route(method, connection), bytes: frame.count)
        return connection.sendThrough(frame)
    }

    func fail(_ error: any VarlinkError) {
        func encode<E: VarlinkError>(_ error: E) throws -> Data { try Frame.error(E.name, error) }
        finish(type(of: error).name) { try encode(error) }
    }

    private func encoded(_ frame: () throws -> Data) -> Data? {
        guard let data = try? frame(), data.count <= VarlinkLimits.maximumReplyBytes else {
            connection.close()
            return nil
        }
        return connection.isPeerUnchanged() ? data : nil
    }
}

/// Finds the handler of a request, checks the parameters, and answers what is nobody's.
package final class VarlinkRouter: Sendable {
    /// What `org.varlink.service.GetInfo` says of the service.
    package struct Info: Sendable {
        var vendor = "Touchstone"
        var product: String
        var version: String
        var url = "https://varlink.org"
        package init(product: String, version: String) {
            self.product = product
            self.version = version
        }
    }

    package let interfaces: [VarlinkInterface]
    private let handlers: [String: VarlinkHandler]
    /// Those that remember answers, each with what its messages begin with.
    private let recalling: [(beginning: Data, handler: VarlinkHandler)]
    private let trace: MessageTrace?

    /// `trace` is told of every message of every connection.
    package init(info: Info, interfaces: [VarlinkInterface], trace: MessageTrace? = nil) {
        self.trace = trace
        let all = interfaces + [ServiceInterface.interface(info, describing: interfaces)]
        self.interfaces = all
        self.handlers = Dictionary(uniqueKeysWithValues: all.flatMap(\.handlers).map { ($0.name, $0) })
        recalling = all.flatMap(\.handlers).filter { $0.recall != nil }
            .map { (Data(#"{"method":"\#($0.name)","#.utf8), $0) }
    }

    /// The largest request that may begin with these bytes: of a large one the method comes first.
    package func maximumRequestBytes(beginning: Data) -> Int {
        let beginning = beginning.prefix(Self.bytesOfBeginning).filter { $0 > UInt8(ascii: " ") }
        let isLarge = handlers.values.contains { handler in
            handler.maximumRequestBytes > VarlinkLimits.maximumRequestBytes
                && beginning.starts(with: #"{"method":"\#(handler.name)""#.utf8)
        }
        return isLarge ? VarlinkLimits.maximumLargeRequestBytes : VarlinkLimits.maximumRequestBytes
    }

    /// More than a method with its name and white space takes.
    package static var bytesOfBeginning: Int { 256 }

    func answer(_ frame: Data, on connection: VarlinkConnection) {
        guard connection.isPeerUnchanged() else { return }
        if let handler = recalling.first(where: { frame.starts(with: $0.beginning) })?.handler,
            let answer = handler.recall?(frame, connection)
        {
            return PendingCall(connection: connection, method: handler.name, bytes: frame.count, trace: trace)
                .finish("ok") { answer }
        }
        let request: IncomingRequest
        do {
            request = try IncomingRequest(frame, handlers)
        } catch {
            // Not a Varlink request at all: there is nothing to answer and no telling where the next one begins.
            return connection.close()
        }
        let call = PendingCall(
            connection: connection, more: request.more, oneway: request.oneway, method: request.handler ?? "",
            bytes: frame.count, frame: request.isRecalled ? frame : nil, trace: trace)
        switch request.body {
        case .run(let body): body(call)
        case .invalid(let parameter): call.fail(VarlinkServiceError.InvalidParameter(parameter: parameter))
        case .unknown:
            let interface = request.method.split(separator: ".").dropLast().joined(separator: ".")
            if interfaces.contains(where: { $0.name == interface }) {
                call.fail(VarlinkServiceError.MethodNotFound(method: request.method))
            } else {
                call.fail(VarlinkServiceError.InterfaceNotFound(interface: interface))
            }
        }
    }
}

/// A request, parsed once: its parameters are read by the handler that the method names.
private struct IncomingRequest {
    enum Body {
        case run(@Sendable (PendingCall) -> Void)
        case invalid(parameter: String)
        case unknown
    }

    var method: String
    /// The name of its handler; nil where nobody answers it.
    var handler: String?
    var more: Bool
    var oneway: Bool
    /// Whether its answer may be remembered.
    var isRecalled = false
    var body: Body

    init(_ frame: Data, _ handlers: [String: VarlinkHandler]) throws {
        let request = try MessageDecoder(JSONText(frame))
        try request.checkIsObject()
        method = try request.value("method")
        more = try request.valueIfPresent("more") ?? false
        oneway = try request.valueIfPresent("oneway") ?? false
        guard let handler = handlers[method] else {
            body = .unknown
            return
        }
        self.handler = handler.name
        isRecalled = handler.recall != nil && !oneway
        do {
            // A request that leaves its parameters out is one that has none in them.
            let parameters = try request.contains("parameters") ? request : MessageDecoder(JSONText(Self.noParameters))
            body = .run(try handler.prepare(parameters.member("parameters")))
        } catch let error as DecodingError {
            body = .invalid(parameter: error.parameter)
        } catch is Status {
            body = .invalid(parameter: "accessControl")
        }
    }

    private static let noParameters = Data(#"{"parameters":{}}"#.utf8)
}

extension DecodingError {
    /// The name of the parameter at fault, which is no secret; its value may be.
    fileprivate var parameter: String {
        let path: [any CodingKey] =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            case .keyNotFound(let key, let context): context.codingPath + [key]
            @unknown default: []
            }
        return path.dropFirst().map(\.stringValue).joined(separator: ".")
    }
}

extension InspectorInterface.Party {
    /// Who calls such a method: agents and owners' programs have interfaces of their own.
    fileprivate init(callerOf method: String) {
        let interface = method.split(separator: ".").dropLast().joined(separator: ".")
        switch interface {
        case AgentInterface.name: self = .agent
        case DeviceInterface.name, BackupInterface.name, SyncInterface.name: self = .owner
        default: self = .app
        }
    }
}
