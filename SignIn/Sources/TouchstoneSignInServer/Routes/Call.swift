import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import TouchstoneSignInProtocol

/// One request as the routes see it, whatever the application's context is.
struct Call: Sendable {
    /// No request's body is longer, in bytes.
    static let maximumBody = 16 * 1024

    let request: Request
    let body: Data
    /// The client's address, or its network's of 64 bits in IPv6; for counting.
    let address: String
    let route: Route
    let logger: Logger

    /// - Throws: `malformed` if the body is not JSON of this kind.
    func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        let contentType = request.headers[.contentType] ?? ""
        guard
            contentType.prefix(while: { $0 != ";" }).trimmingCharacters(in: .whitespaces).lowercased()
                == "application/json"
        else { throw Failure.malformed(.body) }
        guard let value = try? JSONDecoder().decode(type, from: body) else { throw Failure.malformed(.body) }
        return value
    }

    /// What follows the scheme in `Authorization`.
    func credentials(_ scheme: String) -> String? {
        guard let header = request.headers[.authorization] else { return nil }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme.lowercased() else { return nil }
        return String(parts[1])
    }

    /// Into the log.
    ///
    /// Of a key the beginning of its id: enough to find it among an account's.
    func tell(_ message: String, key: Data) {
        logger.info("\(message)", metadata: ["route": "\(route.name)", "key": "\(key.base64URL.prefix(8))"])
    }

    func cookie(_ name: String) -> Data? {
        guard let value = request.cookies[name]?.value, value.utf8.count <= 128 else { return nil }
        return Data(base64URL: value)
    }
}

extension Response {
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Response(bytes: try encoder.encode(value), type: "application/json", status: status)
    }

    static var noContent: Response { Response(status: .noContent, headers: .uncached) }

    static func text(_ text: String, type: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(bytes: Data(text.utf8), type: type, status: status)
    }

    init(bytes: some Sequence<UInt8>, type: String, status: HTTPResponse.Status = .ok) {
        var headers = HTTPFields.uncached
        headers[.contentType] = type
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The same bytes and headers for each failure of one kind.
    init(_ failure: Failure) {
        self = .text(
            "{\"error\":\"\(failure.answer.rawValue)\"}", type: "application/json", status: failure.answer.status)
        if let seconds = failure.retryAfter { headers[.retryAfter] = String(seconds) }
    }
}

extension HTTPFields {
    static var uncached: HTTPFields { [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"] }
}
