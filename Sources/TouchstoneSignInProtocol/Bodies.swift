/// The JSON bodies of requests and answers; docs/sign-in.md has the routes. Bytes are base64url, times seconds.
public enum Body {
    public struct Password: Codable, Sendable {
        public var name: String
        public var password: String
        /// What else the server asks for, a one-time code for example (NP-20).
        public var secondFactor: String?

        public init(name: String, password: String, secondFactor: String? = nil) {
            self.name = name
            self.password = password
            self.secondFactor = secondFactor
        }
    }

    public struct PasswordSession: Codable, Sendable {
        public var token: String
        public var userHandle: String
        public var expiresIn: Int

        public init(token: String, userHandle: String, expiresIn: Int) {
            self.token = token
            self.userHandle = userHandle
            self.expiresIn = expiresIn
        }
    }

    public struct ChallengeRequest: Codable, Sendable {
        public var keyID: String
        public var purpose: Purpose

        public init(keyID: String, purpose: Purpose) {
            self.keyID = keyID
            self.purpose = purpose
        }
    }

    public struct Challenge: Codable, Sendable {
        public var challenge: String
        public var expiresIn: Int
        /// Seconds since 1970 by the server's clock.
        public var serverTime: Int

        public init(challenge: String, expiresIn: Int, serverTime: Int) {
            self.challenge = challenge
            self.expiresIn = expiresIn
            self.serverTime = serverTime
        }
    }

    public struct Device: Codable, Sendable, Equatable {
        public enum State: String, Codable, Sendable { case active, revoked }

        public var keyID: String
        public var deviceName: String
        public var registeredAt: Int
        public var lastUsedAt: Int?
        public var state: State
        /// What an attestation proved of where the key lives; without one the server knows of no hardware (NP-21).
        public var attestation: String?

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

    public struct Devices: Codable, Sendable {
        public var devices: [Device]

        public init(devices: [Device]) { self.devices = devices }
    }

    public struct Registered: Codable, Sendable {
        public var keyID: String
        public var devices: [Device]

        public init(keyID: String, devices: [Device]) {
            self.keyID = keyID
            self.devices = devices
        }
    }

    public struct Session: Codable, Sendable {
        public var accessToken: String
        public var refreshToken: String
        public var expiresIn: Int
        public var keyID: String

        public init(accessToken: String, refreshToken: String, expiresIn: Int, keyID: String) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.expiresIn = expiresIn
            self.keyID = keyID
        }
    }

    public struct Refresh: Codable, Sendable {
        public var refreshToken: String

        public init(refreshToken: String) { self.refreshToken = refreshToken }
    }

    public struct TransactionText: Codable, Sendable {
        public var text: String

        public init(text: String) { self.text = text }
    }

    public struct Transaction: Codable, Sendable {
        public var transaction: String
        public var text: String
        public var challenge: String
        public var expiresIn: Int
        public var serverTime: Int

        public init(transaction: String, text: String, challenge: String, expiresIn: Int, serverTime: Int) {
            self.transaction = transaction
            self.text = text
            self.challenge = challenge
            self.expiresIn = expiresIn
            self.serverTime = serverTime
        }
    }

    public struct TransactionState: Codable, Sendable {
        public var transaction: String
        public var state: String

        public init(transaction: String, state: String) {
            self.transaction = transaction
            self.state = state
        }
    }

    public struct KeyID: Codable, Sendable {
        public var keyID: String

        public init(keyID: String) { self.keyID = keyID }
    }

    public struct WebRequest: Codable, Sendable {
        public var request: String
        public var code: String
        public var expiresIn: Int

        public init(request: String, code: String, expiresIn: Int) {
            self.request = request
            self.code = code
            self.expiresIn = expiresIn
        }
    }

    public struct WebDenial: Codable, Sendable {
        public var request: String
        public var code: String

        public init(request: String, code: String) {
            self.request = request
            self.code = code
        }
    }

    public struct WebState: Codable, Sendable {
        public enum State: String, Codable, Sendable { case pending, approved, denied, expired, refused }

        public var state: State
        public var account: String?

        public init(state: State, account: String? = nil) {
            self.state = state
            self.account = account
        }
    }

    public struct Account: Codable, Sendable {
        public var account: String

        public init(account: String) { self.account = account }
    }

    public struct Failure: Codable, Sendable {
        public var error: String

        public init(error: String) { self.error = error }
    }
}
