import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/sessions`: a finger's signature for a session (NP-01).
    func signIn(_ call: Call) async throws -> Response {
        let signed = try await check(call, for: .signIn, counting: [addressUse(call)])
        let key = signed.key
        let details: Details.SignIn
        do {
            details = try signed.submitted.details(Details.SignIn.self, ["sessionKey"])
            guard Data(base64URL: details.sessionKey)?.count == 32 else {
                throw Failure.refused(.detailsForm, key: key.id)
            }
        } catch {
            // Signed all the same: its counter is not good for another message.
            try await raiseCounter(for: signed)
            throw error
        }
        let id = configuration.random(16)
        let refresh = RefreshToken(session: id, secret: configuration.random(32))
        let session = StoredSession(
            id: id, keyID: key.id, userHandle: key.userHandle, sessionKey: details.sessionKey,
            refreshHash: refresh.hash, expiresAt: configuration.now + configuration.lifetimes.session)
        let isAdded = try await store.addSession(
            session, raisingCounterTo: signed.message.counter, at: configuration.now)
        guard isAdded else { throw try await counterRefusal(of: signed) }
        call.tell("signed in", key: key.id)
        return try await .json(answer(session, refresh))
    }

    /// `POST /v1/sessions/refresh`: each token once; a copy of one ends the session.
    func refresh(_ call: Call) async throws -> Response {
        let body = try call.decode(Body.Refresh.self)
        guard let token = RefreshToken(body.refreshToken) else { throw Failure.refused(.refreshUnknown) }
        let proof = try await Proof(call.request, accessToken: nil, configuration: configuration)
        let now = configuration.now
        guard let session = try await store.session(id: token.session), session.expiresAt > now else {
            throw Failure.refused(.sessionEnded)
        }
        // Before the token is looked at: without the session key it neither works nor ends anything.
        guard session.sessionKey == proof.thumbprint else { throw Failure.refused(.proofKey, key: session.keyID) }
        try await spend(proof)
        let next = RefreshToken(session: session.id, secret: configuration.random(32))
        switch try await store.rotateRefresh(hash: token.hash, to: next.hash, expiresAt: session.expiresAt, at: now) {
        case .rotated(let session):
            return try await .json(answer(session, next))
        case .reused:
            await notify(.sessionCopied, userHandle: session.userHandle)
            throw Failure.refused(.refreshReused, key: session.keyID)
        case .unknown:
            throw Failure.refused(.refreshUnknown, key: session.keyID)
        }
    }

    /// `POST /v1/sessions/end`.
    func endSession(_ call: Call) async throws -> Response {
        try await store.endSession(id: try await authenticate(call.request).session)
        return .noContent
    }

    /// `GET /.well-known/jwks.json`.
    func keySet(_ call: Call) async throws -> Response {
        var response = try Response.json(JSONWebKeySet(keys: try await tokenKeys.keySet()))
        // Shorter than the time that a key is shown before it signs.
        response.headers[.cacheControl] = "public, max-age=300"
        return response
    }

    private func answer(_ session: StoredSession, _ refresh: RefreshToken) async throws -> Body.Session {
        let now = Int(configuration.now.timeIntervalSince1970)
        let lifetime = Int(
            min(configuration.lifetimes.accessToken, session.expiresAt.timeIntervalSince(configuration.now)))
        let token = AccessToken(
            iss: configuration.audience, aud: configuration.audience, sub: session.userHandle.base64URL,
            sid: session.id.base64URL, key: session.keyID.base64URL, cnf: .init(jkt: session.sessionKey ?? ""),
            iat: now, exp: now + lifetime)
        return Body.Session(
            accessToken: try await tokenKeys.sign(token), refreshToken: refresh.text, expiresIn: lifetime,
            keyID: session.keyID.base64URL)
    }
}

/// A refresh token: its session's id, to find it, and 32 random bytes.
struct RefreshToken: Sendable {
    let session: Data
    let text: String
    /// As it is kept; never the same as a page's cookie's.
    var hash: Data { Data("refresh\u{0}\(text)".utf8).hashed }

    init(session: Data, secret: Data) {
        self.session = session
        text = (session + secret).base64URL
    }

    init?(_ text: String) {
        guard let bytes = Data(base64URL: text), bytes.count == 48 else { return nil }
        session = Data(bytes.prefix(16))
        self.text = text
    }
}
