import Crypto
import Foundation
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// A session's key, and proofs by it with whatever the test changes about them.
struct TestSessionKey: Sendable {
    struct Claims: Codable, Sendable {
        var jti = UUID().uuidString
        var htm: String
        var htu: String
        var iat: Double
        var ath: String?
    }

    struct Header: Codable, Sendable {
        var typ = "dpop+jwt"
        var alg = "ES256"
        var jwk: [String: String]
    }

    let key = P256.Signing.PrivateKey()

    var jwk: [String: String] {
        let point = key.publicKey.rawRepresentation
        return [
            "kty": "EC", "crv": "P-256", "x": Data(point.prefix(32)).base64URL, "y": Data(point.suffix(32)).base64URL,
        ]
    }

    var thumbprint: String { JSONWebKey(key.publicKey, id: "").thumbprint }

    func proof(
        _ method: String, _ path: String, token: String? = nil, at time: Date = TestServer.start,
        change: (inout Header, inout Claims) -> Void = { _, _ in }
    ) throws -> String {
        var header = Header(jwk: jwk)
        var claims = Claims(
            htm: method, htu: TestServer.origin + path, iat: time.timeIntervalSince1970,
            ath: token.map { Data($0.utf8).hashed.base64URL })
        change(&header, &claims)
        let text = "\(try JSONEncoder().encode(header).base64URL).\(try JSONEncoder().encode(claims).base64URL)"
        return "\(text).\(try key.signature(for: Data(text.utf8)).rawRepresentation.base64URL)"
    }

    /// The headers of a request with an access token.
    func headers(_ method: String, _ path: String, token: String, at time: Date = TestServer.start) throws
        -> [String: String]
    {
        ["Authorization": "DPoP \(token)", "DPoP": try proof(method, path, token: token, at: time)]
    }
}
