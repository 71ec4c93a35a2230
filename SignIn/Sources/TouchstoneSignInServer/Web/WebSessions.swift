import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `GET /v1/web/session`: who is signed in on this page.
    func webSession(_ call: Call) async throws -> Response {
        let session = try await pageSession(call)
        guard let account = try await store.account(userHandle: session.userHandle) else {
            throw Failure.refused(.sessionEnded)
        }
        return try .json(Body.Account(account: account.name))
    }

    /// `POST /v1/web/session/end`.
    func endWebSession(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await store.endSession(id: try await pageSession(call).id)
        var response = Response.noContent
        response.setCookie(WebCookie.session.header(nil, lifetime: 0, configuration))
        return response
    }

    private func pageSession(_ call: Call) async throws -> StoredSession {
        guard let cookie = cookie(.session, of: call) else { throw Failure.refused(.noCookie) }
        guard let session = try await store.session(refreshHash: WebCookie.session.hash(cookie)),
            session.sessionKey == nil, session.expiresAt > configuration.now
        else { throw Failure.refused(.sessionEnded) }
        return session
    }
}
