import Foundation
import TouchstoneSignInProtocol

/// What pages and the server say to each other about passkeys: WebAuthn level 3's JSON of its options and answers.
enum PasskeyBody {
    struct Kind: Codable {
        var type = "public-key"
        var alg: Int
    }

    struct Descriptor: Codable {
        var type = "public-key"
        /// Base64url.
        var id: String
    }

    struct Site: Encodable {
        var id: String
        var name: String
    }

    struct User: Encodable {
        /// Base64url.
        var id: String
        var name: String
        var displayName: String
    }

    struct Selection: Encodable {
        var residentKey = "required"
        var requireResidentKey = true
        var userVerification = "required"
    }

    struct CreationOptions: Encodable {
        var challenge: String
        var rp: Site
        var user: User
        var pubKeyCredParams = [Kind(alg: -7)]
        /// Milliseconds.
        var timeout: Int
        var excludeCredentials: [Descriptor]
        var authenticatorSelection = Selection()
        var attestation = "none"
    }

    struct RequestOptions: Encodable {
        var challenge: String
        var rpId: String
        /// Milliseconds.
        var timeout: Int
        /// None: the owner chooses among those that the authenticator has.
        var allowCredentials: [Descriptor] = []
        var userVerification = "required"
    }

    struct Registration: Decodable {
        struct Response: Decodable {
            var clientDataJSON: String
            var attestationObject: String
        }
        var response: Response
    }

    struct Assertion: Decodable {
        struct Response: Decodable {
            var clientDataJSON: String
            var authenticatorData: String
            var signature: String
            var userHandle: String?
        }
        var id: String
        var response: Response
    }
}
