import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization
import TouchstoneSignIn

/// Answers pages that want to sign in: `POST /approve` with `{"request", "code"}`.
///
/// Any page may send a request here, and any name can be made to lead here. So a request has to name this program as its host, and to come
/// from the origin of a server that this device is registered with: the browser fills in `Origin`, which no page can forge. What a page says
/// decides nothing else: the prompt shows the name, and the approval goes to the address, of the registration.
final class Approver: HTTPResponder, Sendable {
    /// With the ends of the connection.
    struct Context: RequestContext {
        var coreContext: CoreRequestContextStorage
        let local: SocketAddress?
        let remote: SocketAddress?

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            local = source.channel.localAddress
            remote = source.channel.remoteAddress
        }
    }

    /// Longest body of a request, in bytes.
    static let maximumBodyLength = 1024
    /// How long the owner is asked before the request counts as cancelled: longer than a challenge lives.
    static let longestPrompt = Duration.seconds(90)

    private let port = Mutex<Int?>(nil)
    private let isAsking = Mutex(false)
    private let refusals = Mutex(RefusalLog())

    /// From then on requests are answered.
    func open(port: Int) { self.port.withLock { $0 = port } }

    func respond(to request: Request, context: Context) async throws -> Response {
        do throws(Refusal) {
            try checkUser(context)
            try checkHost(request.head)
            guard request.uri.path == "/approve" else { throw Refusal(.notFound, "notFound", "there is nothing here") }
            let registered = try await registeredServer(of: request.head)
            var response: Response
            do throws(Refusal) {
                response = try await answer(request, registered)
            } catch {
                response = error.response
            }
            response.headers[.accessControlAllowOrigin] = try Self.origin(of: request.head)
            return Self.hardened(response)
        } catch {
            return Self.hardened(error.response)
        }
    }

    private func answer(_ request: Request, _ registered: RegisteredServer) async throws(Refusal) -> Response {
        switch request.method {
        case .options:
            return Response(
                status: .noContent,
                headers: [
                    .accessControlAllowMethods: "POST", .accessControlAllowHeaders: "content-type",
                    Self.allowPrivateNetwork: "true",
                ])
        case .post:
            return try await whileConnected(request) { body throws(Refusal) in
                try await self.approve(try await Self.asked(request, body), registered)
            }
        default: throw Refusal(.methodNotAllowed, "method", "POST only")
        }
    }

    // MARK: who asks

    /// What the browser says counts only from the owner's own programs, because other users' programs can claim any origin.
    private func checkUser(_ context: Context) throws(Refusal) {
        let user = LoopbackPeer.user(local: context.local, remote: context.remote)
        guard user != getuid() else { return }
        remark(
            "refused a program of \(user.map { "user \($0)" } ?? "nobody known"), because only your own programs may ask"
        )
        throw Refusal(.forbidden, "user", "only programs of the user who runs this may ask")
    }

    /// Says it on the terminal, unless refusals would fill the terminal.
    private func remark(_ line: String) {
        if refusals.withLock({ $0.isNew(line, at: .now) }) { StandardOutput.say(line) }
    }

    /// A name of somebody else's that leads to 127.0.0.1 is refused (DNS rebinding).
    private func checkHost(_ head: HTTPRequest) throws(Refusal) {
        let port = port.withLock { $0 } ?? 0
        guard let host = head.authority, ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host) else {
            throw Refusal(.misdirectedRequest, "host", "this program is 127.0.0.1:\(port)")
        }
    }

    private static func origin(of head: HTTPRequest) throws(Refusal) -> String {
        let origins = head.headerFields[values: .origin]
        guard origins.count == 1, origins[0].utf8.count <= maximumOriginLength else {
            throw Refusal(.forbidden, "origin", "only a page in a browser may ask, and this request has no Origin")
        }
        return origins[0]
    }

    private func registeredServer(of head: HTTPRequest) async throws(Refusal) -> RegisteredServer {
        let origin = try Self.origin(of: head)
        let servers: [RegisteredServer]
        do throws(SignInError) {
            servers = try await SignInClient.registeredServers()
        } catch {
            StandardError.say(error.description)
            throw Refusal(error)
        }
        guard let registered = servers.first(where: { $0.server.absoluteString == origin }) else {
            let known = servers.map(\.server.absoluteString).joined(separator: ", ")
            remark(
                "refused \(PlainText.line(origin)): this device is not registered there"
                    + (known.isEmpty ? "" : ", but at \(known)"))
            throw Refusal(.forbidden, "unknownOrigin", "this device is not registered with that page's server")
        }
        return registered
    }

    // MARK: what is asked

    private struct Asked: Decodable {
        var request: String
        var code: String
    }

    private static func asked(_ request: Request, _ body: RequestBody) async throws(Refusal) -> Asked {
        let type = request.headers[.contentType]?.lowercased()
        guard type == "application/json" || type?.hasPrefix("application/json;") == true else {
            throw Refusal(.unsupportedMediaType, "malformed", "the body has to be application/json")
        }
        let bytes: ByteBuffer
        do {
            bytes = try await body.collect(upTo: maximumBodyLength)
        } catch {
            throw Refusal(.contentTooLarge, "tooLarge", "the body has at most \(maximumBodyLength) bytes")
        }
        guard let asked = try? JSONDecoder().decode(Asked.self, from: Data(bytes.readableBytesView)) else {
            throw Refusal(.badRequest, "malformed", "the body is {\"request\", \"code\"}")
        }
        return asked
    }

    // MARK: asking the owner

    private struct Answer: Encodable { var state: String }

    /// Cancels `answer`, and takes its prompt down, when the page goes away.
    private func whileConnected(
        _ request: Request, _ answer: @Sendable (RequestBody) async throws(Refusal) -> Response
    ) async throws(Refusal) -> Response {
        do {
            return try await request.body.consumeWithCancellationOnInboundClose { try await answer($0) }
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw Refusal(.badRequest, "malformed", "the request was not complete")
        }
    }

    private func approve(_ asked: Asked, _ registered: RegisteredServer) async throws(Refusal) -> Response {
        let isFirst = isAsking.withLock { isAsking in
            defer { isAsking = true }
            return !isAsking
        }
        guard isFirst else { throw Refusal(.conflict, "busy", "the owner is being asked about another page") }
        defer { isAsking.withLock { $0 = false } }
        do {
            let client = try SignInClient(registered)
            StandardOutput.say("\(registered.audience) shows \(PlainText.line(asked.code)): waiting for a finger")
            do {
                try await Self.withinTime {
                    try await client.approve(request: asked.request, code: asked.code, origin: client.origin)
                }
                StandardOutput.say("approved \(registered.audience)")
                return try Refusal.json(.ok, Answer(state: "approved"))
            } catch SignInError.cancelled {
                // In a task of its own: this one may be what was cancelled.
                try await Task { try await client.deny(request: asked.request, code: asked.code) }.value
                StandardOutput.say("denied \(registered.audience)")
                return try Refusal.json(.ok, Answer(state: "denied"))
            }
        } catch let error as SignInError {
            StandardOutput.say("\(registered.audience): \(error.description)")
            throw Refusal(error)
        } catch {
            throw Refusal(.internalServerError, "internal", "the answer could not be written")
        }
    }

    /// Cancels what takes longer than ``longestPrompt``.
    private static func withinTime(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                // The page may also have gone away, which ends the sleep.
                try? await Task.sleep(for: longestPrompt)
                throw SignInError.cancelled
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: answers

    private static let maximumOriginLength = 300
    private static let allowPrivateNetwork = HTTPField.Name("Access-Control-Allow-Private-Network")!

    private static func hardened(_ response: Response) -> Response {
        var response = response
        response.headers[.vary] = "Origin"
        response.headers[.cacheControl] = "no-store"
        response.headers[.xContentTypeOptions] = "nosniff"
        return response
    }
}

