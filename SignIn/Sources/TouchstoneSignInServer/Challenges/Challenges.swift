import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/challenges`: for a key, known or not (NP-10, NP-41).
    func challenge(_ call: Call) async throws -> Response {
        let body = try call.decode(Body.ChallengeRequest.self)
        guard let keyID = Data(base64URL: body.keyID), keyID.count == 32 else { throw Failure.malformed(.body) }
        // These two have a challenge of their own, bound to what it is for.
        guard body.purpose != .register, body.purpose != .confirmTransaction else { throw Failure.malformed(.purpose) }
        try await limit(configuration.limits.key, "challenge", keyID, .limitKey, from: call)
        let key = try await store.key(id: keyID)
        // Counted for an unknown key too: the same work, and the same limits.
        try await limit(
            configuration.limits.account, "challenge account", key?.userHandle ?? keyID, .limitAccount, from: call)
        if let key, key.state != .active { throw Failure.refused(.keyRevoked, key: keyID) }
        return try .json(try await addChallenge(for: body.purpose, keyID: keyID))
    }

    func lifetime(ofChallengeFor purpose: Purpose) -> TimeInterval {
        purpose == .register ? configuration.lifetimes.registrationChallenge : configuration.lifetimes.challenge
    }

    /// Makes a challenge and keeps its hash (NP-10).
    func addChallenge(for purpose: Purpose, keyID: Data?, binding: Data? = nil) async throws -> Body.Challenge {
        let challenge = configuration.random(32)
        let lifetime = lifetime(ofChallengeFor: purpose)
        let now = configuration.now
        try await store.addChallenge(
            StoredChallenge(
                hash: challenge.hashed, purpose: purpose, keyID: keyID, binding: binding, expiresAt: now + lifetime))
        return Body.Challenge(
            challenge: challenge.base64URL, expiresIn: Int(lifetime), serverTime: Int(now.timeIntervalSince1970))
    }
}
