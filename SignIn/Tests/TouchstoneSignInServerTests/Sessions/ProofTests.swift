import Crypto
import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// A proof that is not this request's.
struct WrongProof: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: Reason
    let change: @Sendable (inout TestSessionKey.Header, inout TestSessionKey.Claims) -> Void

    static let all = [
        WrongProof(testDescription: "method", reason: .proofClaims) { $1.htm = "POST" },
        WrongProof(testDescription: "path", reason: .proofClaims) { $1.htu = TestServer.origin + "/v1/devices" },
        WrongProof(testDescription: "host", reason: .proofClaims) { $1.htu = "https://signin.example/orders" },
        WrongProof(testDescription: "scheme", reason: .proofClaims) { $1.htu = "http://signin.test/orders" },
        WrongProof(testDescription: "too old", reason: .proofClaims) { $1.iat -= 301 },
        WrongProof(testDescription: "of the future", reason: .proofClaims) { $1.iat += 301 },
        WrongProof(testDescription: "of no time", reason: .proofClaims) { $1.iat = .greatestFiniteMagnitude },
        WrongProof(testDescription: "no token", reason: .proofClaims) { $1.ath = nil },
        WrongProof(testDescription: "another token", reason: .proofClaims) { $1.ath = Data(count: 32).base64URL },
        WrongProof(testDescription: "no id", reason: .proofForm) { $1.jti = "" },
        WrongProof(testDescription: "a long id", reason: .proofForm) { $1.jti = String(repeating: "x", count: 129) },
        WrongProof(testDescription: "type", reason: .proofForm) { header, _ in header.typ = "JWT" },
        WrongProof(testDescription: "no algorithm", reason: .proofForm) { header, _ in header.alg = "none" },
        WrongProof(testDescription: "another algorithm", reason: .proofForm) { header, _ in header.alg = "HS256" },
        WrongProof(testDescription: "another curve", reason: .proofForm) { header, _ in header.jwk["crv"] = "P-384" },
        WrongProof(testDescription: "no point", reason: .proofForm) { header, _ in
            header.jwk["x"] = Data(count: 32).base64URL
        },
        WrongProof(testDescription: "a private key", reason: .proofForm) { header, _ in header.jwk["d"] = "AA" },
        WrongProof(testDescription: "another key's", reason: .proofSignature) { header, _ in
            header.jwk = TestSessionKey().jwk
        },
    ]
}

/// RFC 9449, NP-40.
@Suite struct ProofTests {
    static func with(
        _ body: @Sendable (TestServer, TestSessionKey, String) async throws -> Void
    ) async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let token = try await server.signIn(server.device(), key).decode(Body.Session.self).accessToken
            try await body(server, key, token)
        }
    }

    static func orders(_ server: TestServer, _ token: String, _ proof: String?) async throws -> Answer {
        var headers = ["Authorization": "DPoP \(token)"]
        headers["DPoP"] = proof
        return try await server.get("/orders", headers: headers)
    }

    @Test(arguments: [0, 299, -299] as [TimeInterval])
    func proofOfThisRequestIsAccepted(_ skew: TimeInterval) async throws {
        try await Self.with { server, key, token async throws in
            let proof = try key.proof("GET", "/orders", token: token) { $1.iat += skew }
            #expect(try await Self.orders(server, token, proof).text == server.userHandle.base64URL)
        }
    }

    @Test func queryIsNoPartOfWhatAProofIsFor() async throws {
        try await Self.with { server, key, token async throws in
            let headers = try key.headers("GET", "/orders", token: token)
            #expect(try await server.get("/orders?page=2", headers: headers).status == 200)
        }
    }

    @Test(arguments: WrongProof.all)
    func proofOfSomethingElseIsRefused(_ wrong: WrongProof) async throws {
        try await Self.with { server, key, token async throws in
            let proof = try key.proof("GET", "/orders", token: token, change: wrong.change)
            #expect(try await Self.orders(server, token, proof).isRefusal)
            #expect(server.log.reason == wrong.reason)
        }
    }

    @Test func proofIsGoodOnce() async throws {
        try await Self.with { server, key, token async throws in
            let proof = try key.proof("GET", "/orders", token: token)
            #expect(try await Self.orders(server, token, proof).status == 200)
            #expect(try await Self.orders(server, token, proof).isRefusal)
            #expect(server.log.reason == .proofReplayed)
            // Nor later, when it was swept and its time would still do.
            server.clock.advance(by: 290)
            await server.server.upkeep.once()
            #expect(try await Self.orders(server, token, proof).isRefusal)
            #expect(server.log.reason == .proofReplayed)
        }
    }

    @Test func proofByAnotherKeyIsRefused() async throws {
        try await Self.with { server, _, token async throws in
            let proof = try TestSessionKey().proof("GET", "/orders", token: token)
            #expect(try await Self.orders(server, token, proof).isRefusal)
            #expect(server.log.reason == .proofKey)
        }
    }

    @Test func tokenAloneIsRefused() async throws {
        try await Self.with { server, _, token async throws in
            #expect(try await Self.orders(server, token, nil).isRefusal)
            #expect(server.log.reason == .proofMissing)
            let bearer = ["Authorization": "Bearer \(token)"]
            #expect(try await server.get("/orders", headers: bearer).isRefusal)
            #expect(server.log.reason == .noToken)
        }
    }

    @Test(arguments: ["", "a.b", "a.b.c", "....", "e30.e30.e30", String(repeating: "A", count: 5000)])
    func whatIsNoProofIsRefused(_ proof: String) async throws {
        try await Self.with { server, _, token async throws in
            #expect(try await Self.orders(server, token, proof).isRefusal)
            #expect(server.log.reason == .proofForm)
        }
    }

    /// A field that nobody knows may hold any number, also one that no integer type holds.
    @Test func numberInAHeaderMayBeHuge() async throws {
        try await Self.with { server, key, token async throws in
            let proof = try key.proof("GET", "/orders", token: token).split(separator: ".")
            let jwk = String(decoding: try JSONEncoder().encode(key.jwk), as: UTF8.self)
            let header = Data("{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":\(jwk),\"n\":1e300}".utf8)
            let text = "\(header.base64URL).\(proof[1])"
            let signature = try key.key.signature(for: Data(text.utf8)).rawRepresentation.base64URL
            #expect(try await Self.orders(server, token, "\(text).\(signature)").status == 200)

            let id = try TokenKeyTests.kid(token)
            let ours = Data("{\"typ\":\"at+jwt\",\"alg\":\"ES256\",\"kid\":\"\(id)\",\"n\":1e300}".utf8)
            let other = "\(ours.base64URL).\(token.split(separator: ".").dropFirst().joined(separator: "."))"
            #expect(try await Self.orders(server, other, key.proof("GET", "/orders", token: other)).isRefusal)
            #expect(server.log.reason == .token)
        }
    }
}
