public import Foundation
public import TouchstoneSignInProtocol

/// Where a sign-in server keeps what it knows.
///
/// Each method is one transaction: it is durable when the method returns, or not done at all.
///
/// Several server processes share nothing but this. What must happen once happens once across all of them: taking a
/// challenge, raising a counter, rotating a refresh token, approving a page's request.
///
/// Secrets come as their SHA-256, never in the clear. Times come from the caller, so that a test can move them.
///
/// - Throws: ``StoreError`` from every method; after an error nothing was changed, or it is not known (`unavailable`).
public protocol SignInStore: Sendable {
    // Accounts.
    /// - Throws: `.exists` if the name is taken.
    func addAccount(_ account: StoredAccount) async throws
    func account(named name: String) async throws -> StoredAccount?
    func account(userHandle: Data) async throws -> StoredAccount?
    func accounts() async throws -> [StoredAccount]
    /// Revokes every key of the account and ends every session (NP-30), password sessions too: who knew the old password
    /// registers nothing any more. False if there is no such account.
    func setPassword(hash: String, of name: String, at time: Date) async throws -> Bool
    /// With its devices, sessions and transactions. Its key ids stay revoked for good.
    func removeAccount(named name: String, at time: Date) async throws -> Bool

    // Password sessions: for five minutes, to register a device.
    /// `passwordHash`: What the password was checked against. It may have been changed since, which takes time.
    /// Throws `.notActive` if there is no such account, or its password's hash is not this one any more.
    func addPasswordSession(hash: Data, userHandle: Data, passwordHash: String, expiresAt: Date) async throws
    func passwordSession(hash: Data, at time: Date) async throws -> Data?

    // Challenges.
    func addChallenge(_ challenge: StoredChallenge) async throws
    /// Counts the uses one after the other, up to the first that is too many. If none is, adds the challenge, unless the
    /// key is revoked (NP-10, NP-41).
    ///
    /// `accountUses`: Counted after `uses`, each for the account that has the key, or for the key's id if nobody has it.
    func addChallenge(
        _ challenge: StoredChallenge, counting uses: [StoredUse], ofAccount accountUses: [StoredUse], at time: Date
    ) async throws -> ChallengeOutcome
    /// Counts the uses one after the other, up to the first that is too many. If none is, takes the challenge out, expired
    /// or not: no second call finds it (NP-11). Reads the key at the same time.
    ///
    /// `hash`, `keyID`: nil if the caller wants no challenge, or no key.
    func takeChallenge(hash: Data?, keyID: Data?, counting uses: [StoredUse], at time: Date) async throws -> TakeOutcome

    // Device keys.
    /// Adds the key, and revokes the account's earlier key of the same device in the same transaction (NP-22).
    ///
    /// `passwordSession`: The hash of the session that vouches for it, looked at in the same transaction: a password
    /// that was changed meanwhile registers nothing.
    /// Throws `.exists` if the key id was ever there, revoked or not; `.notActive` if the account is not there, or the
    /// password session is not the account's or not valid at the key's `registeredAt`; `.full` if the account has
    /// ``StoredKey/mostActive`` active keys on other devices.
    func register(_ key: StoredKey, passwordSession: Data) async throws
    /// Adds a passkey.
    ///
    /// `session`: The id of the page's session that vouches for it, looked at in the same transaction.
    /// Throws `.exists` if its credential or its key was ever there, revoked or not; `.notActive` if the account is not there, or the
    /// session is not the account's or has ended at the key's `registeredAt`; `.full` as ``register(_:passwordSession:)``.
    func registerPasskey(_ key: StoredKey, session: Data) async throws
    func key(id: Data) async throws -> StoredKey?
    /// The passkey that its authenticator calls so, revoked or not.
    func key(credentialID: Data) async throws -> StoredKey?
    /// The account's active keys and the ``StoredKey/mostRevoked`` that were revoked last, in the order of registration.
    func keys(userHandle: Data) async throws -> [StoredKey]
    /// Sets the counter and the time of last use if the counter is greater than the stored one and the key is active.
    func raiseCounter(of keyID: Data, to counter: UInt64, at time: Date) async throws -> Bool
    /// Marks the key revoked and ends its sessions. False if it was not active.
    func revoke(keyID: Data, reason: RevocationReason, at time: Date) async throws -> Bool
    /// Adds the new key for the old one's device, revokes the old one and ends its sessions. False if the old one is not active,
    /// or is of another account or device than the new one.
    ///
    /// - Throws: `.exists` if the new key's id was ever there; then the old one stays.
    func rotate(from oldKeyID: Data, to key: StoredKey, at time: Date) async throws -> Bool
    /// Revokes what was not used since `time` (NP-30); how many.
    func revokeUnused(since time: Date, at now: Date) async throws -> Int

