import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

/// Sends requests to a router itself, without a connection.
struct RouterClient: Sendable {
    private let respond: @Sendable (Request) async throws -> Response

    init(_ router: Router<TestContext>, logger: Logger = Logger(label: "test")) {
        let responder = router.buildResponder()
        respond = { request in
            let source = ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: logger)
            return try await responder.respond(to: request, context: TestContext(source: source))
        }
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: Data? = nil, headers: HTTPFields = [:]
    ) async throws -> Answer {
        var headers = headers
        if let body { headers[.contentLength] = String(body.count) }
        let head = HTTPRequest(
            method: method, scheme: "http", authority: "localhost", path: path, headerFields: headers)
        let response = try await respond(
            Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body ?? Data()))))
        let written = WrittenBody()
        try await response.body.write(written)
        return Answer(
            status: response.status.code, headers: response.headers, body: Data(written.bytes.readableBytesView))
    }
}

private final class WrittenBody: ResponseBodyWriter {
    private let buffer = Mutex(ByteBuffer())
    var bytes: ByteBuffer { buffer.withLock { $0 } }

    func write(_ part: ByteBuffer) async throws {
        buffer.withLock { _ = $0.writeImmutableBuffer(part) }
    }

    func finish(_ trailers: HTTPFields?) async throws {}
}
