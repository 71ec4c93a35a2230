import Crypto
import Foundation
import TouchstoneSignInProtocol

/// The key of one session, in this process's memory alone: what it signs shows that a token comes from the process that signed in (NP-40).
struct SessionKey: Sendable {
    private let key = P256.Signing.PrivateKey()

    private var jwk: JWK {
        let point = key.publicKey.rawRepresentation
        return JWK(crv: "P-256", kty: "EC", x: point.prefix(32).base64URL, y: point.suffix(32).base64URL)
    }

    /// RFC 7638, base64url.
    var thumbprint: String {
        get throws { Data(SHA256.hash(data: try Self.encoder.encode(jwk))).base64URL }
    }

    /// A proof for one request (RFC 9449).
    ///
    /// The address's query is not a part of it. `accessToken` is the token that goes with the request, if one does; `time` is in seconds since
    /// 1970 by the server's clock.
    func proof(method: String, url: URL, accessToken: String?, time: Int) throws -> String {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            throw SignInError.configuration("the address of the request is not a web address")
        }
        parts.query = nil
        parts.fragment = nil
        let header = Header(typ: "dpop+jwt", alg: "ES256", jwk: jwk)
        let claims = Claims(
            htm: method, htu: parts.string ?? "", jti: UUID().uuidString, iat: time,
            ath: accessToken.map { Data(SHA256.hash(data: Data($0.utf8))).base64URL })
        let signed = try Self.encoder.encode(header).base64URL + "." + Self.encoder.encode(claims).base64URL
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return signed + "." + signature.base64URL
    }

    /// Its members in the order that a thumbprint wants, which is that of their names.
    private struct JWK: Encodable {
        var crv: String
        var kty: String
        var x: String
        var y: String
    }

    private struct Header: Encodable {
        var typ: String
        var alg: String
        var jwk: JWK
    }

    private struct Claims: Encodable {
        var htm: String
        var htu: String
        var jti: String
        var iat: Int
        var ath: String?
    }

    private static let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
}
