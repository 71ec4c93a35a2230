import Crypto
import Foundation
import TouchstoneSignInProtocol

/// A P-256 public key as RFC 7517 writes it.
struct JSONWebKey: Codable, Sendable {
    var kty = "EC"
    var crv = "P-256"
    var x: String
    var y: String
    var kid: String?
    var alg: String?
    var use: String?

    init(_ key: P256.Signing.PublicKey, id: String) {
        let point = key.rawRepresentation
        x = Data(point.prefix(32)).base64URL
        y = Data(point.suffix(32)).base64URL
        kid = id
        alg = "ES256"
        use = "sig"
    }

    /// Nil if it is not a point of the curve.
    var publicKey: P256.Signing.PublicKey? {
        guard kty == "EC", crv == "P-256", let x = Data(base64URL: x), let y = Data(base64URL: y), x.count == 32,
            y.count == 32
        else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }

    /// RFC 7638, base64url.
    var thumbprint: String {
        Data("{\"crv\":\"\(crv)\",\"kty\":\"\(kty)\",\"x\":\"\(x)\",\"y\":\"\(y)\"}".utf8).hashed.base64URL
    }
}

struct JSONWebKeySet: Codable {
    var keys: [JSONWebKey]
}