    // Sessions.
    /// Raises the key's counter as ``raiseCounter(of:to:at:)`` does, and adds the session: both, or neither.
    ///
    /// False if the counter is not greater than the stored one, or the key is not an active one of the session's account.
    func addSession(_ session: StoredSession, raisingCounterTo counter: UInt64, at time: Date) async throws -> Bool
    /// Sets the passkey's counter and time of last use, and adds the session: both, or neither.
    ///
    /// False if the key is not an active passkey of the session's account, or the counter is neither greater than the stored one, nor 0 as
    /// the stored one.
    func addPasskeySession(_ session: StoredSession, counter: UInt64, at time: Date) async throws -> Bool
    func session(id: Data) async throws -> StoredSession?
    /// The session whose current refresh token this is, expired or not: a page's cookie.
    func session(refreshHash: Data) async throws -> StoredSession?
    /// The session whose current refresh token this is. A token that was replaced ends its session: it was copied.
    func rotateRefresh(hash: Data, to newHash: Data, expiresAt: Date, at time: Date) async throws -> RefreshOutcome
    func endSession(id: Data) async throws

    // Transactions to confirm.
    func addTransaction(_ transaction: StoredTransaction) async throws
    func transaction(id: String) async throws -> StoredTransaction?
    /// From pending to confirmed, once, before it expires, by a key of the same account that is active in the same transaction.
    func confirmTransaction(id: String, keyID: Data, at time: Date) async throws -> Bool

    // Requests of pages.
    func addWebRequest(_ request: StoredWebRequest) async throws
    func webRequest(id: String) async throws -> StoredWebRequest?
    func webRequest(browserHash: Data) async throws -> StoredWebRequest?
    /// From pending to something else, once. False if it was not pending any more, or had expired.
    func settleWebRequest(id: String, as state: StoredWebRequest.State, keyID: Data?, at time: Date) async throws
        -> Bool
    /// From approved to collected, once, and adds the session of the browser that asked with it. False if it is not approved,
    /// or by another key than the session's.
    ///
    /// - Throws: `.notActive` if the key is not active; then the request stays as it is.
    func collectWebRequest(id: String, session: StoredSession, at time: Date) async throws -> Bool

    // What several processes count together.
    /// Counts one use of a bucket in the current window; how many there were, with this one.
    func count(bucket: Data, window: TimeInterval, at time: Date) async throws -> Int
    /// Remembers a DPoP proof's id; false if it was known.
    func useOnce(hash: Data, until expiry: Date) async throws -> Bool

    // The server's own keys for tokens, sealed by the caller.
    /// Newest first.
    func tokenKeys() async throws -> [StoredTokenKey]
    /// Adds a key if the newest one is still `newest` (nil: there is none): two processes make one new key, not two.
    func addTokenKey(_ key: StoredTokenKey, after newest: String?) async throws -> Bool
    func removeTokenKeys(expiredAt time: Date) async throws

    /// Deletes what expired long ago. Cheap; called every minute by each process.
    func sweep(at time: Date) async throws
    /// Answers if the storage does.
    func ping() async throws
    func close() async throws
}

/// Why the storage did not do what was asked.
public enum StoreError: Error, Sendable, Equatable {
    case exists
    case notActive
    /// There are as many as there may be.
    case full
    /// The storage does not answer, or lost the connection: what was asked for may or may not have happened. The text is for
    /// a log and has no secret.
    case unavailable(String)
    /// A schema newer than this program, or not ours.
    case schema(String)
}

/// Somebody who may sign in.
public struct StoredAccount: Sendable, Equatable {
    /// What the owner types, as it is compared: 1 to 128 characters, normalized by the caller.
    public var name: String
    /// 16 bytes.
    public var userHandle: Data
    /// Argon2id with its parameters, as libsodium writes it.
    public var passwordHash: String
    /// When it was added.
    public var createdAt: Date
}

/// One use of something that may be used so often (NP-41).
public struct StoredUse: Sendable, Equatable {
    /// What is counted, as its hash of 32 bytes.
    public var bucket: Data
    /// Seconds.
    public var window: TimeInterval
    /// So many may there be in one window, with this one.
    public var most: Int
}

/// What became of a challenge that was to be added.
public enum ChallengeOutcome: Sendable, Equatable {
    case added
    /// Which of the uses was too many, counted through those of the account; what follows it was not counted.
    case limited(Int)
    case keyRevoked
}

