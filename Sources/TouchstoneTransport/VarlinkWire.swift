package import Foundation
package import TouchstoneCore

/// Sizes and waits of the transport, each named before the code that reads it.
package enum VarlinkLimits {
    /// Largest request that needs no turn for the memory that it takes, in bytes, without the terminating NUL (DEC-589).
    package static let maximumSmallRequestBytes = 64 << 10
    /// The turns of requests between that and ``maximumRequestBytes``.
    package static let mediumTurns = Turns.Limits(total: 64, perProcess: 8, perApp: 16)
    /// Largest request a service reads, in bytes, without the terminating NUL; what is larger is a large message.
    package static let maximumRequestBytes = 1 << 20
    /// Largest request of a method that takes large ones: a value of 16 MiB in base64, and the rest.
    package static let maximumLargeRequestBytes = 24 << 20
    /// Large messages that a service works on at a time.
    package static let maximumLargeMessages = 2
    /// Large messages of one process that wait for their turn.
    package static let maximumLargeMessagesThatWait = 24
    /// The turns of large messages; an app has one at a time, so that it cannot keep the others waiting.
    package static let largeTurns = Turns.Limits(
        total: maximumLargeMessages, perApp: 1, waitingPerProcess: maximumLargeMessagesThatWait)
    /// Largest reply a client reads.
    package static let maximumReplyBytes = 64 << 20
    /// Requests that may wait behind the one being answered, on one connection; together they have the bytes of a small one.
    package static let maximumPipelinedRequests = 16
}

/// Errors that every Varlink service may answer (`org.varlink.service`).
package enum VarlinkServiceError {
    package struct InterfaceNotFound: VarlinkError {
        package static let name = "org.varlink.service.InterfaceNotFound"
        package var interface: String
        package init(interface: String) { self.interface = interface }
        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            interface = try json.value("interface")
        }
        package func write(to json: inout JSONOutput) throws { try ["interface": interface].write(to: &json) }
    }
    package struct MethodNotFound: VarlinkError {
        package static let name = "org.varlink.service.MethodNotFound"
        package var method: String
        package init(method: String) { self.method = method }
        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            method = try json.value("method")
        }
        package func write(to json: inout JSONOutput) throws { try ["method": method].write(to: &json) }
    }
    package struct InvalidParameter: VarlinkError {
        package static let name = "org.varlink.service.InvalidParameter"
        package var parameter: String
        package init(parameter: String) { self.parameter = parameter }
        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            parameter = try json.value("parameter")
        }
        package func write(to json: inout JSONOutput) throws { try ["parameter": parameter].write(to: &json) }
    }
    /// The peer is nobody whom the service knows, or no longer the one that connected.
    package struct PermissionDenied: VarlinkError, EmptyMessage {
        package static let name = "org.varlink.service.PermissionDenied"
        package init() {}
    }
    /// Sent before the service had looked at who connects, and not carried out: to be sent once more, on the same connection (DEC-055).
    package struct SendAgain: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.SendAgain"
        package init() {}
        /// The whole message, without its NUL.
        package static let frame = Data(#"{"error":"io.touchstone.SendAgain"}"#.utf8)
    }
    package struct ExpectedMore: VarlinkError, EmptyMessage {
        package static let name = "org.varlink.service.ExpectedMore"
        package init() {}
    }
}

extension VarlinkMethod {
    static var maximumRequestBytes: Int {
        takesLargeRequests ? VarlinkLimits.maximumLargeRequestBytes : VarlinkLimits.maximumRequestBytes
    }
}

/// The peer answered with an error.
package struct RemoteError: Error, CustomStringConvertible {
    package var name: String
    /// As they came, in JSON; nil where there were none.
    package let parameters: Data?

    /// The error as `type`, where that is what it is.
    package func `as`<E: VarlinkError>(_ type: E.Type) -> E? {
        guard name == E.name else { return nil }
        return try? MessageDecoder.decode(E.self, from: parameters ?? Data("{}".utf8))
    }

    package var description: String { name }
}

/// The connection did not do its work; whether the call was carried out is unknown once it was sent.
package enum TransportError: Error, Hashable {
    /// Nothing listens there; the call was not carried out.
    case unreachable
    case closed
    case tooLarge
    case malformed
}

/// The messages of the protocol, around the parameters that a method or an error gives them.
enum Frame {
    static func request(_ method: String, _ parameters: some MessageCodable, more: Bool) throws -> Data {
        // A service may remember what it answered: the same request has to be the same text.
        try frame(("method", method), parameters, more ? "more" : nil, ordersKeys: true)
    }

    static func reply(_ parameters: some MessageCodable, continues: Bool) throws -> Data {
        try frame(nil, parameters, continues ? "continues" : nil)
    }

    static func error(_ name: String, _ parameters: some MessageCodable) throws -> Data {
        try frame(("error", name), parameters, nil)
    }

    private static func frame(
        _ head: (key: String, value: String)?, _ parameters: some MessageCodable, _ flag: String?,
        ordersKeys: Bool = false
    ) throws -> Data {
        var json = JSONOutput(ordersKeys: ordersKeys)
        json.beginObject()
        if let head { try json.write(head.value, for: head.key) }
        try json.write(parameters, for: "parameters")
        if let flag { try json.write(true, for: flag) }
        json.endObject()
        return Data(json.bytes)
    }
}

/// A reply as a client reads it: parsed once, whichever it is.
struct IncomingReply<Parameters: MessageCodable> {
    var result: Result<Parameters, RemoteError>
    var continues: Bool

    init(_ frame: Data) throws {
        let reply = try MessageDecoder(JSONText(frame))
        try reply.checkIsObject()
        continues = try reply.valueIfPresent("continues") ?? false
        if let error: String = try reply.valueIfPresent("error") {
            result = .failure(RemoteError(name: error, parameters: reply["parameters"]?.json))
        } else {
            result = .success(try reply.value("parameters"))
        }
    }
}
