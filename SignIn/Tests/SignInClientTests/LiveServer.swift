import Crypto
import Foundation
import FoundationNetworking
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Synchronization
import TouchstoneSignIn
import TouchstoneSignInProtocol
import TouchstoneSignInServer

/// The real server on a live socket of this machine, with one account, and a record of what it was sent.
final class LiveServer: Sendable {
    static let audience = "signin.test"
    static let application = "tests"
    static let password = "correct horse battery staple"

    let url: URL
    let store: any SignInStore
    let traffic = Traffic()

    private init(url: URL, store: any SignInStore) {
        self.url = url
        self.store = store
    }

    /// Runs `body` while the server answers, with its clock so many seconds ahead.
    static func run(
        clockOffset: TimeInterval = 0, _ body: @escaping @Sendable (LiveServer) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "signin-\(UUID().uuidString).db")
        let store = try SQLStore.sqlite(at: file.path)
        defer {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
        }
        try await SignInAdministration(store: store).addAccount("alice", password: password)
        let port = try freePort()
        let origin = "http://127.0.0.1:\(port)"
        guard let url = URL(string: origin) else { throw POSIXError(.EADDRNOTAVAIL) }
        let live = LiveServer(url: url, store: store)

        var configuration = SignInConfiguration(
            audience: audience, origins: [origin], applications: [application], secret: SymmetricKey(size: .bits256))
        configuration.clock = { Date() + clockOffset }
        // An owner who is slow here is a machine that is busy.
        configuration.lifetimes.challenge = 3600
        configuration.lifetimes.registrationChallenge = 3600
        configuration.lifetimes.transaction = 3600
        configuration.lifetimes.webRequest = 3600
        configuration.limits.key.count = 1000
        configuration.limits.account.count = 1000
        var logger = Logger(label: "signin-tests")
        logger.logLevel = .critical
        let server = try await SignInServer(configuration: configuration, store: store, logger: logger)
        let router = Router(context: LiveContext.self)
        router.add(middleware: live.traffic)
        server.addRoutes(to: router)
        let (running, isRunning) = AsyncThrowingStream.makeStream(of: Void.self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { _ in isRunning.finish() }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await application.run()
                } catch {
                    // Or nobody would ever hear that it does not run.
                    isRunning.finish(throwing: error)
                    throw error
                }
            }
            for try await _ in running {}
            defer { group.cancelAll() }
            try await body(live)
        }
        try await store.close()
    }

    func client() throws -> SignInClient {
        try SignInClient(server: url, audience: Self.audience, application: Self.application)
    }

    /// Sends a request once more with all that it showed, as anybody could who read it.
    func replay(_ sent: Traffic.Sent) async throws -> Int {
        var request = URLRequest(url: url.appending(path: sent.path))
        request.httpMethod = "POST"
        request.httpBody = sent.body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(sent.authorization, forHTTPHeaderField: "Authorization")
        request.setValue(sent.proof, forHTTPHeaderField: "DPoP")
        let (_, answer) = try await URLSession.shared.data(for: request)
        return (answer as? HTTPURLResponse)?.statusCode ?? 0
    }

    /// The account's keys as the store has them.
    func keys() async throws -> [StoredKey] { try await SignInAdministration(store: store).devices(of: "alice") }

    var activeKeys: Int {
        get async throws { try await keys().filter { $0.state == .active }.count }
    }

    /// Below those that the system gives to who connects, as one of them may be taken before the server has it.
    private static func freePort() throws -> Int {
        for _ in 1...100 {
            let port = UInt16.random(in: 20_000..<32_000)
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
            let isBound = unsafe address.withSockAddr { unsafe bind(socket, $0, socklen_t($1)) == 0 }
            if isBound { return Int(port) }
        }
        throw POSIXError(.EADDRINUSE)
    }
}

/// Notes every request, and lets one be lost before the server hears of it, or its answer after the server did what was asked.
final class Traffic: RouterMiddleware, Sendable {
    typealias Context = LiveContext

    struct Sent: Sendable {
        var path: String
        var body: Data
        var authorization: String?
        var proof: String?
        var status: Int
    }

    private let log = Mutex<[Sent]>([])
    private let lost = Mutex<Set<String>>([])
    private let unheard = Mutex<Set<String>>([])

    func sent(_ path: String) -> [Sent] { log.withLock { $0.filter { $0.path == path } } }
    var all: [Sent] { log.withLock { $0 } }
    func loseAnswers(to path: String) { lost.withLock { _ = $0.insert(path) } }
    func loseRequests(to path: String) { unheard.withLock { _ = $0.insert(path) } }

    func loseNoMore() {
        lost.withLock { $0.removeAll() }
        unheard.withLock { $0.removeAll() }
    }

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var request = request
        let body = Data(try await request.collectBody(upTo: 65536).readableBytesView)
        let path = request.uri.path
        if unheard.withLock({ $0.contains(path) }) { return Self.brokenAnswer }
        let response = try await next(request, context)
        let sent = Sent(
            path: path, body: body, authorization: request.headers[.authorization],
            proof: HTTPField.Name("DPoP").flatMap { request.headers[$0] }, status: Int(response.status.code))
        log.withLock { $0.append(sent) }
        return lost.withLock { $0.contains(path) } ? Self.brokenAnswer : response
    }

    /// Breaks the connection after the head.
    private static var brokenAnswer: Response {
        Response(status: .ok, headers: [.contentLength: "100"], body: .init { _ in throw CancellationError() })
    }
}
