import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `GET /v1/web/session`: who is signed in on this page.
    ///
    /// Nobody is an answer and no refusal: each page that is opened asks.
    func webSession(_ call: Call) async throws -> Response {
        guard let session = try await pageSession(call),
            let account = try await store.account(userHandle: session.userHandle)
        else { return .noContent }
        return try .json(Body.Account(account: account.name))
    }

    /// `POST /v1/web/session/end`.
    func endWebSession(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        guard let session = try await pageSession(call) else { throw Failure.refused(.sessionEnded) }
        try await store.endSession(id: session.id)
        var response = Response.noContent
        response.setCookie(WebCookie.session.header(nil, lifetime: 0, configuration))
        return response
    }

    func pageSession(_ call: Call) async throws -> StoredSession? {
        guard let cookie = cookie(.session, of: call),
            let session = try await store.session(refreshHash: WebCookie.session.hash(cookie)),
            session.sessionKey == nil, session.expiresAt > configuration.now
        else { return nil }
        return session
    }
}
