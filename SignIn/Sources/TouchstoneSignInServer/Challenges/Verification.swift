import Foundation
import TouchstoneSignInProtocol

/// A message by a registered key, which passed every check but that of its counter.
struct SignedByKey: Sendable {
    var key: StoredKey
    var message: SignedMessage
    var submitted: SubmittedMessage
    var challenge: StoredChallenge
}

extension SignInServer {
    /// Takes the challenge and looks at the message as far as that goes without its key: the first half of the checks of
    /// docs/sign-in.md, in their order.
    ///
    /// Reads the key too, for all but a registration, whose key nobody has yet.
    func open(
        _ call: Call, for purpose: Purpose, counting uses: [LimitedUse] = []
    ) async throws -> (SubmittedMessage, SignedMessage, StoredChallenge?, StoredKey?) {
        let submitted = try await counting(uses) { try SubmittedMessage(call.decode(SignedRequest.self)) }
        let message = Result { try self.message(submitted, for: purpose) }
        let read = try? message.get()
        let keyID = purpose == .register ? nil : read?.keyID
        let now = configuration.now
        let outcome = try await store.takeChallenge(
            hash: (read?.challenge ?? submitted.challenge)?.hashed, keyID: keyID, counting: uses.map(\.use), at: now)
        switch outcome {
        case .limited(let index): throw uses[index].failure(at: now)
        case .taken(let challenge, let key): return (submitted, try message.get(), challenge, key)
        }
    }

    /// The message's form, version, purpose, audience and application.
    private func message(_ submitted: SubmittedMessage, for purpose: Purpose) throws -> SignedMessage {
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
        return message
    }

    /// All checks for a key that is already registered; its counter is raised with them.
    ///
    /// `binding`: what else the challenge has to have been made for.
    func verify(
        _ call: Call, for purpose: Purpose, binding: (StoredChallenge) -> Bool = { $0.binding == nil }
    ) async throws -> SignedByKey {
        let signed = try await check(call, for: purpose, binding: binding)
        try await raiseCounter(for: signed)
        return signed
    }

    /// All checks but the last, for who raises the counter together with what the message is for.
    func check(
        _ call: Call, for purpose: Purpose, counting uses: [LimitedUse] = [],
        binding: (StoredChallenge) -> Bool = { $0.binding == nil }
    ) async throws -> SignedByKey {
        let (submitted, message, taken, found) = try await open(call, for: purpose, counting: uses)
        let id = message.keyID
        // A passkey signs in by its own routes.
        guard let key = found, key.credentialID == nil else { throw Failure.refused(.keyUnknown, key: id) }
        guard key.state == .active else { throw Failure.refused(.keyRevoked, key: id) }
        guard message.userHandle == key.userHandle else { throw Failure.refused(.userHandle, key: id) }
        let challenge = try check(taken, of: message)
        guard challenge.keyID == id, binding(challenge) else { throw Failure.refused(.challengeForAnother, key: id) }
        guard let publicKey = DeviceKey(der: key.publicKey) else { throw Failure.refused(.keyForm, key: id) }
        try check(submitted, message, by: publicKey)
        return SignedByKey(key: key, message: message, submitted: submitted, challenge: challenge)
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

    func raiseCounter(for signed: SignedByKey) async throws {
        let (id, counter) = (signed.key.id, signed.message.counter)
        guard try await store.raiseCounter(of: id, to: counter, at: configuration.now) else {
            throw try await counterRefusal(of: signed)
        }
    }

    /// NP-23: a counter that does not rise was signed by a copy, of the key or of its state; but for a request that
    /// another one of the same device overtook.
    ///
    /// Its challenge is older than what came of the other.
    func counterRefusal(of signed: SignedByKey) async throws -> Failure {
        let (key, challenge) = (signed.key, signed.challenge)
        let issuedAt = challenge.expiresAt - lifetime(ofChallengeFor: challenge.purpose)
        // Read again: the other request may have come since this one's key was read, and a revocation too.
        let found = try await store.key(id: key.id)
        guard found?.state == .active else { return .refused(.keyRevoked, key: key.id) }
        if let lastUsedAt = found?.lastUsedAt, issuedAt < lastUsedAt {
            return .refused(.counterOvertaken, key: key.id)
        }
        if try await store.revoke(keyID: key.id, reason: .counter, at: configuration.now) {
            await notify(.revoked(device: key.deviceName, .counter), userHandle: key.userHandle)
        }
        return .refused(.counter, key: key.id)
    }
}
