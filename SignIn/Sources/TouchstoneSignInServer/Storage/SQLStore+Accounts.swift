public import Foundation

extension SQLStore {
    /// ``SignInStore``: `addAccount`, as it says there.
    public func addAccount(_ account: StoredAccount) async throws {
        _ = try await changes(
            "INSERT INTO accounts (name, user_handle, password_hash, created_at) VALUES ($1, $2, $3, $4)",
            [.text(account.name), .bytes(account.userHandle), .text(account.passwordHash), .time(account.createdAt)])
    }

    /// ``SignInStore``: `account`, as it says there.
    public func account(named name: String) async throws -> StoredAccount? {
        try await read("\(Self.accounts) WHERE name = $1", [.text(name)], StoredAccount.init).first
    }

    /// ``SignInStore``: `account`, as it says there.
    public func account(userHandle: Data) async throws -> StoredAccount? {
        try await read("\(Self.accounts) WHERE user_handle = $1", [.bytes(userHandle)], StoredAccount.init).first
    }

    /// ``SignInStore``: `accounts`, as it says there.
    public func accounts() async throws -> [StoredAccount] {
        try await read("\(Self.accounts) ORDER BY created_at, user_handle", [], StoredAccount.init)
    }

    /// ``SignInStore``: `setPassword`, as it says there.
    public func setPassword(hash: String, of name: String, at time: Date) async throws -> Bool {
        try await database.transaction { connection in
            guard
                let handle = try connection.rows(
                    "UPDATE accounts SET password_hash = $1 WHERE name = $2 RETURNING user_handle",
                    [.text(hash), .text(name)]
                ).first?.bytes(0)
            else { return false }
            // Who knew the old password may be about to register with it.
            try connection.rows("DELETE FROM password_sessions WHERE user_handle = $1", [.bytes(handle)])
            try Self.revokeAll(of: handle, reason: .passwordChanged, at: time, connection)
            return true
        }
    }

    /// ``SignInStore``: `removeAccount`, as it says there.
    public func removeAccount(named name: String, at time: Date) async throws -> Bool {
        try await database.transaction { connection in
            guard
                let handle = try connection.rows(
                    "DELETE FROM accounts WHERE name = $1 RETURNING user_handle", [.text(name)]
                ).first?.bytes(0)
            else { return false }
            try Self.revokeAll(of: handle, reason: .accountRemoved, at: time, connection)
            // The id stays; how the owner called the device goes.
            try connection.rows("UPDATE device_keys SET device_name = '' WHERE user_handle = $1", [.bytes(handle)])
            return true
        }
    }

    /// ``SignInStore``: `addPasswordSession`, as it says there.
    public func addPasswordSession(
        hash: Data, userHandle: Data, passwordHash: String, expiresAt: Date
    ) async throws {
        // A password's change waits until this session is there, and ends it; or this one waits and finds the new hash.
        let isAdded = try await changes(
            """
            INSERT INTO password_sessions (hash, user_handle, expires_at)
            SELECT $1, user_handle, $2 FROM accounts
            WHERE user_handle = $3 AND password_hash = $4\(forShare) RETURNING hash
            """, [.bytes(hash), .time(expiresAt), .bytes(userHandle), .text(passwordHash)])
        guard isAdded else { throw StoreError.notActive }
    }

    /// ``SignInStore``: `passwordSession`, as it says there.
    public func passwordSession(hash: Data, at time: Date) async throws -> Data? {
        try await read(
            "SELECT user_handle FROM password_sessions WHERE hash = $1 AND expires_at > $2",
            [.bytes(hash), .time(time)]
        ) { try $0.bytes(0) }.first
    }

    private static let accounts = "SELECT name, user_handle, password_hash, created_at FROM accounts"

    private static func revokeAll(
        of handle: Data, reason: RevocationReason, at time: Date, _ connection: any SQLConnection
    ) throws {
        try connection.rows(
            """
            UPDATE device_keys SET revoked_reason = $1, revoked_at = $2
            WHERE user_handle = $3 AND revoked_reason IS NULL
            """, [.text(reason.rawValue), .time(time), .bytes(handle)])
        try connection.rows("DELETE FROM sessions WHERE user_handle = $1", [.bytes(handle)])
    }
}

extension StoredAccount {
    init(_ row: SQLRow) throws {
        self.init(
            name: try row.text(0), userHandle: try row.bytes(1), passwordHash: try row.text(2),
            createdAt: try row.time(3))
    }
}
