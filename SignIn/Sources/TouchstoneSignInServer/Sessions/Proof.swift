import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import JWTKit
import TouchstoneSignInProtocol

/// A DPoP proof (RFC 9449), which shows that the sender of this request has the session key.
struct Proof: Sendable {
    private struct Header: Decodable {
        var typ: String
        var alg: String
        var kid: String?
        var jwk: JSONWebKey
        /// RFC 9449, 4.3: the key in a proof may not be a private one.
        var isPrivate: Bool

        enum Field: CodingKey { case typ, alg, kid, jwk }
        enum PrivateField: CodingKey { case d }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Field.self)
            typ = try fields.decode(String.self, forKey: .typ)
            alg = try fields.decode(String.self, forKey: .alg)
            kid = try fields.decodeIfPresent(String.self, forKey: .kid)
            jwk = try fields.decode(JSONWebKey.self, forKey: .jwk)
            isPrivate = try fields.nestedContainer(keyedBy: PrivateField.self, forKey: .jwk).contains(.d)
        }
    }

    private struct Claims: JWTPayload {
        var jti: String
        var htm: String
        var htu: String
        var iat: Double
        var ath: String?

        /// Looked at by ``Proof``, by the server's clock.
        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    let thumbprint: String
    let id: String
    /// When the proof says that it was made, seconds since 1970.
    let issuedAt: Double

    /// Everything but that it was not used before.
    ///
    /// - Throws: `refused`, with what is wrong for the log.
    init(_ request: Request, accessToken: String?, configuration: SignInConfiguration) async throws {
        guard let name = HTTPField.Name("DPoP") else { preconditionFailure("a field name is well-formed") }
        let fields = request.headers[values: name]
        guard let text = fields.first, fields.count == 1 else { throw Failure.refused(.proofMissing) }
        guard let header = TokenHeader.read(text, as: Header.self), header.typ == "dpop+jwt", header.alg == "ES256",
            !header.isPrivate, let key = header.jwk.publicKey
        else { throw Failure.refused(.proofForm) }
        let claims = try await Self.claims(text, key, header.kid)
        guard claims.htm == request.method.rawValue, Self.names(claims.htu, request.uri.path, configuration),
            abs(claims.iat - configuration.now.timeIntervalSince1970) <= configuration.lifetimes.proofSkew,
            claims.ath == accessToken.map({ Data($0.utf8).hashed.base64URL })
        else { throw Failure.refused(.proofClaims) }
        thumbprint = header.jwk.thumbprint
        id = claims.jti
        issuedAt = claims.iat
    }

    /// - Throws: `refused`, if the key did not sign this, or it does not have the form of a proof.
    private static func claims(_ text: String, _ key: P256.Signing.PublicKey, _ id: String?) async throws -> Claims {
        do {
            let keys = try await JWTKeyCollection().add(
                ecdsa: ES256PublicKey(backing: key), kid: id.map { JWKIdentifier(string: $0) })
            let claims = try await keys.verify(text, as: Claims.self)
            guard (1...128).contains(claims.jti.utf8.count) else { throw Failure.refused(.proofForm) }
            return claims
        } catch let error as JWTError where error.errorType == .signatureVerificationFailed {
            throw Failure.refused(.proofSignature)
        } catch {
            throw Failure.refused(.proofForm)
        }
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
