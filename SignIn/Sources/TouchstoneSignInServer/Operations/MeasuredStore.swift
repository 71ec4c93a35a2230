import Foundation
import TouchstoneSignInProtocol

/// A store whose calls are timed for `/metrics`, by their names.
struct MeasuredStore: SignInStore {
    let store: any SignInStore
    let metrics: SignInMetrics

    private func measured<Answer>(_ name: String, _ call: () async throws -> Answer) async throws -> Answer {
        let start = ContinuousClock.now
        defer { metrics.stored(name, in: ContinuousClock.now - start) }
        return try await call()
    }

    func addAccount(_ account: StoredAccount) async throws {
        try await measured("addAccount") { try await store.addAccount(account) }
    }

    func account(named name: String) async throws -> StoredAccount? {
        try await measured("account") { try await store.account(named: name) }
    }

    func account(userHandle: Data) async throws -> StoredAccount? {
        try await measured("account") { try await store.account(userHandle: userHandle) }
    }

    func accounts() async throws -> [StoredAccount] {
        try await measured("accounts") { try await store.accounts() }
    }

    func setPassword(hash: String, of name: String, at time: Date) async throws -> Bool {
        try await measured("setPassword") { try await store.setPassword(hash: hash, of: name, at: time) }
    }

    func removeAccount(named name: String, at time: Date) async throws -> Bool {
        try await measured("removeAccount") { try await store.removeAccount(named: name, at: time) }
    }

    func addPasswordSession(hash: Data, userHandle: Data, passwordHash: String, expiresAt: Date) async throws {
        try await measured("addPasswordSession") {
            try await store.addPasswordSession(
                hash: hash, userHandle: userHandle, passwordHash: passwordHash, expiresAt: expiresAt)
        }
    }

    func passwordSession(hash: Data, at time: Date) async throws -> Data? {
        try await measured("passwordSession") { try await store.passwordSession(hash: hash, at: time) }
    }

    func addChallenge(_ challenge: StoredChallenge) async throws {
        try await measured("addChallenge") { try await store.addChallenge(challenge) }
    }

    func addChallenge(
        _ challenge: StoredChallenge, counting uses: [StoredUse], ofAccount accountUses: [StoredUse], at time: Date
    ) async throws -> ChallengeOutcome {
        try await measured("addChallenge") {
            try await store.addChallenge(challenge, counting: uses, ofAccount: accountUses, at: time)
        }
    }

    func takeChallenge(
        hash: Data?, keyID: Data?, counting uses: [StoredUse], at time: Date
    ) async throws -> TakeOutcome {
        try await measured("takeChallenge") {
            try await store.takeChallenge(hash: hash, keyID: keyID, counting: uses, at: time)
        }
    }

    func register(_ key: StoredKey, passwordSession: Data) async throws {
        try await measured("register") { try await store.register(key, passwordSession: passwordSession) }
    }

    func registerPasskey(_ key: StoredKey, session: Data) async throws {
        try await measured("registerPasskey") { try await store.registerPasskey(key, session: session) }
    }

    func key(credentialID: Data) async throws -> StoredKey? {
        try await measured("key") { try await store.key(credentialID: credentialID) }
    }

    func key(id: Data) async throws -> StoredKey? {
        try await measured("key") { try await store.key(id: id) }
    }

    func keys(userHandle: Data) async throws -> [StoredKey] {
        try await measured("keys") { try await store.keys(userHandle: userHandle) }
    }

    func raiseCounter(of keyID: Data, to counter: UInt64, at time: Date) async throws -> Bool {
        try await measured("raiseCounter") { try await store.raiseCounter(of: keyID, to: counter, at: time) }
    }

    func revoke(keyID: Data, reason: RevocationReason, at time: Date) async throws -> Bool {
        try await measured("revoke") { try await store.revoke(keyID: keyID, reason: reason, at: time) }
    }

    func rotate(from oldKeyID: Data, to key: StoredKey, at time: Date) async throws -> Bool {
        try await measured("rotate") { try await store.rotate(from: oldKeyID, to: key, at: time) }
    }