/// Why a page is refused: a status, and JSON that a person can read.
struct Refusal: Error {
    private struct Body: Encodable {
        var error: String
        var message: String
    }

    private let status: HTTPResponse.Status
    private let body: Body

    init(_ status: HTTPResponse.Status, _ error: String, _ message: String) {
        self.status = status
        body = Body(error: error, message: message)
    }

    init(_ error: SignInError) {
        switch error {
        case .configuration(let text): self.init(.badRequest, "malformed", text)
        case .registrationNeeded: self.init(.conflict, "registrationNeeded", error.description)
        case .notRegistered: self.init(.conflict, "notRegistered", error.description)
        case .lockedOut: self.init(.conflict, "lockedOut", error.description)
        case .notRecognised: self.init(.conflict, "notRecognised", error.description)
        case .notAvailable: self.init(.serviceUnavailable, "notAvailable", error.description)
        case .refused, .sessionEnded: self.init(.badGateway, "refused", error.description)
        case .notFound, .conflict: self.init(.conflict, "expired", error.description)
        case .busy, .cancelled, .tooManyRequests, .unavailable, .unreachable, .badAnswer, .keychain:
            self.init(.badGateway, "failed", error.description)
        }
    }

    var response: Response {
        (try? Self.json(status, body)) ?? Response(status: status)
    }

    static func json(_ status: HTTPResponse.Status, _ value: some Encodable) throws -> Response {
        let data = try JSONEncoder().encode(value)
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: data)))
    }
}
