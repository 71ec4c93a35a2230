import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import NIOCore
import TouchstoneSignInProtocol

/// The server's side of docs/sign-in.md: routes for your Hummingbird application, or for `touchstone-signin`.
///
/// ```swift
/// let signIn = try await SignInServer(configuration: configuration, store: store, logger: logger)
/// signIn.addRoutes(to: router)
/// router.group().add(middleware: SignInAuthenticator(signIn)).get("/orders") { request, context in … }
/// let application = Application(router: router, services: [signIn.upkeep])
/// ```
public final class SignInServer: Sendable {
    /// As it was given.
    public let configuration: SignInConfiguration
    /// As it was given, with its calls timed.
    public let store: any SignInStore
    let notifier: any SignInNotifier
    let secondFactor: (any SecondFactor)?
    let attestation: (any AttestationVerifier)?
    let logger: Logger
    let passwords: PasswordHasher
    let tokenKeys: TokenKeys
    let metrics: SignInMetrics
    let trustedProxies: Set<IPAddress>

    /// Reads the keys of the access tokens, or makes the first one.
    ///
    /// - Parameters:
    ///   - configuration: what the server is told.
    ///   - store: where it keeps what it knows.
    ///   - notifier: tells owners what happened to their account (NP-22); without one only the log has it.
    ///   - secondFactor: asked after the password (NP-20); without one the password is enough.
    ///   - attestation: judges where a new key lives (NP-21); without one every key counts as unattested.
    ///   - logger: takes what no request's logger does.
    /// - Throws: ``StoreError``; ``TokenKeyError`` if the store's keys were sealed with another secret.
    public init(
        configuration: SignInConfiguration, store: any SignInStore, notifier: (any SignInNotifier)? = nil,
        secondFactor: (any SecondFactor)? = nil, attestation: (any AttestationVerifier)? = nil,
        logger: Logger = Logger(label: "touchstone.signin")
    ) async throws {
        self.configuration = configuration
        trustedProxies = Set(configuration.trustedProxies.compactMap { IPAddress($0) })
        metrics = SignInMetrics()
        let store = MeasuredStore(store: store, metrics: metrics)
        self.store = store
        self.notifier = notifier ?? LogNotifier(logger: logger)
        self.secondFactor = secondFactor
        self.attestation = attestation
        self.logger = logger
        passwords = try PasswordHasher()
        tokenKeys = TokenKeys(configuration: configuration, store: store)
        _ = try await tokenKeys.signing()
    }

    /// Adds the routes of docs/sign-in.md, at the paths it says.
    ///
    /// What is limited is counted by the context's remote address. Behind a proxy that is the proxy's, for everybody: name
    /// it in ``SignInConfiguration/trustedProxies``, `127.0.0.1` too, or all clients share one limit and anybody uses it
    /// up.
    ///
    /// `page`: with `/` and the page's files; without, for an application that has a page of its own there, which
    /// may use the routes below `/v1/web`.
    public func addRoutes<Router: RouterMethods>(to router: Router, page: Bool = true)
    where Router.Context: RemoteAddressRequestContext {
        let routes = page ? Route.all : Route.api
        for route in routes {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                await self.respond(to: request, by: route, address: self.address(request, context), context.logger)
            }
        }
        addRefusals(of: routes, to: router)
    }

    /// Adds `/readyz` and `/metrics`, which tell what the other routes' answers do not: for a router whose port nobody but the
    /// machine's own monitoring reaches.
    public func addOperations<Router: RouterMethods>(to router: Router) {
        for route in Route.operations {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                await self.respond(to: request, by: route, address: "operations", context.logger)
            }
        }
    }

    /// Runs one route: its body, its limit, its answer, and its log entry.
    func respond(to request: Request, by route: Route, address: String, _ logger: Logger) async -> Response {
        let start = ContinuousClock.now
        let response: Response
        do {
            let body = route.method == .get ? Data() : try await Self.collect(request)
            let call = Call(request: request, body: body, address: address, route: route, logger: logger)
            if route.path.hasPrefix("/v1/"), !route.countsAddress { try await limit([addressUse(call)]) }
            response = try await route.answer(self, call)
        } catch {
            var logger = logger
            logger[metadataKey: "route"] = "\(route.name)"
            let failure = Failure(error, logger)
            record(failure, logger)
            response = Response(failure)
        }
        metrics.answered(route, response.status, in: ContinuousClock.now - start)
        return response
    }

    func record(_ failure: Failure, _ logger: Logger) {
        var metadata: Logger.Metadata = ["reason": "\(failure.reason)", "answer": "\(failure.answer)"]
        // Enough to find the key among an account's, and no name for it.
        if let keyID = failure.keyID { metadata["key"] = "\(keyID.base64URL.prefix(8))" }
        if let name = failure.name { metadata["name"] = "\(name)" }
        if let address = failure.address { metadata["address"] = "\(address)" }
        if let passkey = failure.passkey { metadata["passkey"] = "\(passkey)" }
        logger.notice("request refused", metadata: metadata)
        metrics.refused(failure.reason)
    }

    private static func collect(_ request: Request) async throws -> Data {
        do {
            return Data(try await request.body.collect(upTo: Call.maximumBody).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Failure(answer: .tooLarge, reason: .body)
        } catch {
            throw Failure.malformed(.body)
        }
    }
}

extension Failure {
    /// What any error of a route is to its client.
    init(_ error: any Error, _ logger: Logger) {
        switch error {
        case let failure as Failure: self = failure
        case StoreError.unavailable(let text):
            logger.error("the storage does not answer", metadata: ["error": "\(text)"])
            self.init(answer: .unavailable, reason: .storage, retryAfter: 1)
        case let error as StoreError:
            logger.error("the storage refuses", metadata: ["error": "\(error)"])
            self.init(answer: .unavailable, reason: .storage, retryAfter: 1)
        default:
            // Its text may come from anywhere; its type says enough.
            logger.error("a route failed", metadata: ["error": "\(type(of: error))"])
            self.init(answer: .unavailable, reason: .unexpected, retryAfter: 1)
        }
    }
}
