import Crypto
import Foundation
import JWTKit
import TouchstoneSignInProtocol

/// The server's keys that sign access tokens: made by whichever process needs one first, kept sealed, changed on a
/// schedule. A new key is in the JWKS for some time before it signs, and for some time after its last token.
actor TokenKeys {
    private struct Key {
        let stored: StoredTokenKey
        let publicKey: P256.Signing.PublicKey
        let jwt: JWTKeyCollection
    }

    private let configuration: SignInConfiguration
    private let store: any SignInStore
    private var keys: [Key] = []
    private var readAt = Date.distantPast
    /// How old what was read may be, in seconds.
    ///
    /// Keys that others made are known long before they sign.
    private static let refresh: TimeInterval = 60

    init(configuration: SignInConfiguration, store: any SignInStore) {
        self.configuration = configuration
        self.store = store
    }

    func sign(_ token: AccessToken) async throws -> String {
        let key = try await signing()
        return try await key.jwt.sign(
            token, kid: JWKIdentifier(string: key.id), header: ["typ": "at+jwt"])
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
    func signing() async throws -> (id: String, jwt: JWTKeyCollection) {
        try await read(atMost: Self.refresh)
        let now = configuration.now
        let lifetimes = configuration.lifetimes
        if keys.first.map({ $0.stored.retiresAt <= now + lifetimes.tokenKeyOverlap }) ?? true {
            try await make(after: keys.first?.stored.id, at: now)
            try await read(atMost: 0)
        }
        guard let key = keys.last(where: { $0.stored.retiresAt > now }) else { throw TokenKeyError.none }
        return (key.stored.id, key.jwt)
    }

    /// RFC 7517.
    func keySet() async throws -> [JSONWebKey] {
        try await read(atMost: Self.refresh)
        let now = configuration.now
        return keys.filter { $0.stored.expiresAt > now }.map { JSONWebKey($0.publicKey, id: $0.stored.id) }
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
        let jwt = try await JWTKeyCollection().add(
            ecdsa: ES256PrivateKey(backing: key), kid: JWKIdentifier(string: stored.id))
        return Key(stored: stored, publicKey: key.publicKey, jwt: jwt)
    }
}

/// Why there is no key for access tokens.
public enum TokenKeyError: Error, Sendable {
    /// The store's keys were sealed with another secret than this server was given.
    case otherSecret
    case none
}
