public import TouchstoneSignInProtocol

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A session at the server, got with the owner's finger.
///
/// Its access token is worth nothing without a key that is made with the session and never leaves this object; with it each request is
/// signed (RFC 9449). It ends with ``end()``, with the device key at the server, or with the process.
@available(macOS 14, iOS 17, *)
public actor Session {
    /// The device key that signed in.
    public nonisolated let keyID: String
    /// Seconds that the server's clock was ahead of this one when the session began.
    public nonisolated let clockDifference: Int?

    private let transport: HTTPTransport
    private let key: SessionKey
    private let clock: ServerClock
    private var tokens: Body.Session
    private var renewAt: ContinuousClock.Instant
    private var refreshing: Task<Void, any Error>?
    private var isEnded = false

    init(_ tokens: Body.Session, key: SessionKey, clock: ServerClock, transport: HTTPTransport) {
        self.tokens = tokens
        self.key = key
        self.clock = clock
        self.transport = transport
        keyID = tokens.keyID
        clockDifference = clock.difference
        renewAt = Self.renewal(tokens)
    }

    /// An access token is renewed when it has less than so many seconds left.
    private static let renewalMargin = 30

    private static func renewal(_ tokens: Body.Session) -> ContinuousClock.Instant {
        .now + .seconds(max(0, min(tokens.expiresIn, longestLife) - renewalMargin))
    }

    private static let longestLife = 86_400

    /// Puts the access token and its proof on a request to the server, after renewing the token if it is time.
    ///
    /// The proof is for this method and address and for one use: authorize a request again before you send it again.
    ///
    /// - Parameter request: Its method and address have to be set, and the address is the server's.
    /// - Throws: ``SignInError``.
    public func authorize(_ request: inout URLRequest) async throws(SignInError) {
        guard let url = request.url, url.scheme == transport.url("/").scheme, url.host == transport.url("/").host,
            url.port == transport.url("/").port
        else { throw .configuration("the session is only for \(transport.url("/").absoluteString)") }
        let credentials = try await credentials()
        do {
            try credentials.apply(to: &request)
        } catch {
            throw SignInError(caught: error)
        }
    }

    /// The devices of the account.
    ///
    /// - Throws: ``SignInError``.
    public func devices() async throws(SignInError) -> [Body.Device] {
        try await transport.get("/v1/devices", try await credentials(), returning: Body.Devices.self).devices
    }

    /// Asks the server for a transaction, which ``SignInClient/confirm(_:)`` has the owner confirm.
    ///
    /// - Parameter text: What is to be confirmed, as the owner will read it: one line of at most 200 characters.
    /// - Returns: The transaction.
    /// - Throws: ``SignInError``.
    public func transaction(_ text: String) async throws(SignInError) -> Transaction {
        try PromptText.check(text)
        let asked = ContinuousClock.now
        let answer = try await transport.call(
            "/v1/transactions", Body.TransactionText(text: text), try await credentials(),
            returning: Body.Transaction.self)
        guard answer.text == text else { throw .badAnswer("it has changed the text that is to be confirmed") }
        return Transaction(answer, expires: asked + .seconds(answer.expiresIn))
    }

    /// Renews the access token.
    ///
    /// Calls at the same time share one renewal: each refresh token works once.
    ///
    /// - Throws: ``SignInError``; after `.unreachable` it is not known which token is the current one, and the next renewal may end the
    ///   session.
    public func refresh() async throws(SignInError) {
        if isEnded { throw .sessionEnded }
        let task = refreshing ?? Task { try await self.renew() }
        refreshing = task
        do {
            try await task.value
        } catch {
            throw SignInError(caught: error)
        }
    }

    private func renew() async throws {
        defer { refreshing = nil }
        do throws(SignInError) {
            let answer = try await transport.call(
                "/v1/sessions/refresh", Body.Refresh(refreshToken: tokens.refreshToken),
                .proof(key, time: clock.now), returning: Body.Session.self)
            guard answer.keyID == keyID else { throw .badAnswer("the session now belongs to another device") }
            tokens = answer
            renewAt = Self.renewal(answer)
        } catch .refused {
            isEnded = true
            throw SignInError.sessionEnded
        }
    }

    /// Ends the session at the server.
    ///
    /// - Throws: ``SignInError``; where the server was not reached the session stays, and can be ended again.
    public func end() async throws(SignInError) {
        if isEnded { return }
        _ = try await transport.send("POST", "/v1/sessions/end", nil, try await credentials())
        isEnded = true
    }

    private func credentials() async throws(SignInError) -> Credentials {
        if isEnded { throw .sessionEnded }
        if renewAt <= .now { try await refresh() }
        return .accessToken(tokens.accessToken, key, time: clock.now)
    }
}
