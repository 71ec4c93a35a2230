import Foundation
package import TouchstoneCore

/// Sizes and waits of the transport, each named before the code that reads it.
package enum VarlinkLimits {
    /// Largest request a service reads, in bytes, without the terminating NUL.
    package static let maximumRequestBytes = 1 << 20
    /// Largest reply a client reads.
    package static let maximumReplyBytes = 64 << 20
    /// Requests that may wait behind the one being answered, on one connection.
    package static let maximumPipelinedRequests = 16
}

/// Errors that every Varlink service may answer (`org.varlink.service`).
package enum VarlinkServiceError {
    package struct InterfaceNotFound: VarlinkError {
        package static let name = "org.varlink.service.InterfaceNotFound"
        package var interface: String
        package init(interface: String) { self.interface = interface }
    }
    package struct MethodNotFound: VarlinkError {
        package static let name = "org.varlink.service.MethodNotFound"
        package var method: String
        package init(method: String) { self.method = method }
    }
    package struct InvalidParameter: VarlinkError {
        package static let name = "org.varlink.service.InvalidParameter"
        package var parameter: String
        package init(parameter: String) { self.parameter = parameter }
    }
    /// The peer is nobody whom the service knows, or no longer the one that connected.
    package struct PermissionDenied: VarlinkError {
        package static let name = "org.varlink.service.PermissionDenied"
        package init() {}
    }
    package struct ExpectedMore: VarlinkError {
        package static let name = "org.varlink.service.ExpectedMore"
        package init() {}
    }
}

/// The peer answered with an error.
package struct RemoteError: Error, CustomStringConvertible {
    package var name: String
    let parameters: JSONValue

    /// The error as `type`, where that is what it is.
    package func `as`<E: VarlinkError>(_ type: E.Type) -> E? {
        guard name == E.name, let data = try? JSONEncoder().encode(parameters) else { return nil }
        return try? JSONDecoder().decode(E.self, from: data)
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

struct RequestFrame<Parameters: Encodable>: Encodable {
    var method: String
    var parameters: Parameters
    var more: Bool?
}

enum RequestKeys: String, CodingKey { case method, parameters, more, oneway }

struct ReplyFrame<Parameters: Encodable>: Encodable {
    var parameters: Parameters
    var continues: Bool?
}

struct ErrorFrame<Parameters: Encodable>: Encodable {
    var error: String
    var parameters: Parameters
}

/// A reply as a client reads it: parsed once, whichever it is.
struct IncomingReply<Parameters: Decodable>: Decodable {
    var result: Result<Parameters, RemoteError>
    var continues: Bool

    private enum CodingKeys: String, CodingKey { case error, parameters, continues }

    init(from decoder: any Decoder) throws {
        let frame = try decoder.container(keyedBy: CodingKeys.self)
        continues = try frame.decodeIfPresent(Bool.self, forKey: .continues) ?? false
        if let error = try frame.decodeIfPresent(String.self, forKey: .error) {
            let parameters = try frame.decodeIfPresent(JSONValue.self, forKey: .parameters) ?? .object([:])
            result = .failure(RemoteError(name: error, parameters: parameters))
        } else {
            result = .success(try frame.decode(Parameters.self, forKey: .parameters))
        }
    }
}
