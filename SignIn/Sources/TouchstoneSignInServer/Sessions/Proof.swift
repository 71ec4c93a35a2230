import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import TouchstoneSignInProtocol

/// A DPoP proof (RFC 9449), which shows that the sender of this request has the session key.
struct Proof: Sendable {
    private struct Header: Decodable {
        var typ: String
        var alg: String
        var jwk: JSONWebKey
    }

    private struct Claims: Decodable {
        var jti: String
        var htm: String
        var htu: String
        var iat: Double
        var ath: String?
    }

    let thumbprint: String
    let id: String
    /// When the proof says that it was made, seconds since 1970.
    let issuedAt: Double

    /// Everything but that it was not used before.
    ///
    /// - Throws: `refused`, with what is wrong for the log.
    init(_ request: Request, accessToken: String?, configuration: SignInConfiguration) throws {
        guard let name = HTTPField.Name("DPoP") else { preconditionFailure("a field name is well-formed") }
        let fields = request.headers[values: name]
        guard let text = fields.first, fields.count == 1 else { throw Failure.refused(.proofMissing) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= 4096, parts.count == 3, let head = Data(base64URL: parts[0]),
            let body = Data(base64URL: parts[1]), let signature = Data(base64URL: parts[2]), signature.count == 64,
            let header = try? JSONDecoder().decode(Header.self, from: head), header.typ == "dpop+jwt",
            header.alg == "ES256", Self.isPublic(head), let key = header.jwk.publicKey,
            let claims = try? JSONDecoder().decode(Claims.self, from: body), (1...128).contains(claims.jti.utf8.count)
        else { throw Failure.refused(.proofForm) }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { throw Failure.refused(.proofSignature) }
        guard claims.htm == request.method.rawValue, Self.names(claims.htu, request.uri.path, configuration),
            abs(claims.iat - configuration.now.timeIntervalSince1970) <= configuration.lifetimes.proofSkew,
            claims.ath == accessToken.map({ Data($0.utf8).hashed.base64URL })
        else { throw Failure.refused(.proofClaims) }
        thumbprint = header.jwk.thumbprint
        id = claims.jti
        issuedAt = claims.iat
    }

    /// RFC 9449, 4.3: the key in a proof may not be a private one.
    private static func isPublic(_ header: Data) -> Bool {
        let object = try? JSONSerialization.jsonObject(with: header) as? [String: Any]
        return (object?["jwk"] as? [String: Any]).map { $0["d"] == nil } ?? false
    }

    /// Whether this is the address of `path` here: by the audience, or by one of the page's origins.
    ///
    /// A query is left out.
    private static func names(_ address: String, _ path: String, _ configuration: SignInConfiguration) -> Bool {
        let address = String(address.prefix { $0 != "?" && $0 != "#" })
        return (["https://\(configuration.audience)"] + configuration.origins).contains { "\($0)\(path)" == address }
    }
}

extension SignInServer {
    /// Counts a proof, which is good for once (RFC 9449, 11.1).
    ///
    /// After its key was found to be the session's: anybody can make proofs by a key of their own, and each would be
    /// kept.
    func spend(_ proof: Proof) async throws {
        let hash = Data("dpop\u{0}\(proof.thumbprint)\u{0}\(proof.id)".utf8).hashed
        let until = Date(timeIntervalSince1970: proof.issuedAt + configuration.lifetimes.proofSkew + 60)
        guard try await store.useOnce(hash: hash, until: until) else { throw Failure.refused(.proofReplayed) }
    }
}
