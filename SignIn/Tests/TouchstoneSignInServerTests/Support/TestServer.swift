import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// A server on SQLite, in the application of somebody else, with an account, a clock that the test moves and a log that it
/// reads.
struct TestServer: Sendable {
    static let audience = "signin.test"
    static let origin = "https://signin.test"
    static let application = "org.example.app"
    static let name = "anna"
    static let password = "correct horse"
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    let server: SignInServer
    let store: SQLStore
    let client: RouterClient
    let clock: TestClock
    let log: RecordedLog
    let notices: RecordedNotices
    let userHandle: Data

    var administration: SignInAdministration {
        get throws { try SignInAdministration(store: store, clock: { clock.now }) }
    }

    static func with(
        change: (inout SignInConfiguration) -> Void = { _ in }, secondFactor: (any SecondFactor)? = nil,
        attestation: (any AttestationVerifier)? = nil, _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let clock = TestClock()
        let log = RecordedLog()
        let notices = RecordedNotices()
        var configuration = SignInConfiguration(
            audience: audience, origins: [origin], applications: [application], secret: SymmetricKey(size: .bits256))
        configuration.clock = { clock.now }
        change(&configuration)
        let logger = Logger(label: "test") { _ in log.handler }
        try await withFolder { folder in
            let store = try SQLStore.sqlite(at: folder + "/signin.sqlite")
            let userHandle = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
            try await store.addAccount(
                StoredAccount(
                    name: name, userHandle: userHandle, passwordHash: try await hash.value, createdAt: clock.now))
            let server = try await SignInServer(
                configuration: configuration, store: store, notifier: notices, secondFactor: secondFactor,
                attestation: attestation, logger: logger)
            let router = Router(context: TestContext.self)
            server.addRoutes(to: router)
            router.group().add(middleware: SignInAuthenticator(server)).get("/orders") { _, context in
                context.signInIdentity?.userHandle.base64URL ?? "nobody"
            }
            try await body(
                TestServer(
                    server: server, store: store, client: RouterClient(router, logger: logger), clock: clock, log: log,
                    notices: notices, userHandle: userHandle))
            try await store.close()
        }
    }

    /// The password's hash, made once: it takes what a password check takes.
    private static let hash = Task { try await PasswordHasher().hash(password) }
}

struct TestContext: SignInRequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    var signInIdentity: SignInIdentity?
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = try? SocketAddress(ipAddress: "192.0.2.1", port: 1)
    }
}

final class TestClock: Sendable {
    private let time = Mutex(TestServer.start)
    var now: Date { time.withLock { $0 } }
    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

final class RecordedNotices: SignInNotifier {
    private let notices = Mutex<[SignInNotice]>([])
    var all: [SignInNotice] { notices.withLock { $0 } }
    func notify(_ notice: SignInNotice, account: String) async { notices.withLock { $0.append(notice) } }
}
