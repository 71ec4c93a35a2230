import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Synchronization

/// The app's page, on a loopback port of its own.
struct ChoresServer {
    private let chores = Chores()
    /// Whether a page of another port of this machine may show this one in a frame.
    let isFramed: Bool
    /// Whoever has it is let in: 128 random bits.
    private let token = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()

    /// Serves until the process ends.
    ///
    /// - Parameter port: The port; 0 for one that is free.
    /// - Throws: What keeps a server from listening there.
    func run(port: Int) async throws {
        let bound = Bound()
        let router = Router()
        router.middlewares.add(LoopbackOnly(token: token, isFramed: isFramed) { bound.port.withLock { $0 } })
        let page = router.group(RouterPath(token))
        page.get("/") { _, _ in Self.file(PackageResources.chores_html, "text/html; charset=utf-8") }
        page.get("chores.css") { _, _ in Self.file(PackageResources.chores_css, "text/css; charset=utf-8") }
        page.get("chores.js") { _, _ in Self.file(PackageResources.chores_js, "text/javascript; charset=utf-8") }
        page.get("states") { request, _ in try await states(request) }
        func action(
            _ name: String, _ body: @escaping @Sendable (Request, BasicRequestContext) async throws -> Void
        ) {
            page.post(RouterPath(name)) { request, context in
                try await body(request, context)
                return HTTPResponse.Status.noContent
            }
        }
        action("register") { await chores.register(password: try await Self.password($0, $1)) }
        action("sign-in") { await chores.signIn(password: try await Self.password($0, $1)) }
        action("sign-in-with-biometrics") { _, _ in await chores.signInWithBiometrics() }
        action("cancel") { _, _ in await chores.cancel() }
        action("sign-out") { _, _ in await chores.signOut() }
        action("add") { await chores.add(title: try await $0.decode(as: Title.self, context: $1).title) }
        action("done") {
            let done = try await $0.decode(as: Done.self, context: $1)
            await chores.setDone(done.id, done.isDone)
        }
        action("remove") { await chores.remove(try await $0.decode(as: Removal.self, context: $1).id) }

        var logger = Logger(label: "chores")
        logger.logLevel = .error
        let application = Application(
            router: router,
            // Whoever connects and says nothing takes the place of one who does.
            server: .http1(configuration: .init(idleTimeout: .seconds(Self.idleSeconds))),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? port
                bound.port.withLock { $0 = port }
                print("Chores: http://127.0.0.1:\(port)/\(token)/")
                fflush(nil)
            },
            logger: logger)
        try await application.run()
    }

    /// Server-sent events, each a state as JSON.
    private func states(_ request: Request) async throws -> Response {
        guard let states = await chores.states() else { throw HTTPError(.tooManyRequests) }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    for await state in states {
                        let json = String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
                        try await writer.write(ByteBuffer(string: "data: \(json)\n\n"))
                    }
                }
                try await writer.finish(nil)
            })
    }

    private static func file(_ bytes: [UInt8], _ type: String) -> Response {
        Response(status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static func password(_ request: Request, _ context: BasicRequestContext) async throws -> String {
        let password = try await request.decode(as: Password.self, context: context).password
        guard passwordLengths.contains(password.utf8.count) else { throw HTTPError(.badRequest) }
        return password
    }

    /// One for each page's stream, and a few for what it fetches and sends.
    private static let maximumConnections = 64
    /// For a connection on which nothing is asked for; a stream of states is.
    private static let idleSeconds: Int64 = 10
    private static let passwordLengths = 6...256

    private struct Password: Decodable { let password: String }
    private struct Title: Decodable { let title: String }
    private struct Done: Decodable {
        let id: UUID
        let isDone: Bool
    }
    private struct Removal: Decodable { let id: UUID }

    /// The port that the server was given, known once it runs.
    private final class Bound: Sendable {
        let port = Mutex(0)
    }
}
