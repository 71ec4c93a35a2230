public import Foundation
import TouchstoneSignInProtocol

extension SQLStore {
    /// ``SignInStore``: `register`, as it says there.
    public func register(_ key: StoredKey, passwordSession: Data) async throws {
        let forUpdate = forUpdate
        try await database.transaction { connection in
            try Self.lockAccount(key.userHandle, connection, forUpdate)
            try Self.check(
                connection.rows(
                    "SELECT user_handle FROM password_sessions WHERE hash = $1 AND user_handle = $2 AND expires_at > $3",
                    [.bytes(passwordSession), .bytes(key.userHandle), .time(key.registeredAt)]))
            let replaced = try connection.rows(
                """
                UPDATE device_keys SET revoked_reason = $1, revoked_at = $2
                WHERE user_handle = $3 AND device_id = $4 AND revoked_reason IS NULL RETURNING id
                """,
                [
                    .text(RevocationReason.replaced.rawValue), .time(key.registeredAt), .bytes(key.userHandle),
                    .bytes(key.deviceID),
                ])
            for row in replaced { try Self.endSessions(of: try row.bytes(0), connection) }
            try Self.insertIfThereIsRoom(key, connection)
        }
    }

    /// ``SignInStore``: `registerPasskey`, as it says there.
    public func registerPasskey(_ key: StoredKey, session: Data) async throws {
        let forUpdate = forUpdate
        try await database.transaction { connection in
            try Self.lockAccount(key.userHandle, connection, forUpdate)
            try Self.check(
                connection.rows(
                    "SELECT user_handle FROM sessions WHERE id = $1 AND user_handle = $2 AND expires_at > $3",
                    [.bytes(session), .bytes(key.userHandle), .time(key.registeredAt)]))
            try Self.insertIfThereIsRoom(key, connection)
        }
    }

    /// That there is a session which vouches.
    private static func check(_ sessions: [SQLRow]) throws {
        guard !sessions.isEmpty else { throw StoreError.notActive }
    }

    private static func insertIfThereIsRoom(_ key: StoredKey, _ connection: any SQLConnection) throws {
        let active = try connection.rows(
            "SELECT id FROM device_keys WHERE user_handle = $1 AND revoked_reason IS NULL", [.bytes(key.userHandle)])
        guard active.count < StoredKey.mostActive else { throw StoreError.full }
        try insert(key, connection)
    }

    /// ``SignInStore``: `key`, as it says there.
    public func key(id: Data) async throws -> StoredKey? {
        let reading = Self.reading(keyID: id)
        return try await read(reading.text, reading.values, StoredKey.init).first
    }

    /// ``SignInStore``: `key`, as it says there.
    public func key(credentialID: Data) async throws -> StoredKey? {
        try await read("\(Self.keys) WHERE credential_id = $1", [.bytes(credentialID)], StoredKey.init).first
    }

    static func reading(keyID: Data) -> SQLStatement {
        SQLStatement(text: "\(keys) WHERE id = $1", values: [.bytes(keyID)])
    }

    /// ``SignInStore``: `keys`, as it says there.
    public func keys(userHandle: Data) async throws -> [StoredKey] {
        try await read(
            """
            \(Self.keys) WHERE user_handle = $1 AND (revoked_reason IS NULL OR id IN (
                SELECT id FROM device_keys WHERE user_handle = $1 AND revoked_reason IS NOT NULL
                ORDER BY revoked_at DESC, id LIMIT $2))
            ORDER BY registered_at, id
            """, [.bytes(userHandle), .integer(Int64(StoredKey.mostRevoked))], StoredKey.init)
    }

    /// ``SignInStore``: `raiseCounter`, as it says there.
    public func raiseCounter(of keyID: Data, to counter: UInt64, at time: Date) async throws -> Bool {
        let raise = Self.raise(counterOf: keyID, to: counter, at: time)
        return try await changes(raise.text, raise.values)
    }

    static func raise(
        counterOf keyID: Data, to counter: UInt64, at time: Date, ifItsKey condition: String = ""
    ) -> SQLStatement {
        SQLStatement(
            text: """
                UPDATE device_keys SET counter = $1, last_used_at = $2
                WHERE id = $3 AND counter < $1 AND revoked_reason IS NULL\(condition) RETURNING id
                """, values: [.counter(counter), .time(time), .bytes(keyID)])
    }

