import Foundation
internal import Synchronization
package import TouchstoneCore

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
    /// The types, for the test that holds them against the interface file.
    package let parameters: any (Codable & Sendable).Type
    package let reply: any (Codable & Sendable).Type
    let prepare: @Sendable (Decoder) throws -> @Sendable (PendingCall) -> Void

    typealias Decoder = KeyedDecodingContainer<RequestKeys>

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
        VarlinkHandler(name: M.name, parameters: M.Parameters.self, reply: M.Reply.self) { request in
            let parameters =
                request.contains(.parameters)
                ? try request.decode(M.Parameters.self, forKey: .parameters)
                : try JSONDecoder().decode(NoParameters<M.Parameters>.self, from: Data(#"{"parameters":{}}"#.utf8))
                    .parameters
            return { pending in body(parameters, VarlinkCall(pending)) }
        }
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

    package func reply(_ reply: M.Reply) {
        pending.finish { try JSONEncoder().encode(ReplyFrame(parameters: reply, continues: nil)) }
    }

    /// One reply of a stream; to be called only where `wantsMore`.
    package func `continue`(_ reply: M.Reply) {
        pending.send { try JSONEncoder().encode(ReplyFrame(parameters: reply, continues: true)) }
    }

    /// As `continue`, and waits until the peer has taken what it was sent: a stream is made no faster than it is read.
    ///
    /// To be called from `VarlinkConnection.perform` only.
    ///
    /// - Returns: Whether the peer is still there.
    package func continueWhenTaken(_ reply: M.Reply) -> Bool {
        pending.sendThrough { try JSONEncoder().encode(ReplyFrame(parameters: reply, continues: true)) }
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
    private let oneway: Bool
    private let isFinished = Mutex(false)

    init(connection: VarlinkConnection, more: Bool, oneway: Bool) {
        self.connection = connection
        self.more = more
        self.oneway = oneway
    }

    func finish(_ frame: () throws -> Data) {
        let first = isFinished.withLock { finished in
            defer { finished = true }
            return !finished
        }
        guard first else { return }
        if !oneway { write(frame) }
        connection.next()
    }

    func send(_ frame: () throws -> Data) {
        guard isFinished.withLock({ !$0 }), !oneway else { return }
        write(frame)
    }

    func sendThrough(_ frame: () throws -> Data) -> Bool {
        guard isFinished.withLock({ !$0 }), !oneway, let frame = encoded(frame) else { return false }
        return connection.sendThrough(frame)
    }

    func fail(_ error: any VarlinkError) {
        func encode<E: VarlinkError>(_ error: E) throws -> Data {
            try JSONEncoder().encode(ErrorFrame(error: E.name, parameters: error))
        }
        finish { try encode(error) }
    }

    private func write(_ frame: () throws -> Data) {
        if let frame = encoded(frame) { connection.send(frame) }
    }

    private func encoded(_ frame: () throws -> Data) -> Data? {
        guard let data = try? frame(), data.count <= VarlinkLimits.maximumReplyBytes else {
            connection.close()
            return nil
        }
        return data
    }
}

/// Finds the handler of a request, checks the parameters, and answers what is nobody's.
package final class VarlinkRouter: Sendable {
    /// What `org.varlink.service.GetInfo` says of the service.
    package struct Info: Codable, Sendable {
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

    package init(info: Info, interfaces: [VarlinkInterface]) {
        let all = interfaces + [ServiceInterface.interface(info, describing: interfaces)]
        self.interfaces = all
        self.handlers = Dictionary(uniqueKeysWithValues: all.flatMap(\.handlers).map { ($0.name, $0) })
    }

    func answer(_ frame: Data, on connection: VarlinkConnection) {
        let decoder = JSONDecoder()
        decoder.userInfo[.handlers] = handlers
        let request: IncomingRequest
        do {
            request = try decoder.decode(IncomingRequest.self, from: frame)
        } catch {
            // Not a Varlink request at all: there is nothing to answer and no telling where the next one begins.
            return connection.close()
        }
        let call = PendingCall(connection: connection, more: request.more, oneway: request.oneway)
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

extension CodingUserInfoKey {
    // The initialiser fails only on Apple's platforms of old; the name is a literal.
    fileprivate static let handlers = CodingUserInfoKey(rawValue: "io.touchstone.handlers")!
}

/// A request, parsed once: its parameters are read by the handler that the method names.
private struct IncomingRequest: Decodable {
    enum Body {
        case run(@Sendable (PendingCall) -> Void)
        case invalid(parameter: String)
        case unknown
    }

    var method: String
    var more: Bool
    var oneway: Bool
    var body: Body

    init(from decoder: any Decoder) throws {
        let request = try decoder.container(keyedBy: RequestKeys.self)
        method = try request.decode(String.self, forKey: .method)
        more = try request.decodeIfPresent(Bool.self, forKey: .more) ?? false
        oneway = try request.decodeIfPresent(Bool.self, forKey: .oneway) ?? false
        let handlers = decoder.userInfo[.handlers] as? [String: VarlinkHandler]
        guard let handler = handlers?[method] else {
            body = .unknown
            return
        }
        do {
            body = .run(try handler.prepare(request))
        } catch let error as DecodingError {
            body = .invalid(parameter: error.parameter)
        } catch is Status {
            body = .invalid(parameter: "accessControl")
        } catch {
            body = .invalid(parameter: Self.unfitNumber(in: request))
        }
    }

    /// Of a number that does not fit, `JSONDecoder` says only that there is one: this is where, if there is only one that can be meant.
    private static func unfitNumber(in request: KeyedDecodingContainer<RequestKeys>) -> String {
        guard let parameters = try? request.decode([String: Suspect].self, forKey: .parameters) else { return "" }
        let suspects = parameters.filter(\.value.isUnfit).keys
        return suspects.count == 1 ? suspects.first ?? "" : ""
    }

    /// A parameter that holds a number which is no 64-bit integer.
    private struct Suspect: Decodable {
        var isUnfit: Bool

        init(from decoder: any Decoder) throws {
            isUnfit = (try? JSONValue(from: decoder))?.hasUnfitNumber ?? true
        }
    }
}

/// A request that leaves its parameters out, as one that has none in them.
private struct NoParameters<Parameters: Decodable>: Decodable {
    var parameters: Parameters
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
