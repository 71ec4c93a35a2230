import Crypto
import Foundation
import Hummingbird
import TouchstoneSignInProtocol
import WebAuthn

extension SignInServer {
    /// `POST /v1/web/passkeys/sign-ins/challenge`: the answer has to come from the same browser (FD-52).
    func passkeyChallenge(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await limitPasskeys(call)
        let lifetime = configuration.lifetimes.webRequest
        let (challenge, browser) = (configuration.random(32), configuration.random(32))
        try await store.addChallenge(
            StoredChallenge(
                hash: challenge.hashed, purpose: .signIn, keyID: nil, binding: WebCookie.passkey.hash(browser),
                expiresAt: configuration.now + lifetime))
        var response = try Response.json(
            PasskeyBody.RequestOptions(
                challenge: challenge.base64URL, rpId: relyingParty.domain, timeout: Int(lifetime) * 1000))
        response.setCookie(WebCookie.passkey.header(browser, lifetime: lifetime, configuration))
        return response
    }

    /// `POST /v1/web/passkeys/sign-ins`: signs the page in (FD-51).
    func signInWithPasskey(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await limitPasskeys(call)
        let body = try call.decode(PasskeyBody.Assertion.self)
        guard let id = Data(base64URL: body.id), let clientData = Data(base64URL: body.response.clientDataJSON),
            let data = Data(base64URL: body.response.authenticatorData),
            let signature = Data(base64URL: body.response.signature)
        else { throw Failure.malformed(.body) }
        guard let browser = cookie(.passkey, of: call) else { throw Failure.refused(.noCookie) }
        let challenge = try await takeChallenge(of: clientData, .signIn, WebCookie.passkey.hash(browser))
        let key = try await passkey(id, body.response.userHandle)
        guard let publicKey = try? P256.Signing.PublicKey(derRepresentation: key.publicKey),
            let account = try await store.account(userHandle: key.userHandle)
        else { throw Failure.refused(.keyForm, key: key.id) }
        let counter: UInt32
        do throws(WebAuthnRefusal) {
            counter = try relyingParty.signIn(
                clientData: clientData, authenticatorData: data, signature: signature,
                key: PasskeyPublicKey(publicKey), counter: UInt32(clamping: key.counter), challenge: challenge)
        } catch {
            if error == .counter { try await revokeCopied(key) }
            var failure = Failure(error)
            failure.keyID = key.id
            throw failure
        }
        let cookie = configuration.random(32)
        let lifetime = configuration.lifetimes.webSession
        let session = StoredSession(
            id: configuration.random(16), keyID: key.id, userHandle: key.userHandle, sessionKey: nil,
            refreshHash: WebCookie.session.hash(cookie), expiresAt: configuration.now + lifetime)
        guard try await store.addPasskeySession(session, counter: UInt64(counter), at: configuration.now) else {
            throw Failure.refused(.keyRevoked, key: key.id)
        }
        call.tell("signed in with a passkey", key: key.id)
        var response = try Response.json(Body.Account(account: account.name))
        response.setCookie(WebCookie.session.header(cookie, lifetime: lifetime, configuration))
        response.setCookie(WebCookie.passkey.header(nil, lifetime: 0, configuration))
        return response
    }

    private func passkey(_ id: Data, _ userHandle: String?) async throws -> StoredKey {
        guard let key = try await store.key(credentialID: id) else { throw Failure.refused(.keyUnknown) }
        guard key.state == .active else { throw Failure.refused(.keyRevoked, key: key.id) }
        // An authenticator that finds a passkey by itself says whose it is.
        guard let userHandle, Data(base64URL: userHandle) == key.userHandle else {
            throw Failure.refused(.userHandle, key: key.id)
        }
        return key
    }

    /// As for a device key (NP-23).
    private func revokeCopied(_ key: StoredKey) async throws {
        if try await store.revoke(keyID: key.id, reason: .counter, at: configuration.now) {
            await notify(.revoked(device: key.deviceName, .counter), userHandle: key.userHandle)
        }
    }
}
