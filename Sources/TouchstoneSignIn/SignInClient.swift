import Crypto
public import Foundation
import TouchstoneSignInProtocol

/// One app's way into one server: a key in this device's Secure Enclave in place of a password.
///
/// The password travels once, to register; from then on a finger or a face signs what the server asks for. One source for Linux, macOS
/// and iOS, written against Apple's API.
///
/// A client does one thing with its key after the other: messages reach the server in the order of their counters. Nothing is sent twice:
/// a call that fails is over, and the next one asks for a challenge of its own.
@available(macOS 14, iOS 17, *)
public actor SignInClient {
    /// Calls that may wait for the owner at once.
    public static let maximumWaitingCalls = 16

    /// The server's name, in signed messages and in prompts.
    public nonisolated let audience: String
    /// The app's identifier in signed messages.
    public nonisolated let application: String
    /// Scheme, host and port as a browser spells them.
    public nonisolated var origin: String { server.origin }

    let server: ServerAddress
    let transport: HTTPTransport
    let keychain = DeviceKeychain()
    var clock = ServerClock()
    private var waitingCalls = 0
    private var last: Task<Void, Never>?
    var registering: Registering?

    /// - Parameters:
    ///   - server: `https://host` or `https://host:port`; `http://` for this machine alone.
    ///   - audience: What the server calls itself in its configuration; its host, with a port other than 443, where none is given.
    ///   - application: The app's identifier, one of those that the server takes.
    /// - Throws: `.configuration`.
    public init(server: URL, audience: String? = nil, application: String) throws(SignInError) {
        let address = try ServerAddress(server)
        let audience = audience ?? address.defaultAudience
        for (name, value) in [("audience", audience), ("application", application)] {
            guard (1...255).contains(value.utf8.count) else {
                throw .configuration("the \(name) has to have 1 to 255 bytes")
            }
            try PromptText.checkShown(value)
        }
        self.server = address
        self.audience = audience
        self.application = application
        transport = HTTPTransport(address)
    }

    // MARK: what this device knows

    /// The servers that this app has registered with on this device, by their audiences.
    ///
    /// - Throws: ``SignInError``.
    public static func registeredServers() async throws(SignInError) -> [RegisteredServer] {
        try await DeviceKeychain().records()
    }

    /// What this device knows of the server; nil before it was registered.
    ///
    /// - Throws: ``SignInError``.
    public func registration() async throws(SignInError) -> RegisteredServer? { try await keychain.record(audience) }

    /// Deletes the key and everything else about the server, here alone.
    ///
    /// To end the key there, ``revoke(_:)`` it first.
    ///
    /// - Throws: ``SignInError``.
    public func forget() async throws(SignInError) { try await keychain.forget(audience) }

    /// Deletes the keys that an earlier installation of the app has left in the keychain, which outlives the app (KC-45, NP-32).
    ///
    /// What the servers call this device stays, so that the next registration replaces the earlier key there.
    ///
    /// To be called at
    /// each launch, before anything else.
    ///
    /// - Parameter marker: Random bytes from a file that goes with the app, made at its first launch.
    /// - Returns: Whether there was something.
    /// - Throws: ``SignInError``.
    @discardableResult
    public static func adopt(installation marker: Data) async throws(SignInError) -> Bool {
        try await DeviceKeychain().adopt(installation: marker)
    }

    // MARK: what the key is for

    /// Signs in.
    ///
    /// Asks the owner.
    ///
    /// - Parameter reason: What the prompt adds to the server's name, after a comma; for example `to see your orders`.
    /// - Returns: The session.
    /// - Throws: ``SignInError``.
    public func signIn(reason: String = "") async throws(SignInError) -> Session {
        if !reason.isEmpty { try PromptText.check(reason) }
        let text = PromptText.signIn(audience) + (reason.isEmpty ? "" : ", \(reason)")
        return try await usingKey { signer in
            let key = SessionKey()
            let request = try await self.answer(
                .signIn, Details.SignIn(sessionKey: try key.thumbprint), signer, Prompt(reason: text))
            let tokens = try await self.transport.call("/v1/sessions", request, returning: Body.Session.self)
            guard tokens.keyID == signer.keyID.base64URL else {
                throw SignInError.badAnswer("the session belongs to another key")
            }
            return Session(tokens, key: key, clock: await self.clock, transport: self.transport)
        }
    }

    /// Has the owner confirm a transaction: its text is in the prompt and in what is signed.
    ///
    /// - Throws: ``SignInError``.
    public func confirm(_ transaction: Transaction) async throws(SignInError) {
        try PromptText.check(transaction.text)
        try await usingKey { signer in
            let request = try await self.signed(
                .confirmTransaction,
                Details.ConfirmTransaction(transaction: transaction.id, text: transaction.text),
                transaction.challenge, until: transaction.expires, by: signer,
                Prompt(reason: PromptText.confirm(self.audience, transaction.text)))
            let answer = try await self.transport.call(
                "/v1/transactions/confirm", request, returning: Body.TransactionState.self)
            guard answer.transaction == transaction.id, answer.state == "confirmed" else {
                throw SignInError.badAnswer("it did not confirm")
            }
        }
    }

    /// Signs a page in, whose request came through the browser on this machine.
    ///
    /// Asks the owner, with the code that the page shows. The approval goes to the server of this client's configuration, whatever page
    /// asked.
    ///
    /// - Parameters:
    ///   - request: The id of the page's request.
    ///   - code: The six digits that the page shows, as it shows them: `417 936`.
    ///   - origin: Which page asks, by the browser's word: has to be ``origin``.
    /// - Throws: ``SignInError``.
    public func approve(request: String, code: String, origin: String) async throws(SignInError) {
        guard origin == server.origin else { throw .configuration("the page is not one of \(audience)") }
        try Self.check(request: request, code: code)
        try await usingKey { signer in
            let signed = try await self.answer(
                .signIn, Details.WebSignIn(web: request, code: code, origin: origin), signer,
                Prompt(reason: PromptText.signIn(self.audience, code: code)))
            try await self.transport.tell("/v1/web/requests/approve", signed)
        }
    }

    /// Tells the server that the owner does not want a page's request.
    ///
    /// Asks for nobody.
    ///
    /// - Throws: ``SignInError``.
    public func deny(request: String, code: String) async throws(SignInError) {
        try Self.check(request: request, code: code)
        try await transport.tell("/v1/web/requests/deny", Body.WebDenial(request: request, code: code))
    }

    /// Revokes a key of the account: another device's that was lost, or this one's, which is then deleted here too.
    ///
    /// Asks the owner.
    ///
    /// - Parameter keyID: As in the list of devices.
    /// - Throws: ``SignInError``.
    public func revoke(_ keyID: String) async throws(SignInError) {
        guard Data(base64URL: keyID)?.count == 32 else { throw .configuration("a key id has 43 letters and digits") }
        try await usingKey { signer in
            let request = try await self.answer(
                .revoke, Details.Revoke(keyID: keyID), signer,
                Prompt(reason: PromptText.revoke(self.audience, keyID: keyID)))
            try await self.transport.tell("/v1/keys/revoke", request)
            if keyID == signer.keyID.base64URL { try await self.keychain.forget(self.audience) }
        }
    }

    // MARK: inside

    /// Which key signs, for whom.
    struct Signer: Sendable {
        var keyID: Data
        var userHandle: Data
        var tag: String
    }

    struct Empty: Encodable {}

    /// The registration under way.
    struct Registering {
        var name: String
        var deviceName: String
        var task: Task<[Body.Device], any Error>
    }

    /// Does something with the key, after what came before.
    ///
    /// Where the key turns out to be lost, deletes it and says so, every time the same
    /// until there is a new one (NP-31).
    func usingKey<Result: Sendable>(
        _ body: @escaping @Sendable (Signer) async throws -> Result
    ) async throws(SignInError) -> Result {
        let task = try inOrder {
            guard let record = try await self.keychain.record(self.audience) else { throw SignInError.notRegistered }
            if let reason = record.registrationNeeded { throw SignInError.registrationNeeded(reason) }
            guard record.server == self.server.url, record.application == self.application else {
                throw SignInError.configuration("this device registered \(self.audience) with another address or app")
            }
            let signer = Signer(keyID: record.keyID, userHandle: record.userHandle, tag: record.keyTag)
            do {
                do {
                    return try await body(signer)
                } catch is RevokedKey {
                    return try await self.usingPendingKey(of: record, body)
                }
            } catch KeyUseFailure.invalidated {
                try await self.keychain.invalidate(record, .invalidated)
                throw SignInError.registrationNeeded(.invalidated)
            } catch KeyUseFailure.missing {
                try await self.keychain.invalidate(record, .keyMissing)
                throw SignInError.registrationNeeded(.keyMissing)
            } catch SignInError.refused {
                // Deletes nothing: it may be a wrong address or a server that was set up again, and the answer does not say.
                throw SignInError.refused(clockDifference: await self.clock.difference)
            }
        }
        return try await Self.value(of: task)
    }

    /// The server gives no challenge for the key: it was revoked there (NP-30).
    struct RevokedKey: Error {}

    /// Begins `body` once every earlier one is done.
    func inOrder<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) throws(SignInError) -> Task<Result, any Error> {
        guard waitingCalls < Self.maximumWaitingCalls else { throw .busy }
        waitingCalls += 1
        let previous = last
        let task = Task {
            defer { waitingCalls -= 1 }
            await previous?.value
            try Task.checkCancellation()
            return try await body()
        }
        last = Task { _ = try? await task.value }
        return task
    }

    /// The task's result; cancelling the caller cancels it.
    static func value<Result: Sendable>(
        of task: Task<Result, any Error>
    ) async throws(SignInError) -> Result {
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw failure(error)
        }
    }

    static func failure(_ error: any Error) -> SignInError {
        switch error {
        case KeyUseFailure.other(let known): known
        // A new key that cannot be used at once: the fingers changed meanwhile.
        case KeyUseFailure.invalidated: .registrationNeeded(.invalidated)
        case KeyUseFailure.missing: .registrationNeeded(.keyMissing)
        default: SignInError(caught: error)
        }
    }

    func made(_ audience: String) async throws -> NewKey { try await keychain.makeKey(audience) }

    /// Gets a challenge for the key and answers it.
    func answer(
        _ purpose: Purpose, _ details: some Encodable & Sendable, _ signer: Signer, _ prompt: Prompt
    ) async throws -> SignedRequest {
        let asked = ContinuousClock.now
        let answer: Body.Challenge
        do throws(SignInError) {
            answer = try await transport.call(
                "/v1/challenges", Body.ChallengeRequest(keyID: signer.keyID.base64URL, purpose: purpose))
        } catch .refused {
            throw RevokedKey()
        }
        clock.heard(answer.serverTime)
        return try await signed(
            purpose, details, answer.challenge, until: asked + .seconds(answer.expiresIn), by: signer, prompt)
    }

    func signed(
        _ purpose: Purpose, _ details: some Encodable & Sendable, _ challenge: String,
        until expires: ContinuousClock.Instant, by signer: Signer, _ prompt: Prompt
    ) async throws -> SignedRequest {
        let details = try HTTPTransport.encoded(details)
        var generator = SystemRandomNumberGenerator()
        let nonce = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        let message = SignedMessage(
            purpose: purpose, audience: audience, application: application, keyID: signer.keyID,
            userHandle: signer.userHandle, challenge: try Self.bytes(challenge, 32), clientNonce: nonce,
            counter: try await keychain.nextCounter(tag: signer.tag), issuedAt: UInt64(max(0, ServerClock.local)),
            detailsHash: Data(SHA256.hash(data: details))
        ).bytes
        let signature = try await sign(message, tag: signer.tag, prompt)
        guard ContinuousClock.now < expires else {
            throw SignInError.notAvailable("the owner took longer than the server waits; try again")
        }
        return SignedRequest(message: message, signature: signature, details: details)
    }

    func sign(_ message: Data, tag: String, _ prompt: Prompt) async throws -> Data {
        try await withTaskCancellationHandler {
            try await keychain.sign(message, tag: tag, prompt: prompt)
        } onCancel: {
            prompt.cancel()
        }
    }

    static func bytes(_ text: String, _ count: Int) throws(SignInError) -> Data {
        guard let bytes = Data(base64URL: text), bytes.count == count else {
            throw .badAnswer("one of its fields does not have \(count) bytes")
        }
        return bytes
    }

    private static func check(request: String, code: String) throws(SignInError) {
        guard (1...128).contains(request.utf8.count), request.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .configuration("the page's request does not have the right form")
        }
        let digits = code.split(separator: " ", omittingEmptySubsequences: false)
        guard digits.count == 2,
            digits.allSatisfy({ $0.utf8.count == 3 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { throw .configuration("the page's code has to be six digits, as in 417 936") }
    }
}
