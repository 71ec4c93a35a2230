import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/challenges`: for a key, known or not (NP-10, NP-41).
    func challenge(_ call: Call) async throws -> Response {
        let address = addressUse(call)
        let (keyID, purpose) = try await counting([address]) {
            let body = try call.decode(Body.ChallengeRequest.self)
            guard let keyID = Data(base64URL: body.keyID), keyID.count == 32 else { throw Failure.malformed(.body) }
            // These two have a challenge of their own, bound to what it is for.
            guard body.purpose != .register, body.purpose != .confirmTransaction else {
                throw Failure.malformed(.purpose)
            }
            return (keyID, body.purpose)
        }
        let limits = configuration.limits
        let uses = [address] + uses(limits.key, "challenge", keyID, .limitKey, from: call)
        // Counted for an unknown key too: the same work, and the same limits.
        let accountUses = self.uses(limits.account, "challenge account", nil, .limitAccount, from: call)
        let (challenge, answer) = makeChallenge(for: purpose, keyID: keyID)
        let now = configuration.now
        let outcome = try await store.addChallenge(
            challenge, counting: uses.map(\.use), ofAccount: accountUses.map(\.use), at: now)
        switch outcome {
        case .added: return try .json(answer)
        case .limited(let index): throw (uses + accountUses)[index].failure(at: now)
        case .keyRevoked: throw Failure.refused(.keyRevoked, key: keyID)
        }
    }

    func lifetime(ofChallengeFor purpose: Purpose) -> TimeInterval {
        purpose == .register ? configuration.lifetimes.registrationChallenge : configuration.lifetimes.challenge
    }

    /// Makes a challenge and keeps its hash (NP-10).
    func addChallenge(for purpose: Purpose, keyID: Data?, binding: Data? = nil) async throws -> Body.Challenge {
        let (challenge, answer) = makeChallenge(for: purpose, keyID: keyID, binding: binding)
        try await store.addChallenge(challenge)
        return answer
    }

    /// A challenge as it is kept, and as the client has it.
    private func makeChallenge(
        for purpose: Purpose, keyID: Data?, binding: Data? = nil
    ) -> (StoredChallenge, Body.Challenge) {
        let challenge = configuration.random(32)
        let lifetime = lifetime(ofChallengeFor: purpose)
        let now = configuration.now
        return (
            StoredChallenge(
                hash: challenge.hashed, purpose: purpose, keyID: keyID, binding: binding, expiresAt: now + lifetime),
            Body.Challenge(
                challenge: challenge.base64URL, expiresIn: Int(lifetime), serverTime: Int(now.timeIntervalSince1970))
        )
    }
}