    func revokeUnused(since time: Date, at now: Date) async throws -> Int {
        try await measured("revokeUnused") { try await store.revokeUnused(since: time, at: now) }
    }

    func addSession(_ session: StoredSession, raisingCounterTo counter: UInt64, at time: Date) async throws -> Bool {
        try await measured("addSession") { try await store.addSession(session, raisingCounterTo: counter, at: time) }
    }

    func addPasskeySession(_ session: StoredSession, counter: UInt64, at time: Date) async throws -> Bool {
        try await measured("addPasskeySession") {
            try await store.addPasskeySession(session, counter: counter, at: time)
        }
    }

    func session(id: Data) async throws -> StoredSession? {
        try await measured("session") { try await store.session(id: id) }
    }

    func session(refreshHash: Data) async throws -> StoredSession? {
        try await measured("session") { try await store.session(refreshHash: refreshHash) }
    }

    func rotateRefresh(hash: Data, to newHash: Data, expiresAt: Date, at time: Date) async throws -> RefreshOutcome {
        try await measured("rotateRefresh") {
            try await store.rotateRefresh(hash: hash, to: newHash, expiresAt: expiresAt, at: time)
        }
    }

    func endSession(id: Data) async throws {
        try await measured("endSession") { try await store.endSession(id: id) }
    }

    func addTransaction(_ transaction: StoredTransaction) async throws {
        try await measured("addTransaction") { try await store.addTransaction(transaction) }
    }

    func transaction(id: String) async throws -> StoredTransaction? {
        try await measured("transaction") { try await store.transaction(id: id) }
    }

    func confirmTransaction(id: String, keyID: Data, at time: Date) async throws -> Bool {
        try await measured("confirmTransaction") { try await store.confirmTransaction(id: id, keyID: keyID, at: time) }
    }

    func addWebRequest(_ request: StoredWebRequest) async throws {
        try await measured("addWebRequest") { try await store.addWebRequest(request) }
    }

    func webRequest(id: String) async throws -> StoredWebRequest? {
        try await measured("webRequest") { try await store.webRequest(id: id) }
    }

    func webRequest(browserHash: Data) async throws -> StoredWebRequest? {
        try await measured("webRequest") { try await store.webRequest(browserHash: browserHash) }
    }

    func settleWebRequest(id: String, as state: StoredWebRequest.State, keyID: Data?, at time: Date) async throws
        -> Bool
    {
        try await measured("settleWebRequest") {
            try await store.settleWebRequest(id: id, as: state, keyID: keyID, at: time)
        }
    }

    func collectWebRequest(id: String, session: StoredSession, at time: Date) async throws -> Bool {
        try await measured("collectWebRequest") {
            try await store.collectWebRequest(id: id, session: session, at: time)
        }
    }

    func count(bucket: Data, window: TimeInterval, at time: Date) async throws -> Int {
        try await measured("count") { try await store.count(bucket: bucket, window: window, at: time) }
    }

    func useOnce(hash: Data, until expiry: Date) async throws -> Bool {
        try await measured("useOnce") { try await store.useOnce(hash: hash, until: expiry) }
    }

    func tokenKeys() async throws -> [StoredTokenKey] {
        try await measured("tokenKeys") { try await store.tokenKeys() }
    }

    func addTokenKey(_ key: StoredTokenKey, after newest: String?) async throws -> Bool {
        try await measured("addTokenKey") { try await store.addTokenKey(key, after: newest) }
    }

    func removeTokenKeys(expiredAt time: Date) async throws {
        try await measured("removeTokenKeys") { try await store.removeTokenKeys(expiredAt: time) }
    }

    func sweep(at time: Date) async throws {
        try await measured("sweep") { try await store.sweep(at: time) }
    }

    func ping() async throws {
        try await measured("ping") { try await store.ping() }
    }

    func close() async throws {
        try await measured("close") { try await store.close() }
    }
}
