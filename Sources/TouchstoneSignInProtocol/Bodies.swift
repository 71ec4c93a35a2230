/// The JSON bodies of requests and answers; docs/sign-in.md has the routes.
///
/// Bytes are base64url, times seconds.
public enum Body {
    /// What registers a device.
    public struct Password: Codable, Sendable {
        /// The account's name.
        public var name: String
        /// In clear, over TLS.
        public var password: String
        /// What else the server asks for, a one-time code for example (NP-20).
        public var secondFactor: String?

        /// As its fields say.
        public init(name: String, password: String, secondFactor: String? = nil) {
            self.name = name
            self.password = password
            self.secondFactor = secondFactor
        }
    }

    /// What a password was taken for.
    public struct PasswordSession: Codable, Sendable {
        /// A bearer token.
        public var token: String
        /// 16 bytes, base64url.
        public var userHandle: String
        /// Seconds.
        public var expiresIn: Int

        /// As its fields say.
        public init(token: String, userHandle: String, expiresIn: Int) {
            self.token = token
            self.userHandle = userHandle
            self.expiresIn = expiresIn
        }
    }

    /// Asks for a challenge.
    public struct ChallengeRequest: Codable, Sendable {
        /// SHA-256 of the SubjectPublicKeyInfo, base64url.
        public var keyID: String
        /// What the challenge is for.
        public var purpose: Purpose

        /// As its fields say.
        public init(keyID: String, purpose: Purpose) {
            self.keyID = keyID
            self.purpose = purpose
        }
    }

    /// Something to sign.
    public struct Challenge: Codable, Sendable {
        /// 32 bytes, base64url.
        public var challenge: String
        /// Seconds.
        public var expiresIn: Int
        /// Seconds since 1970 by the server's clock.
        public var serverTime: Int

        /// As its fields say.
        public init(challenge: String, expiresIn: Int, serverTime: Int) {
            self.challenge = challenge
            self.expiresIn = expiresIn
            self.serverTime = serverTime
        }
    }

    /// A key of the account.
    public struct Device: Codable, Sendable, Equatable {
        /// How it can stand.
        public enum State: String, Codable, Sendable { case active, revoked }

        /// SHA-256 of the SubjectPublicKeyInfo, base64url.
        public var keyID: String
        /// What the owner calls the device.
        public var deviceName: String
        /// Seconds since 1970.
        public var registeredAt: Int
        /// Seconds since 1970; nil before the first sign-in.
        public var lastUsedAt: Int?
        /// How it stands.
        public var state: State
        /// What an attestation proved of where the key lives; without one the server knows of no hardware (NP-21).
        public var attestation: String?

        /// As its fields say.
        public init(
            keyID: String, deviceName: String, registeredAt: Int, lastUsedAt: Int?, state: State,
            attestation: String? = nil
        ) {
            self.keyID = keyID
            self.deviceName = deviceName
            self.registeredAt = registeredAt
            self.lastUsedAt = lastUsedAt
            self.state = state
            self.attestation = attestation
        }
    }

    /// The account's devices.
    public struct Devices: Codable, Sendable {
        /// In the order of their registration.
        public var devices: [Device]

        /// As its fields say.
        public init(devices: [Device]) { self.devices = devices }
    }

    /// A registration that was taken.
    public struct Registered: Codable, Sendable {
        /// SHA-256 of the SubjectPublicKeyInfo, base64url.
        public var keyID: String
        /// In the order of their registration.
        public var devices: [Device]

        /// As its fields say.
        public init(keyID: String, devices: [Device]) {
            self.keyID = keyID
            self.devices = devices
        }
    }

    /// A session, or its renewal.
    public struct Session: Codable, Sendable {
        /// A JWT.
        public var accessToken: String
        /// Works once.
        public var refreshToken: String
        /// Seconds.
        public var expiresIn: Int
        /// SHA-256 of the SubjectPublicKeyInfo, base64url.
        public var keyID: String

        /// As its fields say.
        public init(accessToken: String, refreshToken: String, expiresIn: Int, keyID: String) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.expiresIn = expiresIn
            self.keyID = keyID
        }
    }

    /// Asks for a renewal.
    public struct Refresh: Codable, Sendable {
        /// Works once.
        public var refreshToken: String

        /// As its fields say.
        public init(refreshToken: String) { self.refreshToken = refreshToken }
    }

    /// Asks for a transaction.
    public struct TransactionText: Codable, Sendable {
        /// What the owner is shown.
        public var text: String

        /// As its fields say.
        public init(text: String) { self.text = text }
    }

    /// A transaction to confirm.
    public struct Transaction: Codable, Sendable {
        /// Its id.
        public var transaction: String
        /// What the owner is shown.
        public var text: String
        /// 32 bytes, base64url.
        public var challenge: String
        /// Seconds.
        public var expiresIn: Int
        /// Seconds since 1970 by the server's clock.
        public var serverTime: Int

        /// As its fields say.
        public init(transaction: String, text: String, challenge: String, expiresIn: Int, serverTime: Int) {
            self.transaction = transaction
            self.text = text
            self.challenge = challenge
            self.expiresIn = expiresIn
            self.serverTime = serverTime
        }
    }

    /// What became of a transaction.
    public struct TransactionState: Codable, Sendable {
        /// Its id.
        public var transaction: String
        /// How it stands.
        public var state: String

        /// As its fields say.
        public init(transaction: String, state: String) {
            self.transaction = transaction
            self.state = state
        }
    }

    /// A key.
    public struct KeyID: Codable, Sendable {
        /// SHA-256 of the SubjectPublicKeyInfo, base64url.
        public var keyID: String

        /// As its fields say.
        public init(keyID: String) { self.keyID = keyID }
    }

    /// A page's request.
    public struct WebRequest: Codable, Sendable {
        /// Its id.
        public var request: String
        /// As the page shows it.
        public var code: String
        /// Seconds.
        public var expiresIn: Int

        /// As its fields say.
        public init(request: String, code: String, expiresIn: Int) {
            self.request = request
            self.code = code
            self.expiresIn = expiresIn
        }
    }

    /// Denies a page's request.
    public struct WebDenial: Codable, Sendable {
        /// Its id.
        public var request: String
        /// As the page shows it.
        public var code: String

        /// As its fields say.
        public init(request: String, code: String) {
            self.request = request
            self.code = code
        }
    }

    /// What became of a page's request.
    public struct WebState: Codable, Sendable {
        /// How it can stand.
        public enum State: String, Codable, Sendable { case pending, approved, denied, expired, refused }

        /// How it stands.
        public var state: State
        /// The account's name.
        public var account: String?

        /// As its fields say.
        public init(state: State, account: String? = nil) {
            self.state = state
            self.account = account
        }
    }

    /// Who is signed in at a page.
    public struct Account: Codable, Sendable {
        /// The account's name.
        public var account: String

        /// As its fields say.
        public init(account: String) { self.account = account }
    }

    /// Why there is no other answer.
    public struct Failure: Codable, Sendable {
        /// One of the words in docs/sign-in.md.
        public var error: String

        /// As its fields say.
        public init(error: String) { self.error = error }
    }
}
