import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// Times, which Tests/Scripts/sign-in-passkeys.py cannot move.
@Suite struct PasskeySessionTests {
    private static func page(_ server: TestServer) async throws -> [String: String] {
        let browser = try await WebRequestTests.Browser(server)
        _ = try await browser.approve(try await server.device())
        let cookie = try #require(try await browser.look().cookie)
        return ["Origin": TestServer.origin, "Cookie": cookie]
    }

    /// FD-53.
    @Test func aPageThatWasJustSignedInMayAddAPasskey() async throws {
        try await TestServer.with { server async throws in
            let headers = try await Self.page(server)
            server.clock.advance(by: 299)
            let answer = try await server.post("/v1/web/passkeys/registrations/challenge", headers: headers)
            #expect(answer.status == 200)
            let options = try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
            #expect((options["rp"] as? [String: String])?["id"] == "signin.test")
            #expect((options["user"] as? [String: String])?["id"] == server.userHandle.base64URL)
            #expect((options["authenticatorSelection"] as? [String: Any])?["userVerification"] as? String == "required")
        }
    }

    /// FD-53: whoever has a copy of a cookie makes no key of it.
    @Test func aPageThatWasSignedInLongAgoMayNot() async throws {
        try await TestServer.with { server async throws in
            let headers = try await Self.page(server)
            server.clock.advance(by: 300)
            for path in ["registrations/challenge", "registrations"] {
                let answer = try await server.post(
                    "/v1/web/passkeys/\(path)", ["response": ["clientDataJSON": "", "attestationObject": ""]],
                    headers: headers)
                #expect(answer.isRefusal)
                #expect(server.log.reason == .sessionOld)
            }
            // It is signed in all the same.
            #expect(try await server.get("/v1/web/session", headers: headers).status == 200)
        }
    }

    /// FD-52.
    @Test func aChallengeRunsOut() async throws {
        try await TestServer.with { server async throws in
            let asked = try await server.post(
                "/v1/web/passkeys/sign-ins/challenge", headers: ["Origin": TestServer.origin])
            let cookie = try #require(asked.cookie)
            #expect(cookie.hasPrefix("__Host-touchstone-passkey="))
            let options = try #require(try JSONSerialization.jsonObject(with: asked.body) as? [String: Any])
            let challenge = try #require(options["challenge"] as? String)
            server.clock.advance(by: 120)
            let said = Data(
                #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"\#(TestServer.origin)"}"#.utf8)
            let body = TestAssertion(
                id: "AA", response: .init(clientDataJSON: said.base64URL, authenticatorData: "", signature: ""))
            let answer = try await server.post(
                "/v1/web/passkeys/sign-ins", body, headers: ["Origin": TestServer.origin, "Cookie": cookie])
            #expect(answer.isRefusal)
            #expect(server.log.reason == .challengeExpired)
        }
    }

    private struct TestAssertion: Encodable {
        struct Response: Encodable {
            var clientDataJSON: String
            var authenticatorData: String
            var signature: String
        }
        var id: String
        var response: Response
    }
}
