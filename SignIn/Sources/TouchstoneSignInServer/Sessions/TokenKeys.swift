import Crypto
import Foundation
import JWTKit
import Synchronization
import TouchstoneSignInProtocol

/// The server's keys that sign access tokens: made by whichever process needs one first, kept sealed, changed on a
/// schedule. A new key is in the JWKS for some time before it signs, and for some time after its last token.
actor TokenKeys {
    struct Key: Sendable {
        let stored: StoredTokenKey
        let key: P256.Signing.PrivateKey
        /// Of its tokens, in base64url.
        let header: String
        /// What verifies them.
        let jwt: JWTKeyCollection

        var id: String { stored.id }

        init(_ stored: StoredTokenKey, _ key: P256.Signing.PrivateKey) async throws {
            self.stored = stored
            self.key = key
            header = try JSONEncoder().encode(AccessTokenHeader(alg: "ES256", typ: "at+jwt", kid: stored.id)).base64URL
            jwt = try await JWTKeyCollection().add(
                ecdsa: ES256PublicKey(backing: key.publicKey), kid: JWKIdentifier(string: stored.id))
        }

        /// RFC 7515, 5.1.
        ///
        /// Not by JWTKit, which makes the header again for each token.
        func sign(_ token: AccessToken) throws -> String {
            let text = "\(header).\(try JSONEncoder().encode(token).base64URL)"
            return "\(text).\(try key.signature(for: Data(text.utf8)).rawRepresentation.base64URL)"
        }
    }

    /// The key that ``signing()`` found, and for how long it finds the same one without a look into the store.
    private struct Ready {
        let key: Key
        let from: Date
        let until: Date
    }

    private let configuration: SignInConfiguration
    private let store: any SignInStore
    private var keys: [Key] = []
    private var readAt = Date.distantPast
    private let ready = Mutex<Ready?>(nil)
    /// How old what was read may be, in seconds.
    ///
    /// Keys that others made are known long before they sign.
    private static let refresh: TimeInterval = 60

    init(configuration: SignInConfiguration, store: any SignInStore) {
        self.configuration = configuration
        self.store = store
    }

    /// Where nothing has to be read or made, no caller waits for another one.
    nonisolated func sign(_ token: AccessToken) async throws -> String {
        let now = configuration.now
        let known = ready.withLock { $0.flatMap { $0.from <= now && now < $0.until ? $0.key : nil } }
        if let known { return try known.sign(token) }
        return try await signing().sign(token)
    }

    /// The claims of a token of ours that has not expired; nil for anything else.
    func verify(_ text: String) async throws -> AccessToken? {
        guard let header = TokenHeader.read(text, as: AccessTokenHeader.self), header.alg == "ES256",
            header.typ == "at+jwt"
        else { return nil }
        try await read(atMost: Self.refresh)
        // Another process's first key, made a moment ago.
        if key(header.kid) == nil { try await read(atMost: 1) }
        guard let key = key(header.kid), let token = try? await key.jwt.verify(text, as: AccessToken.self) else {
            return nil
        }
        guard token.iss == configuration.audience, token.aud == configuration.audience else { return nil }
        return token
    }

    /// The oldest key that may sign; makes the next one when it is time.
    func signing() async throws -> Key {
        try await read(atMost: Self.refresh)
        let now = configuration.now
        let lifetimes = configuration.lifetimes
        if keys.first.map({ $0.stored.retiresAt <= now + lifetimes.tokenKeyOverlap }) ?? true {
            try await make(after: keys.first?.stored.id, at: now)
            try await read(atMost: 0)
        }
        guard let key = keys.last(where: { $0.stored.retiresAt > now }) else { throw TokenKeyError.none }
        let until = min(
            key.stored.retiresAt, readAt + Self.refresh, keys[0].stored.retiresAt - lifetimes.tokenKeyOverlap)
        ready.withLock { $0 = Ready(key: key, from: now, until: until) }
        return key
    }

    /// RFC 7517.
    func keySet() async throws -> [JSONWebKey] {
        try await read(atMost: Self.refresh)
        let now = configuration.now
        return keys.filter { $0.stored.expiresAt > now }.map { JSONWebKey($0.key.publicKey, id: $0.stored.id) }
    }

    private func key(_ id: String) -> Key? {
        keys.first { $0.stored.id == id && $0.stored.expiresAt > configuration.now }
    }

    private func read(atMost age: TimeInterval) async throws {
        guard abs(configuration.now.timeIntervalSince(readAt)) >= age else { return }
        let stored = try await store.tokenKeys()
        var read: [Key] = []
        for entry in stored {
            if let known = keys.first(where: { $0.stored == entry }) {
                read.append(known)
            } else {
                read.append(try await open(entry))
            }
        }
        keys = read
        readAt = configuration.now
    }

    private func make(after newest: String?, at now: Date) async throws {
        let key = P256.Signing.PrivateKey()
        let id = configuration.random(12).base64URL
        let lifetimes = configuration.lifetimes
        let retires = now + lifetimes.tokenKey + lifetimes.tokenKeyOverlap
        let sealed = try AES.GCM.seal(
            key.rawRepresentation, using: configuration.secret, authenticating: Data("token key \(id)".utf8))
        _ = try await store.addTokenKey(
            StoredTokenKey(
                id: id, sealed: sealed.combined!, createdAt: now, retiresAt: retires,
                expiresAt: retires + lifetimes.accessToken),
            after: newest)
        try await store.removeTokenKeys(expiredAt: now)
    }

    private func open(_ stored: StoredTokenKey) async throws -> Key {
        guard let box = try? AES.GCM.SealedBox(combined: stored.sealed),
            let bytes = try? AES.GCM.open(
                box, using: configuration.secret, authenticating: Data("token key \(stored.id)".utf8)),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { throw TokenKeyError.otherSecret }
        return try await Key(stored, key)
    }
}

/// Why there is no key for access tokens.
public enum TokenKeyError: Error, Sendable {
    /// The store's keys were sealed with another secret than this server was given.
    case otherSecret
    case none
}
