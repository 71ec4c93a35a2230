import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct SessionTests {
    static func refresh(
        _ server: TestServer, _ token: String, _ key: TestSessionKey
    ) async throws -> Answer {
        let proof = try key.proof("POST", "/v1/sessions/refresh", at: server.clock.now)
        return try await server.post(
            "/v1/sessions/refresh", Body.Refresh(refreshToken: token), headers: ["DPoP": proof])
    }

    @Test func refreshTokenWorksOnce() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let first = try await server.signIn(server.device(), key).decode(Body.Session.self)
            let second = try await Self.refresh(server, first.refreshToken, key).decode(Body.Session.self)
            #expect(second.refreshToken != first.refreshToken)
            let third = try await Self.refresh(server, second.refreshToken, key).decode(Body.Session.self)
            // A copy of an earlier one ends all of it: nobody knows which of the two is the owner.
            #expect(try await Self.refresh(server, first.refreshToken, key).isRefusal)
            #expect(server.log.reason == .refreshReused)
            #expect(server.notices.all == [.sessionCopied])
            #expect(try await Self.refresh(server, third.refreshToken, key).isRefusal)
            let headers = try key.headers("GET", "/v1/devices", token: third.accessToken)
            #expect(try await server.get("/v1/devices", headers: headers).isRefusal)
        }
    }

    @Test func np40_refreshTokenWithoutItsSessionKeyIsWorthNothing() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let session = try await server.signIn(server.device(), key).decode(Body.Session.self)
            #expect(try await Self.refresh(server, session.refreshToken, TestSessionKey()).isRefusal)
            #expect(server.log.reason == .proofKey)
            // A stranger's proofs fill no table.
            let kept = try await server.store.read("SELECT COUNT(*) FROM used_proofs", []) { try $0.integer(0) }
            #expect(kept == [0])
            let body = Body.Refresh(refreshToken: session.refreshToken)
            #expect(try await server.post("/v1/sessions/refresh", body).isRefusal)
            #expect(server.log.reason == .proofMissing)
            // And the thief has not spent it.
            #expect(try await Self.refresh(server, session.refreshToken, key).status == 200)
            let spent = try await server.store.read("SELECT COUNT(*) FROM used_proofs", []) { try $0.integer(0) }
            #expect(spent == [1])
        }
    }

    @Test func sessionEndsTwelveHoursAfterTheFinger() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            var token = try await server.signIn(server.device(), key).decode(Body.Session.self).refreshToken
            for _ in 0..<11 {
                server.clock.advance(by: 3600)
                token = try await Self.refresh(server, token, key).decode(Body.Session.self).refreshToken
            }
            server.clock.advance(by: 3600)
            #expect(try await Self.refresh(server, token, key).isRefusal)
            #expect(server.log.reason == .sessionEnded)
        }
    }

    @Test(arguments: [(299.0, true), (300.0, false)])
    func np40_accessTokenIsGoodForFiveMinutes(_ seconds: TimeInterval, _ isGood: Bool) async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let session = try await server.signIn(server.device(), key).decode(Body.Session.self)
            #expect(session.expiresIn == 300)
            server.clock.advance(by: seconds)
            let headers = try key.headers("GET", "/orders", token: session.accessToken, at: server.clock.now)
            #expect(try await server.get("/orders", headers: headers).status == (isGood ? 200 : 401))
            #expect(isGood || server.log.reason == .tokenExpired)
        }
    }

    @Test func endedSessionIsOver() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let session = try await server.signIn(server.device(), key).decode(Body.Session.self)
            let end = try key.headers("POST", "/v1/sessions/end", token: session.accessToken)
            #expect(try await server.post("/v1/sessions/end", headers: end).status == 204)
            let headers = try key.headers("GET", "/orders", token: session.accessToken)
            #expect(try await server.get("/orders", headers: headers).isRefusal)
            #expect(try await Self.refresh(server, session.refreshToken, key).isRefusal)
        }
    }
}
