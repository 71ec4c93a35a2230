import Foundation
import JWTKit

/// The claims of an access token.
struct AccessToken: JWTPayload {
    struct Confirmation: Codable, Sendable {
        /// The session key's thumbprint (RFC 9449).
        var jkt: String
    }

    var iss: String
    var aud: String
    var sub: String
    var sid: String
    /// The device key's id.
    var key: String
    var cnf: Confirmation
    var iat: Int
    var exp: Int

    /// Looked at by ``TokenKeys/verify(_:)``, by the server's clock.
    func verify(using algorithm: some JWTAlgorithm) throws {}
}

struct AccessTokenHeader: Codable {
    var alg: String
    var typ: String
    var kid: String
}
