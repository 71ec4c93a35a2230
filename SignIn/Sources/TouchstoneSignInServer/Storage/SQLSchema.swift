/// The tables of both databases, as the steps that make them.
///
/// A released step never changes; a later change is the next step.
enum SQLSchema {
    /// Of this program.
    ///
    /// It opens every older one, and refuses newer ones.
    static let version: Int64 = 5

    /// - Returns: The statements that make version `number` of the one before it; 1 begins with nothing.
    static func step(_ number: Int64, _ dialect: SQLDialect) -> [String] {
        switch number {
        case 1: first(dialect)
        case 2: replacedRefreshTokens(dialect)
        case 3: ["ALTER TABLE device_keys ADD COLUMN attestation TEXT"]
        // Confirmed transactions stay, and a sweep does not look at each of them.
        case 4:
            [
                "DROP INDEX expiry_of_transactions",
                "CREATE INDEX expiry_of_transactions ON transactions (expires_at) WHERE confirmed_by IS NULL",
            ]
        // A passkey is a key of the account's that its authenticator calls by this name.
        case 5:
            [
                "ALTER TABLE device_keys ADD COLUMN credential_id \(dialect.bytes)",
                """
                CREATE UNIQUE INDEX key_of_credential ON device_keys (credential_id) WHERE credential_id IS NOT NULL
                """,
            ]
        default: []
        }
    }

    /// Brings the database to this program's version.
    ///
    /// The caller holds a transaction that no other process has at once.
    ///
    /// `isEmpty`: No table of ours is there.
    /// Throws `StoreError.schema` if the database is newer than this program.
    static func migrate(_ connection: any SQLConnection, _ dialect: SQLDialect, isEmpty: Bool) throws {
        if isEmpty {
            try connection.rows(
                "CREATE TABLE touchstone_signin (version \(dialect.integer) NOT NULL)\(dialect.tableOptions)", [])
            try connection.rows("INSERT INTO touchstone_signin (version) VALUES ($1)", [.integer(0)])
        }
        guard let found = try connection.rows("SELECT version FROM touchstone_signin", []).first?.integer(0) else {
            throw StoreError.schema("the table touchstone_signin is empty: this is no database of touchstone-signin")
        }
        guard found <= version else {
            throw StoreError.schema(
                "the database has schema \(found), this program knows \(version): start the newer touchstone-signin; "
                    + "nothing was changed")
        }
        guard found < version else { return }
        for number in (found + 1)...version {
            for statement in step(number, dialect) { try connection.rows(statement, []) }
        }
        try connection.rows("UPDATE touchstone_signin SET version = $1", [.integer(version)])
    }

    private static func first(_ dialect: SQLDialect) -> [String] {
        let (bytes, integer) = (dialect.bytes, dialect.integer)
        let end = ")" + dialect.tableOptions
        return [
            """
            CREATE TABLE accounts (
                name TEXT PRIMARY KEY, user_handle \(bytes) NOT NULL UNIQUE, password_hash TEXT NOT NULL,
                created_at \(integer) NOT NULL
            \(end)
            """,
            """
            CREATE TABLE password_sessions (
                hash \(bytes) PRIMARY KEY,
                user_handle \(bytes) NOT NULL REFERENCES accounts (user_handle) ON DELETE CASCADE,
                expires_at \(integer) NOT NULL
            \(end)
            """,
            // No key has to be there: key ids that nobody has get challenges too (NP-41).
            """
            CREATE \(dialect.volatile)TABLE challenges (
                hash \(bytes) PRIMARY KEY, purpose TEXT NOT NULL, key_id \(bytes), binding \(bytes),
                expires_at \(integer) NOT NULL
            \(end)
            """,
            // Outlives its account, revoked (NP-30).
            """
            CREATE TABLE device_keys (
                id \(bytes) PRIMARY KEY, public_key \(bytes) NOT NULL, user_handle \(bytes) NOT NULL,
                device_id \(bytes) NOT NULL, device_name TEXT NOT NULL, counter \(bytes) NOT NULL,
                registered_at \(integer) NOT NULL, last_used_at \(integer), revoked_reason TEXT, revoked_at \(integer)
            \(end)
            """,
            // One key per device and account (NP-22).
            """
            CREATE UNIQUE INDEX active_key_of_device ON device_keys (user_handle, device_id)
            WHERE revoked_reason IS NULL
            """,
            "CREATE INDEX keys_of_account ON device_keys (user_handle)",
            """
            CREATE TABLE sessions (
                id \(bytes) PRIMARY KEY, key_id \(bytes) NOT NULL REFERENCES device_keys (id),
                user_handle \(bytes) NOT NULL, session_key TEXT, refresh_hash \(bytes) NOT NULL UNIQUE,
                expires_at \(integer) NOT NULL
            \(end)
            """,
            "CREATE INDEX sessions_of_key ON sessions (key_id)",
            """
            CREATE TABLE transactions (
                id TEXT PRIMARY KEY,
                user_handle \(bytes) NOT NULL REFERENCES accounts (user_handle) ON DELETE CASCADE,
                content TEXT NOT NULL, expires_at \(integer) NOT NULL, confirmed_by \(bytes), confirmed_at \(integer)
            \(end)
            """,
            """
            CREATE TABLE web_requests (
                id TEXT PRIMARY KEY, code TEXT NOT NULL, browser_hash \(bytes) NOT NULL UNIQUE,
                expires_at \(integer) NOT NULL, state TEXT NOT NULL, key_id \(bytes), settled_at \(integer),
                collected_at \(integer)
            \(end)
            """,
            """
            CREATE \(dialect.volatile)TABLE counts (
                bucket \(bytes) PRIMARY KEY, window_start \(integer) NOT NULL, uses \(integer) NOT NULL,
                expires_at \(integer) NOT NULL
            \(end)
            """,
            "CREATE TABLE used_proofs (hash \(bytes) PRIMARY KEY, expires_at \(integer) NOT NULL\(end)",
            """
            CREATE TABLE token_keys (
                id TEXT PRIMARY KEY, number \(integer) NOT NULL UNIQUE, sealed \(bytes) NOT NULL,
                created_at \(integer) NOT NULL, retires_at \(integer) NOT NULL, expires_at \(integer) NOT NULL
            \(end)
            """,
        ]
            + swept([
                "password_sessions", "challenges", "sessions", "transactions", "web_requests", "counts", "used_proofs",
            ])
    }

    /// A refresh token that comes twice was copied: for this the ones that were replaced are remembered until they would
    /// have expired.
    private static func replacedRefreshTokens(_ dialect: SQLDialect) -> [String] {
        let (bytes, integer) = (dialect.bytes, dialect.integer)
        return [
            """
            CREATE TABLE replaced_refresh_tokens (
                hash \(bytes) PRIMARY KEY,
                session_id \(bytes) NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                expires_at \(integer) NOT NULL
            )\(dialect.tableOptions)
            """,
            "CREATE INDEX replaced_tokens_of_session ON replaced_refresh_tokens (session_id)",
        ] + swept(["replaced_refresh_tokens"])
    }

    private static func swept(_ tables: [String]) -> [String] {
        tables.map { "CREATE INDEX expiry_of_\($0) ON \($0) (expires_at)" }
    }
}
