import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/web/requests`: one at a time for each browser; an earlier one that still waits is denied.
    func addWebRequest(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await limit(
            configuration.limits.addressWebRequests, "web request", Data(call.address.utf8), .limitAddress)
        let now = configuration.now
        if let earlier = cookie(.browser, of: call),
            let request = try await store.webRequest(browserHash: WebCookie.browser.hash(earlier))
        {
            _ = try await store.settleWebRequest(id: request.id, as: .denied, keyID: nil, at: now)
        }
        let browser = configuration.random(32)
        let lifetime = configuration.lifetimes.webRequest
        let request = StoredWebRequest(
            id: configuration.random(16).base64URL, code: code(), browserHash: WebCookie.browser.hash(browser),
            expiresAt: now + lifetime, state: .pending, keyID: nil)
        try await store.addWebRequest(request)
        var response = try Response.json(
            Body.WebRequest(request: request.id, code: request.code, expiresIn: Int(lifetime)), status: .created)
        response.setCookie(WebCookie.browser.header(browser, lifetime: lifetime + 60, configuration))
        return response
    }

    /// `GET /v1/web/requests/state`: what became of this browser's request; the first look at an approved one signs the
    /// page in.
    func webRequestState(_ call: Call) async throws -> Response {
        guard let browser = cookie(.browser, of: call),
            let request = try await store.webRequest(browserHash: WebCookie.browser.hash(browser))
        else { throw Failure.refused(.noCookie) }
        switch request.state {
        case .pending:
            return try .json(Body.WebState(state: request.expiresAt > configuration.now ? .pending : .expired))
        case .denied: return try .json(Body.WebState(state: .denied))
        case .refused: return try .json(Body.WebState(state: .refused))
        // It belongs to this browser and is already signed in: a copy of the cookie gets no second session.
        case .collected: return try .json(Body.WebState(state: .approved))
        case .approved: return try await collect(request)
        }
    }

    private func collect(_ request: StoredWebRequest) async throws -> Response {
        let now = configuration.now
        guard now < request.expiresAt else { return try .json(Body.WebState(state: .expired)) }
        guard let keyID = request.keyID, let key = try await store.key(id: keyID), key.state == .active,
            let account = try await store.account(userHandle: key.userHandle)
        else { return try .json(Body.WebState(state: .refused)) }
        let cookie = configuration.random(32)
        let lifetime = configuration.lifetimes.webSession
        do {
            let session = StoredSession(
                id: configuration.random(16), keyID: keyID, userHandle: key.userHandle, sessionKey: nil,
                refreshHash: WebCookie.session.hash(cookie), expiresAt: now + lifetime)
            guard try await store.collectWebRequest(id: request.id, session: session, at: now) else {
                return try .json(Body.WebState(state: .approved))
            }
        } catch StoreError.notActive {
            return try .json(Body.WebState(state: .refused))
        }
        var response = try Response.json(Body.WebState(state: .approved, account: account.name))
        response.setCookie(WebCookie.session.header(cookie, lifetime: lifetime, configuration))
        return response
    }

    /// Six digits in two groups, as the page and the prompt show them.
    private func code() -> String {
        var number: UInt64
        // 2^64 is not a multiple of a million, and the rest is thrown away.
        repeat {
            number = configuration.random(8).reduce(0) { $0 << 8 | UInt64($1) }
        } while number >= .max / 1_000_000 * 1_000_000
        let digits = String(number % 1_000_000 + 1_000_000).dropFirst()
        return "\(digits.prefix(3)) \(digits.suffix(3))"
    }
}
