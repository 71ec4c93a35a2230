import CSodiumPassword
import Foundation
import NIOPosix

/// Argon2id from libsodium, for a few at a time, because each takes 64 MiB and tens of milliseconds of a core.
struct PasswordHasher: Sendable {
    /// So many run at once.
    static let running = 2
    /// So many callers may wait; further ones are told to come later.
    static let waiting = 32
    /// No password is longer, in bytes of UTF-8.
    static let maximumLength = 1024

    private let turnstile = Turnstile(running: running, waiting: waiting)
    /// The hash for an unknown name, so that its check takes as long as for a known name.
    ///
    /// Of a text that is forgotten, once a process.
    private static let dummy = Result {
        try hash(Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString())
    }

    /// - Throws: ``PasswordError/libsodium``.
    init() throws {
        guard sodium_init() >= 0 else { throw PasswordError.libsodium }
        _ = try Self.dummy.get()
    }

    /// A new hash, in libsodium's text form.
    ///
    /// - Throws: ``PasswordError``.
    func hash(_ password: String) async throws -> String {
        guard !password.isEmpty, password.utf8.count <= Self.maximumLength else { throw PasswordError.length }
        return try await run { try Self.hash(password) }
    }

    /// Takes as long without a hash as with one.
    ///
    /// - Throws: ``PasswordError/busy``.
    func verify(_ password: String, against hash: String?) async throws -> Bool {
        let matches = try await run { Self.matches(password, try hash ?? Self.dummy.get()) }
        return matches && hash != nil
    }

    private func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard await turnstile.enter() else { throw PasswordError.busy }
        do {
            let value = try await NIOThreadPool.singleton.runIfActive(work)
            await turnstile.leave()
            return value
        } catch {
            await turnstile.leave()
            throw error
        }
    }

    private static func hash(_ password: String) throws -> String {
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let bytes = Array(password.utf8CString)
        let status = unsafe crypto_pwhash_str_alg(
            &text, bytes, UInt64(bytes.count - 1), UInt64(crypto_pwhash_opslimit_interactive()),
            crypto_pwhash_memlimit_interactive(), crypto_pwhash_ALG_ARGON2ID13)
        guard status == 0 else { throw PasswordError.libsodium }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func matches(_ password: String, _ hash: String) -> Bool {
        let bytes = Array(password.utf8CString)
        return unsafe crypto_pwhash_str_verify(hash, bytes, UInt64(bytes.count - 1)) == 0
    }
}

/// Why a password was not hashed or checked.
public enum PasswordError: Error, Sendable {
    /// Empty, or longer than 1024 bytes.
    case length
    /// As many are checked and wait as may.
    case busy
    /// libsodium does not start, or has no memory.
    case libsodium
}
