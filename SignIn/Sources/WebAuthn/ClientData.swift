public import Foundation
internal import TouchstoneSignInProtocol

/// What a browser says about one ceremony, which the authenticator signs the hash of.
public struct ClientData: Hashable, Sendable {
    /// What was asked for.
    public enum Ceremony: String, Sendable {
        case registration = "webauthn.create"
        case signIn = "webauthn.get"
    }

    /// `webauthn.create` or `webauthn.get`.
    public let type: String
    /// The bytes of the site's challenge.
    public let challenge: Data
    /// Whose page asked, as the browser writes it.
    public let origin: String
    /// Whether the page was in another site's frame.
    public let isCrossOrigin: Bool

    private struct Fields: Decodable {
        var type: String
        var challenge: String
        var origin: String
        var crossOrigin: Bool?
    }

    /// Most bytes that are read.
    public static let longest = 4096

    /// - Parameter json: As the browser sent it, in UTF-8.
    /// - Throws: `WebAuthnRefusal.clientDataForm`.
    public init(json: Data) throws(WebAuthnRefusal) {
        guard json.count <= Self.longest, let fields = try? JSONDecoder().decode(Fields.self, from: json),
            let challenge = Data(base64URL: fields.challenge)
        else { throw .clientDataForm }
        type = fields.type
        self.challenge = challenge
        origin = fields.origin
        isCrossOrigin = fields.crossOrigin ?? false
    }
}
