public import Foundation
import TouchstoneSignInProtocol

/// What an administrator does with accounts and devices, at the machine and not over the network.
public struct SignInAdministration: Sendable {
    private let store: any SignInStore
    private let passwords: PasswordHasher
    private let clock: @Sendable () -> Date
    private let random: @Sendable (Int) -> Data

    /// - Throws: ``PasswordError`` if libsodium does not start.
    public init(
        store: any SignInStore, clock: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable (Int) -> Data = SignInConfiguration.systemRandom
    ) throws {
        self.store = store
        self.clock = clock
        self.random = random
        passwords = try PasswordHasher()
    }

    /// `name`: as its owner types it; kept as ``AccountName`` compares it.
    /// - Throws: ``AdministrationError``, ``PasswordError``, ``StoreError``.
    public func addAccount(_ name: String, password: String) async throws {
        let account = StoredAccount(
            name: try Self.normalized(name), userHandle: random(16), passwordHash: try await passwords.hash(password),
            createdAt: clock())
        do {
            try await store.addAccount(account)
        } catch StoreError.exists {
            throw AdministrationError.nameTaken
        }
    }

    /// Revokes every device of the account with it (NP-30).
    public func setPassword(_ password: String, of name: String) async throws {
        let hash = try await passwords.hash(password)
        guard try await store.setPassword(hash: hash, of: Self.normalized(name), at: clock()) else {
            throw AdministrationError.noAccount
        }
    }

    /// Names, and when they were added.
    public func accounts() async throws -> [(name: String, createdAt: Date)] {
        try await store.accounts().map { ($0.name, $0.createdAt) }
    }

    /// Removes an account with its devices and sessions; its key ids stay revoked.
    public func removeAccount(_ name: String) async throws {
        guard try await store.removeAccount(named: Self.normalized(name), at: clock()) else {
            throw AdministrationError.noAccount
        }
    }

    /// Every key of the account, revoked ones too.
    public func devices(of name: String) async throws -> [StoredKey] {
        guard let account = try await store.account(named: Self.normalized(name)) else {
            throw AdministrationError.noAccount
        }
        return try await store.keys(userHandle: account.userHandle)
    }

    /// The active device of the account whose key id begins so.
    public func revokeDevice(_ prefix: String, of name: String) async throws {
        let found = try await devices(of: name)
            .filter { $0.state == .active && $0.id.base64URL.hasPrefix(prefix) }
        guard let key = found.first, found.count == 1 else { throw AdministrationError.noSingleDevice(found.count) }
        _ = try await store.revoke(keyID: key.id, reason: .administrator, at: clock())
    }

    private static func normalized(_ name: String) throws -> String {
        guard let normal = AccountName.normalized(name) else { throw AdministrationError.name }
        return normal
    }
}

/// Why something was not done to an account.
public enum AdministrationError: Error, Sendable, Equatable {
    /// Empty, longer than 128 characters, or with control characters.
    case name
    case nameTaken
    case noAccount
    /// So many active devices begin like that.
    case noSingleDevice(Int)
}
