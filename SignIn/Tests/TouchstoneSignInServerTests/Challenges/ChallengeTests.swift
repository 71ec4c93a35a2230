import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct ChallengeTests {
    @Test func np10_challengeIsRandomAndKeptAsItsHash() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let first = try await server.challenge(for: .signIn, keyID: device.keyID)
            let second = try await server.challenge(for: .signIn, keyID: device.keyID)
            #expect(first.count == 32 && first != second)
            #expect(try await server.store.takeChallenge(hash: first) == nil)
            #expect(try await server.store.takeChallenge(hash: first.hashed)?.keyID == device.keyID)
        }
    }

    @Test func np41_unknownKeyHasAChallengeLikeAnyOther() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            func shape(_ keyID: Data) async throws -> [String: Int] {
                let body = Body.ChallengeRequest(keyID: keyID.base64URL, purpose: .signIn)
                let answer = try await server.post("/v1/challenges", body)
                let challenge = try answer.decode(Body.Challenge.self)
                return [
                    "status": answer.status, "length": answer.body.count, "headers": answer.headers.count,
                    "expiresIn": challenge.expiresIn, "serverTime": challenge.serverTime,
                ]
            }
            let known = try await shape(device.keyID)
            #expect(try await shape(Data(repeating: 3, count: 32)) == known)
        }
    }

    @Test func np30_revokedKeyHasNoChallenge() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            _ = try await server.store.revoke(keyID: device.keyID, reason: .administrator, at: server.clock.now)
            let body = Body.ChallengeRequest(keyID: device.keyID.base64URL, purpose: .signIn)
            #expect(try await server.post("/v1/challenges", body).isRefusal)
            #expect(server.log.reason == .keyRevoked)
            // Nor does one from before help.
            let details = Details.SignIn(sessionKey: TestSessionKey().thumbprint)
            #expect(try await server.post("/v1/sessions", device.sign(.signIn, challenge, details)).isRefusal)
            #expect(server.log.reason == .keyRevoked)
        }
    }

    @Test func np41_challengesAreLimitedForEachKeyKnownOrNot() async throws {
        try await TestServer.with(change: { $0.limits.key = .init(2, per: 60) }) { server async throws in
            let device = try await server.device()
            for keyID in [device.keyID, Data(repeating: 9, count: 32)] {
                let body = Body.ChallengeRequest(keyID: keyID.base64URL, purpose: .signIn)
                #expect(try await server.post("/v1/challenges", body).status == 200)
                #expect(try await server.post("/v1/challenges", body).status == 200)
                let answer = try await server.post("/v1/challenges", body)
                #expect(answer.status == 429 && answer.retryAfter == "60")
                #expect(answer.text == "{\"error\":\"tooManyRequests\"}")
            }
        }
    }

    @Test func np41_challengesForOneAddressKeepNoOtherOut() async throws {
        try await TestServer.with(change: {
            $0.limits.key = .init(1, per: 60)
            $0.limits.everywhere = 2
            $0.trustedProxies = ["192.0.2.1"]
        }) { server async throws in
            let body = Body.ChallengeRequest(keyID: try await server.device().keyID.base64URL, purpose: .signIn)
            var statuses: [Int] = []
            for address in ["198.51.100.1", "198.51.100.1", "198.51.100.2", "198.51.100.3"] {
                statuses.append(
                    try await server.post("/v1/challenges", body, headers: ["X-Forwarded-For": address]).status)
            }
            #expect(statuses == [200, 429, 200, 429])
        }
    }

    @Test func np41_challengesAreLimitedForAnAccountsKeysTogether() async throws {
        try await TestServer.with(change: { $0.limits.account = .init(2, per: 60) }) { server async throws in
            var statuses: [Int] = []
            for name in ["a", "b", "c"] {
                let keyID = try await server.device(named: name).keyID.base64URL
                statuses.append(
                    try await server.post(
                        "/v1/challenges", Body.ChallengeRequest(keyID: keyID, purpose: .signIn)
                    ).status)
            }
            #expect(statuses == [200, 200, 429])
            #expect(server.log.reason == .limitAccount)
        }
    }

    @Test func np41_anAddressIsLimited() async throws {
        try await TestServer.with(change: { $0.limits.address = .init(2, per: 60) }) { server async throws in
            let statuses = [
                try await server.get("/v1/web/requests/state").status, try await server.get("/v1/devices").status,
                try await server.get("/v1/devices").status, try await server.get("/healthz").status,
            ]
            #expect(statuses == [401, 401, 429, 200])
        }
    }

    @Test(arguments: [Purpose.register, .confirmTransaction])
    func np10_boundChallengesAreNotToBeHadHere(_ purpose: Purpose) async throws {
        try await TestServer.with { server async throws in
            let body = Body.ChallengeRequest(keyID: Data(count: 32).base64URL, purpose: purpose)
            #expect(try await server.post("/v1/challenges", body).status == 400)
        }
    }
}
