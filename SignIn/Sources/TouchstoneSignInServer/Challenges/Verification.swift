import Foundation
import TouchstoneSignInProtocol

extension SignInServer {
    /// Takes the challenge and looks at the message as far as that goes without its key: the first half of the checks of
    /// docs/sign-in.md, in their order.
    func open(_ call: Call, for purpose: Purpose) async throws -> (SubmittedMessage, SignedMessage, StoredChallenge?) {
        let submitted = try SubmittedMessage(call.decode(SignedRequest.self))
        var challenge: StoredChallenge?
        if let bytes = submitted.challenge { challenge = try await store.takeChallenge(hash: bytes.hashed) }
        let message: SignedMessage
        do {
            message = try SignedMessage(bytes: submitted.bytes)
        } catch {
            switch error {
            case .version: throw Failure.refused(.messageVersion)
            case .purpose: throw Failure.refused(.purpose)
            default: throw Failure.refused(.messageForm)
            }
        }
        guard message.purpose == purpose else { throw Failure.refused(.purpose, key: message.keyID) }
        guard message.audience == configuration.audience else { throw Failure.refused(.audience, key: message.keyID) }
        guard configuration.applications.contains(message.application) else {
            throw Failure.refused(.applicationUnknown, key: message.keyID)
        }
        return (submitted, message, challenge)
    }

    /// The second half, for a key that is already registered; its counter is raised with it.
    ///
    /// `binding`: what else the challenge has to have been made for.
    func verify(
        _ call: Call, for purpose: Purpose, binding: (StoredChallenge) -> Bool = { $0.binding == nil }
    ) async throws -> (key: StoredKey, message: SignedMessage, submitted: SubmittedMessage, challenge: StoredChallenge)
    {
        let (submitted, message, taken) = try await open(call, for: purpose)
        let id = message.keyID
        guard let key = try await store.key(id: id) else { throw Failure.refused(.keyUnknown, key: id) }
        guard key.state == .active else { throw Failure.refused(.keyRevoked, key: id) }
        guard message.userHandle == key.userHandle else { throw Failure.refused(.userHandle, key: id) }
        let challenge = try check(taken, of: message)
        guard challenge.keyID == id, binding(challenge) else { throw Failure.refused(.challengeForAnother, key: id) }
        guard let publicKey = DeviceKey(der: key.publicKey) else { throw Failure.refused(.keyForm, key: id) }
        try check(submitted, message, by: publicKey)
        try await raise(message.counter, of: key, for: challenge)
        return (key, message, submitted, challenge)
    }

    /// That there is such a challenge, in time, for this purpose.
    func check(_ challenge: StoredChallenge?, of message: SignedMessage) throws -> StoredChallenge {
        guard let challenge else { throw Failure.refused(.challengeUnknown, key: message.keyID) }
        guard configuration.now < challenge.expiresAt else {
            throw Failure.refused(.challengeExpired, key: message.keyID)
        }
        guard challenge.purpose == message.purpose else {
            throw Failure.refused(.challengeForAnother, key: message.keyID)
        }
        return challenge
    }

    /// Details' hash and signature.
    func check(_ submitted: SubmittedMessage, _ message: SignedMessage, by key: DeviceKey) throws {
        guard message.detailsHash == submitted.details.hashed else {
            throw Failure.refused(.detailsHash, key: message.keyID)
        }
        guard let signature = StrictSignature(der: submitted.signature) else {
            throw Failure.refused(.signatureForm, key: message.keyID)
        }
        guard key.verifies(signature, of: submitted.bytes) else {
            throw Failure.refused(.signature, key: message.keyID)
        }
    }

    /// NP-23: a counter that does not rise was signed by a copy, of the key or of its state; but for a request that
    /// another one of the same device overtook.
    ///
    /// Its challenge is older than what came of the other.
    private func raise(_ counter: UInt64, of key: StoredKey, for challenge: StoredChallenge) async throws {
        guard try await !store.raiseCounter(of: key.id, to: counter, at: configuration.now) else { return }
        let issuedAt = challenge.expiresAt - lifetime(ofChallengeFor: challenge.purpose)
        // Read again: the other request may have come since this one's key was read.
        if let lastUsedAt = try await store.key(id: key.id)?.lastUsedAt, issuedAt < lastUsedAt {
            throw Failure.refused(.counterOvertaken, key: key.id)
        }
        if try await store.revoke(keyID: key.id, reason: .counter, at: configuration.now) {
            await notify(.revoked(device: key.deviceName, .counter), userHandle: key.userHandle)
        }
        throw Failure.refused(.counter, key: key.id)
    }
}
