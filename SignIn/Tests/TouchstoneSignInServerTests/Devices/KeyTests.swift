import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct KeyTests {
    static func rotate(
        _ server: TestServer, _ old: TestDevice, to new: TestDevice, signedBy signer: TestDevice? = nil
    ) async throws -> Answer {
        let challenge = try await server.challenge(for: .rotate, keyID: old.keyID)
        var request = try old.sign(
            .rotate, challenge, Details.Rotate(publicKey: new.pem))
        request.newSignature = try (signer ?? new).signature(Data(base64URL: request.message)!).base64URL
        return try await server.post("/v1/keys/rotate", request)
    }

    @Test func rotatedKeySignsInAndTheOldOneNotAnyMore() async throws {
        try await TestServer.with { server async throws in
            let old = try await server.device()
            let session = TestSessionKey()
            let token = try await server.signIn(old, session).decode(Body.Session.self).accessToken
            let new = TestDevice(server.userHandle)
            let answer = try await Self.rotate(server, old, to: new)
            #expect(try answer.decode(Body.KeyID.self).keyID == new.keyID.base64URL)
            #expect(try await server.signIn(new).status == 200)
            let body = Body.ChallengeRequest(keyID: old.keyID.base64URL, purpose: .signIn)
            #expect(try await server.post("/v1/challenges", body).isRefusal)
            // NP-30: what the old key signed in is over.
            let headers = try session.headers("GET", "/v1/devices", token: token)
            #expect(try await server.get("/v1/devices", headers: headers).isRefusal)
            #expect(server.notices.all == [.rotated(device: "Laptop")])
        }
    }

    @Test func newKeyThatDoesNotSignIsRefusedAndTheOldOneStays() async throws {
        try await TestServer.with { server async throws in
            let old = try await server.device()
            let new = TestDevice(server.userHandle)
            #expect(try await Self.rotate(server, old, to: new, signedBy: old).isRefusal)
            #expect(server.log.reason == .newSignature)
            let challenge = try await server.challenge(for: .rotate, keyID: old.keyID)
            let details = Details.Rotate(publicKey: new.pem)
            #expect(try await server.post("/v1/keys/rotate", old.sign(.rotate, challenge, details)).isRefusal)
            #expect(try await server.signIn(old).status == 200)
        }
    }

    @Test func np30_rotationToAKeyThatWasThereConflicts() async throws {
        try await TestServer.with { server async throws in
            let old = try await server.device()
            let other = try await server.device(named: "Other")
            #expect(try await Self.rotate(server, old, to: other).status == 409)
            #expect(try await server.signIn(old).status == 200)
        }
    }

    @Test func np30_revokedKeysSessionsEndAtOnce() async throws {
        try await TestServer.with { server async throws in
            let lost = try await server.device(named: "Lost")
            let mine = try await server.device(named: "Mine")
            let session = TestSessionKey()
            let token = try await server.signIn(lost, session).decode(Body.Session.self).accessToken
            let before = try session.headers("GET", "/orders", token: token)
            #expect(try await server.get("/orders", headers: before).text == server.userHandle.base64URL)
            let challenge = try await server.challenge(for: .revoke, keyID: mine.keyID)
            let request = try mine.sign(.revoke, challenge, Details.Revoke(keyID: lost.keyID.base64URL))
            #expect(try await server.post("/v1/keys/revoke", request).status == 204)
            let after = try session.headers("GET", "/orders", token: token)
            #expect(try await server.get("/orders", headers: after).isRefusal)
            #expect(server.log.reason == .sessionEnded)
            #expect(server.notices.all == [.revoked(device: "Lost", .owner)])
        }
    }

    /// The key is revoked: that its owner cannot be told is no reason to answer otherwise.
    @Test func whatIsDoneIsAnsweredAlsoIfItsNoticeFails() async throws {
        try await TestServer.with { server async throws in
            let lost = try await server.device(named: "Lost")
            let mine = try await server.device(named: "Mine")
            let challenge = try await server.challenge(for: .revoke, keyID: mine.keyID)
            let request = try mine.sign(.revoke, challenge, Details.Revoke(keyID: lost.keyID.base64URL))
            // From here on no account can be read.
            _ = try await server.store.perform([
                SQLStatement(text: "ALTER TABLE accounts RENAME COLUMN created_at TO lost", values: [])
            ])
            #expect(try await server.post("/v1/keys/revoke", request).status == 204)
            #expect(try await server.store.key(id: lost.keyID)?.state == .revoked(.owner, server.clock.now))
            #expect(server.notices.all.isEmpty)
            #expect(server.log.text.contains("an owner was not told"))
        }
    }

    @Test func anotherAccountsKeyIsNotRevoked() async throws {
        try await TestServer.with { server async throws in
            let mine = try await server.device()
            try await server.administration.addAccount("otto", password: "x")
            let otto = try #require(try await server.store.account(named: "otto"))
            let his = TestDevice(otto.userHandle)
            try await server.addPasswordSession(his.deviceID.hashed, of: otto.userHandle)
            try await server.store.register(
                StoredKey(
                    id: his.keyID, publicKey: his.der, userHandle: otto.userHandle,
                    deviceID: his.deviceID, deviceName: "his", counter: 0, registeredAt: server.clock.now,
                    lastUsedAt: nil, state: .active), passwordSession: his.deviceID.hashed)
            for keyID in [his.keyID, Data(count: 32)] {
                let challenge = try await server.challenge(for: .revoke, keyID: mine.keyID)
                let request = try mine.sign(.revoke, challenge, Details.Revoke(keyID: keyID.base64URL))
                #expect(try await server.post("/v1/keys/revoke", request).isRefusal)
            }
            #expect(try await server.store.key(id: his.keyID)?.state == .active)
        }
    }

    @Test(arguments: [(179.0, 200), (181.0, 401)])
    func np30_keyThatIsNotUsedForHalfAYearIsRevoked(_ days: Double, _ status: Int) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            server.clock.advance(by: days * 86400)
            await server.server.upkeep.once()
            let body = Body.ChallengeRequest(keyID: device.keyID.base64URL, purpose: .signIn)
            #expect(try await server.post("/v1/challenges", body).status == status)
        }
    }
}