    /// ``SignInStore``: `revoke`, as it says there.
    public func revoke(keyID: Data, reason: RevocationReason, at time: Date) async throws -> Bool {
        try await database.transaction { connection in
            let revoked = try connection.rows(
                """
                UPDATE device_keys SET revoked_reason = $1, revoked_at = $2
                WHERE id = $3 AND revoked_reason IS NULL RETURNING id
                """, [.text(reason.rawValue), .time(time), .bytes(keyID)])
            guard !revoked.isEmpty else { return false }
            try Self.endSessions(of: keyID, connection)
            return true
        }
    }

    /// ``SignInStore``: `rotate`, as it says there.
    public func rotate(from oldKeyID: Data, to key: StoredKey, at time: Date) async throws -> Bool {
        let forUpdate = forUpdate
        return try await database.transaction { connection in
            let account = try connection.rows(
                "SELECT user_handle FROM accounts WHERE user_handle = $1\(forUpdate)", [.bytes(key.userHandle)])
            guard !account.isEmpty else { return false }
            let revoked = try connection.rows(
                """
                UPDATE device_keys SET revoked_reason = $1, revoked_at = $2
                WHERE id = $3 AND user_handle = $4 AND device_id = $5 AND revoked_reason IS NULL RETURNING id
                """,
                [
                    .text(RevocationReason.rotated.rawValue), .time(time), .bytes(oldKeyID), .bytes(key.userHandle),
                    .bytes(key.deviceID),
                ])
            guard !revoked.isEmpty else { return false }
            try Self.endSessions(of: oldKeyID, connection)
            try Self.insert(key, connection)
            return true
        }
    }

    /// ``SignInStore``: `revokeUnused`, as it says there.
    public func revokeUnused(since time: Date, at now: Date) async throws -> Int {
        try await database.transaction { connection in
            let revoked = try connection.rows(
                """
                UPDATE device_keys SET revoked_reason = $1, revoked_at = $2
                WHERE revoked_reason IS NULL AND COALESCE(last_used_at, registered_at) < $3 RETURNING id
                """, [.text(RevocationReason.unused.rawValue), .time(now), .time(time)])
            for row in revoked { try Self.endSessions(of: try row.bytes(0), connection) }
            return revoked.count
        }
    }

    private static let keys = """
        SELECT id, public_key, user_handle, device_id, device_name, counter, registered_at, last_used_at, revoked_reason,
            revoked_at, attestation, credential_id
        FROM device_keys
        """

    /// What changes an account's keys as a whole waits: a password's change finds every key that was there before it.
    private static func lockAccount(_ handle: Data, _ connection: any SQLConnection, _ forUpdate: String) throws {
        let account = try connection.rows(
            "SELECT user_handle FROM accounts WHERE user_handle = $1\(forUpdate)", [.bytes(handle)])
        guard !account.isEmpty else { throw StoreError.notActive }
    }

    private static func endSessions(of keyID: Data, _ connection: any SQLConnection) throws {
        try connection.rows("DELETE FROM sessions WHERE key_id = $1", [.bytes(keyID)])
    }

    private static func insert(_ key: StoredKey, _ connection: any SQLConnection) throws {
        var revoked: (reason: RevocationReason, at: Date)?
        if case .revoked(let reason, let time) = key.state { revoked = (reason, time) }
        try connection.rows(
            """
            INSERT INTO device_keys (id, public_key, user_handle, device_id, device_name, counter, registered_at,
                last_used_at, revoked_reason, revoked_at, attestation, credential_id)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            """,
            [
                .bytes(key.id), .bytes(key.publicKey), .bytes(key.userHandle), .bytes(key.deviceID),
                .text(key.deviceName),
                .counter(key.counter), .time(key.registeredAt), .optional(key.lastUsedAt),
                .optional(revoked?.reason.rawValue), .optional(revoked?.at), .optional(key.attestation),
                .optional(key.credentialID),
            ])
    }
}

extension StoredKey {
    init(_ row: SQLRow) throws {
        let reason = try row.optional(8) { try row.word($0, as: RevocationReason.self) }
        self.init(
            id: try row.bytes(0), publicKey: try row.bytes(1), userHandle: try row.bytes(2), deviceID: try row.bytes(3),
            deviceName: try row.text(4), counter: try row.counter(5), registeredAt: try row.time(6),
            lastUsedAt: try row.optional(7, row.time),
            state: try reason.map { .revoked($0, try row.time(9)) } ?? .active,
            attestation: try row.optional(10, row.text), credentialID: try row.optional(11, row.bytes))
    }
}