/// What became of a challenge that was to be taken.
public enum TakeOutcome: Sendable, Equatable {
    /// Nil for what is not there.
    case taken(StoredChallenge?, StoredKey?)
    /// Which of the uses was too many; what follows it was not counted, and the challenge is still there.
    case limited(Int)
}

/// A challenge that was given out.
public struct StoredChallenge: Sendable, Equatable {
    /// SHA-256 of the challenge.
    public var hash: Data
    /// The one purpose that it is good for.
    public var purpose: Purpose
    /// The key that it was made for; nil for a registration.
    public var keyID: Data?
    /// The hash of the password session of a registration, the id of a transaction as bytes: what else it is bound to.
    public var binding: Data?
    /// From then on it is as if it were not there.
    public var expiresAt: Date
}

/// A device's key, active or revoked.
public struct StoredKey: Sendable, Equatable {
    /// Of one account: so many devices.
    public static let mostActive = 32
    /// Of one account's in a list.
    ///
    /// The others stay revoked, and are not told any more.
    public static let mostRevoked = 20

    /// Whether it may sign, or since when not and why.
    public enum State: Sendable, Equatable { case active, revoked(RevocationReason, Date) }

    /// SHA-256 of `publicKey`.
    public var id: Data
    /// SubjectPublicKeyInfo, DER.
    public var publicKey: Data
    /// The account's, 16 bytes.
    public var userHandle: Data
    /// The client's, 16 bytes.
    public var deviceID: Data
    /// What the owner calls the device, 64 characters at most.
    public var deviceName: String
    /// The greatest that a message of it had (NP-23).
    public var counter: UInt64
    /// When it was added.
    public var registeredAt: Date
    /// When it last signed; nil: never since its registration.
    public var lastUsedAt: Date?
    /// How it stands.
    public var state: State
    /// What an attestation proved at its registration; nil: nothing did, and it may be any key (NP-21).
    public var attestation: String?
    /// What the authenticator of a passkey calls it, at most 1023 bytes; nil: it is a device's key (FD-54).
    public var credentialID: Data?
}

/// Why a key may sign no more (NP-30).
public enum RevocationReason: String, Sendable, CaseIterable {
    case owner
    case administrator
    case passwordChanged
    case counter
    case unused
    case replaced
    case rotated
    case accountRemoved
}

/// A session that a finger began.
public struct StoredSession: Sendable, Equatable {
    /// 16 random bytes.
    public var id: Data
    /// The device key's id, 32 bytes.
    public var keyID: Data
    /// The account's, 16 bytes.
    public var userHandle: Data
    /// The session key's thumbprint; nil for a page's session, whose cookie is the refresh token.
    public var sessionKey: String?
    /// SHA-256 of the refresh token that is good now.
    public var refreshHash: Data
    /// From then on it is as if it were not there.
    public var expiresAt: Date
}

/// What became of a refresh token.
public enum RefreshOutcome: Sendable, Equatable {
    case rotated(StoredSession)
    /// Used before: the session is ended with this answer.
    case reused
    case unknown
}

/// A text that waits for its owner's finger, or had it.
public struct StoredTransaction: Sendable, Equatable {
    /// As the server made it up, base64url.
    public var id: String
    /// The account's, 16 bytes.
    public var userHandle: Data
    /// What the owner reads, 200 characters at most.
    public var text: String
    /// From then on it is as if it were not there.
    public var expiresAt: Date
    /// The key that confirmed it; nil: none did.
    public var confirmedBy: Data?
}

/// A page that wants to be signed in.
public struct StoredWebRequest: Sendable, Equatable {
    /// What became of it.
    public enum State: String, Sendable { case pending, approved, denied, refused, collected }

    /// As the server made it up, base64url.
    public var id: String
    /// As page and prompt show it.
    public var code: String
    /// SHA-256 of what the browser's cookie has.
    public var browserHash: Data
    /// From then on it is as if it were not there.
    public var expiresAt: Date
    /// How it stands.
    public var state: State
    /// The device key's id, 32 bytes; nil: nobody's yet.
    public var keyID: Data?
}

/// A key that signs access tokens.
public struct StoredTokenKey: Sendable, Equatable {
    /// As the server made it up, base64url.
    public var id: String
    /// The private key, sealed under the server's secret.
    public var sealed: Data
    /// When it was added.
    public var createdAt: Date
    /// From then on it signs no more.
    public var retiresAt: Date
    /// From then on nothing that it signed is valid.
    public var expiresAt: Date
}
