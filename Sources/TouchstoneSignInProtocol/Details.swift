/// What a signed request is about, one type for each purpose.
public enum Details {
    /// Of a registration.
    public struct Register: Codable, Sendable, Equatable {
        /// The new key, SubjectPublicKeyInfo as PEM.
        public var publicKey: String
        /// 16 bytes that the client made at its first registration, base64url.
        public var deviceID: String
        /// What the owner calls the device, at most 64 characters.
        public var deviceName: String
        /// Proof of where the key lives, in a form that this server knows, base64url (NP-21).
        public var attestation: String?

        /// As its fields say.
        public init(publicKey: String, deviceID: String, deviceName: String, attestation: String? = nil) {
            self.publicKey = publicKey
            self.deviceID = deviceID
            self.deviceName = deviceName
            self.attestation = attestation
        }
    }

    /// Of a sign-in.
    public struct SignIn: Codable, Sendable, Equatable {
        /// The session key's JWK thumbprint (RFC 7638), base64url.
        public var sessionKey: String

        /// As its fields say.
        public init(sessionKey: String) { self.sessionKey = sessionKey }
    }

    /// Of a sign-in at a page.
    public struct WebSignIn: Codable, Sendable, Equatable {
        /// The id of the page's request.
        public var web: String
        /// The code as the prompt showed it.
        public var code: String
        /// Which page asked, by the browser's word.
        public var origin: String

        /// As its fields say.
        public init(web: String, code: String, origin: String) {
            self.web = web
            self.code = code
            self.origin = origin
        }
    }

    /// Of a confirmation.
    public struct ConfirmTransaction: Codable, Sendable, Equatable {
        /// Its id.
        public var transaction: String
        /// The text that the owner saw, at most 200 characters.
        public var text: String

        /// As its fields say.
        public init(transaction: String, text: String) {
            self.transaction = transaction
            self.text = text
        }
    }

    /// Of a new key.
    public struct Rotate: Codable, Sendable, Equatable {
        /// SubjectPublicKeyInfo as PEM.
        public var publicKey: String

        /// As its fields say.
        public init(publicKey: String) { self.publicKey = publicKey }
    }

    /// Of a revocation.
    public struct Revoke: Codable, Sendable, Equatable {
        /// Base64url.
        public var keyID: String

        /// As its fields say.
        public init(keyID: String) { self.keyID = keyID }
    }
}
