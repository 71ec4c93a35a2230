import Crypto
import Foundation
import Hummingbird
import TouchstoneSignInProtocol
import WebAuthn

extension SignInServer {
    /// What judges answers of authenticators.
    var relyingParty: RelyingParty {
        RelyingParty(
            domain: String(configuration.audience.prefix { $0 != ":" }).lowercased(), origins: configuration.origins)
    }

    /// `POST /v1/web/passkeys/registrations/challenge`: for a page that was signed in a short time ago (FD-53).
    func passkeyRegistrationChallenge(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await limitPasskeys(call)
        let (session, account) = try await freshSession(call)
        let lifetime = configuration.lifetimes.webRequest
        let challenge = configuration.random(32)
        try await store.addChallenge(
            StoredChallenge(
                hash: challenge.hashed, purpose: .register, keyID: nil, binding: Self.binding(toRegister: session),
                expiresAt: configuration.now + lifetime))
        let known = try await store.keys(userHandle: account.userHandle).filter { $0.state == .active }
            .compactMap(\.credentialID)
        return try .json(
            PasskeyBody.CreationOptions(
                challenge: challenge.base64URL, rp: .init(id: relyingParty.domain, name: relyingParty.domain),
                user: .init(
                    id: account.userHandle.base64URL, name: account.name, displayName: account.name),
                timeout: Int(lifetime) * 1000, excludeCredentials: known.map { .init(id: $0.base64URL) }))
    }

    /// `POST /v1/web/passkeys/registrations` (FD-50).
    func registerPasskey(_ call: Call) async throws -> Response {
        try checkOrigin(call)
        try await limitPasskeys(call)
        let (session, account) = try await freshSession(call)
        let response = try call.decode(PasskeyBody.Registration.self).response
        guard let clientData = Data(base64URL: response.clientDataJSON),
            let object = Data(base64URL: response.attestationObject)
        else { throw Failure.malformed(.body) }
        let challenge = try await takeChallenge(of: clientData, .register, Self.binding(toRegister: session))
        let made: RelyingParty.NewPasskey
        do throws(WebAuthnRefusal) {
            made = try relyingParty.register(clientData: clientData, attestationObject: object, challenge: challenge)
        } catch {
            throw Failure(error)
        }
        let der = made.publicKey.key.derRepresentation
        let new = StoredKey(
            id: der.hashed, publicKey: der, userHandle: account.userHandle, deviceID: configuration.random(16),
            deviceName: "passkey", counter: UInt64(made.counter), registeredAt: configuration.now, lastUsedAt: nil,
            state: .active, credentialID: made.id)
        let devices = try await store.keys(userHandle: account.userHandle) + [new]
        do {
            try await store.registerPasskey(new, session: session.id)
        } catch StoreError.notActive {
            throw Failure.refused(.sessionEnded)
        } catch StoreError.exists {
            throw Failure(answer: .conflict, reason: .keyExists, keyID: new.id)
        } catch StoreError.full {
            throw Failure(answer: .conflict, reason: .keysFull, keyID: new.id)
        }
        call.tell("passkey registered, attestation: \(made.attestation.rawValue)", key: new.id)
        let active = devices.filter { $0.state == .active }.map(\.deviceName)
        await notify(
            .registered(device: new.deviceName, replaced: false, devices: active), userHandle: account.userHandle)
        return try .json(Body.KeyID(keyID: new.id.base64URL), status: .created)
    }

    /// The page's session, if it is so young that whoever has the cookie gave a finger or a passkey just now (FD-53).
    private func freshSession(_ call: Call) async throws -> (StoredSession, StoredAccount) {
        guard let session = try await pageSession(call),
            let account = try await store.account(userHandle: session.userHandle)
        else { throw Failure.refused(.sessionEnded) }
        let began = session.expiresAt - configuration.lifetimes.webSession
        guard configuration.now < began + configuration.lifetimes.passwordSession else {
            throw Failure.refused(.sessionOld)
        }
        return (session, account)
    }

    private static func binding(toRegister session: StoredSession) -> Data {
        (Data("passkey of a session\u{0}".utf8) + session.id).hashed
    }

    func limitPasskeys(_ call: Call) async throws {
        try await limit(configuration.limits.addressWebRequests, "passkey", Data(call.address.utf8), .limitAddress)
    }

    /// Takes back the challenge that an answer names, once (FD-52).
    func takeChallenge(of clientData: Data, _ purpose: Purpose, _ binding: Data) async throws -> Data {
        let named: Data
        do throws(WebAuthnRefusal) {
            named = try ClientData(json: clientData).challenge
        } catch {
            throw Failure(error)
        }
        let now = configuration.now
        guard
            case .taken(let found, _) = try await store.takeChallenge(
                hash: named.hashed, keyID: nil, counting: [], at: now),
            let found
        else { throw Failure.refused(.challengeUnknown) }
        guard now < found.expiresAt else { throw Failure.refused(.challengeExpired) }
        guard found.purpose == purpose, found.binding == binding else { throw Failure.refused(.challengeForAnother) }
        return named
    }
}

extension Failure {
    init(_ refusal: WebAuthnRefusal) {
        self = .refused(.passkey)
        passkey = refusal.rawValue
    }
}
