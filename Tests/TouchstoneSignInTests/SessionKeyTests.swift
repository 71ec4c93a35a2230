import Crypto
import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignIn

/// NP-40: proofs as RFC 9449 has them.
@Suite struct SessionKeyTests {
    private func parts(_ proof: String) throws -> (
        header: [String: Any], claims: [String: Any], signed: Data, signature: Data
    ) {
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        #expect(parts.count == 3)
        let decoded = try parts.map { try #require(Data(base64URL: $0)) }
        return (
            try #require(try JSONSerialization.jsonObject(with: decoded[0]) as? [String: Any]),
            try #require(try JSONSerialization.jsonObject(with: decoded[1]) as? [String: Any]),
            Data("\(parts[0]).\(parts[1])".utf8), decoded[2]
        )
    }

    @Test func aProofIsOfOneRequestAndOneToken() throws {
        let key = SessionKey()
        let url = try #require(URL(string: "https://example.org:8443/v1/devices?page=2#x"))
        let proof = try parts(key.proof(method: "GET", url: url, accessToken: "token", time: 1_795_000_000))
        #expect(proof.header["typ"] as? String == "dpop+jwt")
        #expect(proof.header["alg"] as? String == "ES256")
        #expect(proof.claims["htm"] as? String == "GET")
        #expect(proof.claims["htu"] as? String == "https://example.org:8443/v1/devices")
        #expect(proof.claims["iat"] as? Int == 1_795_000_000)
        // RFC 9449, section 4.2: base64url of the hash of the token's ASCII.
        #expect(proof.claims["ath"] as? String == Data(SHA256.hash(data: Data("token".utf8))).base64URL)

        let jwk = try #require(proof.header["jwk"] as? [String: String])
        #expect(jwk.keys.sorted() == ["crv", "kty", "x", "y"])
        let point = try #require(Data(base64URL: jwk["x"] ?? "")) + #require(Data(base64URL: jwk["y"] ?? ""))
        let publicKey = try P256.Signing.PublicKey(rawRepresentation: point)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: proof.signature)
        #expect(publicKey.isValidSignature(signature, for: proof.signed))

        // RFC 7638: the members by their names, without spaces.
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(jwk["x"] ?? "")","y":"\#(jwk["y"] ?? "")"}"#
        #expect(try key.thumbprint == Data(SHA256.hash(data: Data(canonical.utf8))).base64URL)
    }

    @Test func noTwoProofsAreOne() throws {
        let key = SessionKey()
        let url = try #require(URL(string: "https://example.org/v1/sessions/refresh"))
        let proofs = try (0..<2).map { _ in try parts(key.proof(method: "POST", url: url, accessToken: nil, time: 0)) }
        #expect(proofs[0].claims["jti"] as? String != proofs[1].claims["jti"] as? String)
        #expect(proofs[0].claims["ath"] == nil)
        #expect(try SessionKey().thumbprint != key.thumbprint)
    }

    @Test("NP-15: an invalid server time is not believed")
    func clock() {
        var clock = ServerClock()
        for wrong in [-1, .min, .max] {
            clock.heard(wrong)
            #expect(clock.difference == nil)
        }
        clock.heard(ServerClock.local + 1000)
        #expect((999...1001).contains(clock.difference ?? 0))
        #expect(abs(clock.now - ServerClock.local - 1000) <= 1)
    }
}
