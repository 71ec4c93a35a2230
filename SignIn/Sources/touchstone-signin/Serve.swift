public import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import ServiceLifecycle
import SignInConnections
import TouchstoneSignInServer
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answer requests, until SIGTERM.",
        discussion: """
            The server speaks plain HTTP, so a proxy that ends TLS has to be in front of it. Name the proxy's address: \
            --trusted-proxy 127.0.0.1 if it runs on this machine. Without that all clients share one limit, and \
            anybody can use it up. After SIGTERM, running requests may take ten seconds at most to end.
            """)

    enum LogFormat: String, ExpressibleByArgument, CaseIterable { case text, json }

    @OptionGroup var database: DatabaseOptions
    @Option(help: "Where to listen.") var address = "127.0.0.1"
    @Option(help: "The port. 0 takes a free one, and says which.") var port = 8480
    @Option(
        help: ArgumentHelp(
            "A port of 127.0.0.1 for /readyz and /metrics. Without it these do not exist. 0 takes a free port, and says which.",
            discussion: "No proxy should forward it, because the counts tell who is refused, and why."))
    var operationsPort: Int?
    @Option(
        help: "The server's name, which clients have in their configuration: host name, with :port if it is not 443.")
    var audience: String
    @Option(
        help: ArgumentHelp(
            "The origin of the page, as a browser writes it: https://signin.example.org. May be repeated.",
            discussion: "Default: https:// and the audience; http:// if that is this machine."))
    var origin: [String] = []
    @Option(help: "An identifier of an app that may register and sign in. May be repeated.")
    var application: [String]
    @Option(
        help: "A file of 32 bytes that seal the server's own keys in the database. Made beside a SQLite database.")
    var secretFile: String?
    @Option(help: "text or json, to standard error.") var logFormat = LogFormat.text
    @Option(help: "trace, debug, info, notice, warning, error or critical.") var logLevel = Logger.Level.info
    @Flag(help: "There is a proxy in front that ends TLS. This allows another address than this machine's own.")
    var behindTLSProxy = false
    @Option(
        help: ArgumentHelp(
            "An address of a proxy whose X-Forwarded-For the server believes. May be repeated.",
            discussion:
                "Without it, all clients behind a proxy share one limit. Use 127.0.0.1 if the proxy runs on this machine."
        ))
    var trustedProxy: [String] = []
    @Option(help: "Requests from one address in a minute.") var limitPerAddress = RateLimits().address.count
    @Option(help: "Challenges for one key in a minute.") var limitPerKey = RateLimits().key.count
    @Option(help: "Challenges for one account in a minute.") var limitPerAccount = RateLimits().account.count
    @Option(help: "Seconds for which a challenge is good, 1 to 300.") var challengeSeconds = Int(Lifetimes().challenge)
    @Option(help: "Seconds for which a page's code is good, 1 to 600.") var webRequestSeconds = Int(
        Lifetimes().webRequest)
    @Option(
        help:
            "Seconds for which a key signs access tokens, at least 4. It is published before, for a quarter of this time and at most an hour."
    )
    var tokenKeySeconds = Int(Lifetimes().tokenKey)
    @Option(help: "Connections at once; more wait.") var connections = 1024

    /// At once, on the operations' port.
    private static let operationsConnections = 16

    func run() async throws {
        let server = try await server()
        let router = Router(context: ServeContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: NotFound())
        server.addRoutes(to: router)
        let logger = logger
        let port = port
        let address = address
        let http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadline(.seconds(15))], idleTimeout: .seconds(30),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 64))
        let application = Application(
            router: router,
            server: HTTPServerBuilder { OnEventLoop(base: HTTP1Channel(responder: $0, configuration: http)) },
            configuration: .init(
                address: .hostname(address, port: port), backlog: 512,
                availableConnectionsDelegate: MaximumAvailableConnections(connections)),
            services: [server.upkeep],
            onServerRunning: { channel in
                logger.notice(
                    "serving", metadata: ["address": "\(address)", "port": "\(channel.localAddress?.port ?? port)"])
            },
            logger: logger)
        var applications: [any Service] = [application]
        if let operationsPort { applications.append(operations(of: server, port: operationsPort, http, logger)) }
        var services = ServiceGroupConfiguration(
            services: applications, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        services.maximumGracefulShutdownDuration = .seconds(10)
        try await ServiceGroup(configuration: services).run()
        try await server.store.close()
    }

    private func operations(
        of server: SignInServer, port: Int, _ http: HTTP1Channel.Configuration, _ logger: Logger
    ) -> some ApplicationProtocol {
        let router = Router(context: ServeContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: NotFound())
        server.addOperations(to: router)
        return Application(
            router: router, server: .http1(configuration: http),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.operationsConnections)),
            onServerRunning: { channel in
                logger.notice("operations", metadata: ["port": "\(channel.localAddress?.port ?? port)"])
            },
            logger: logger)
    }
}

struct ServeContext: RequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
