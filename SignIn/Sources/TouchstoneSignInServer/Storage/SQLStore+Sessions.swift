public import Foundation

extension SQLStore {
    /// ``SignInStore``: `addSession`, as it says there.
    public func addSession(
        _ session: StoredSession, raisingCounterTo counter: UInt64, at time: Date
    ) async throws -> Bool {
        // The session is first, and locks the key: the counter is raised if, and only if, the session was added. A
        // revocation waits until this session is there, and ends it. Sent together: each sign-in waits for it.
        var insertion = Self.insertion(of: session, ifItsKey: "revoked_reason IS NULL AND counter < $7\(forUpdate)")
        insertion.values.append(.counter(counter))
        var raise = Self.raise(counterOf: session.keyID, to: counter, at: time, ifItsKey: " AND user_handle = $4")
        raise.values.append(.bytes(session.userHandle))
        return try await !perform([insertion, raise])[0].isEmpty
    }

    /// ``SignInStore``: `addPasskeySession`, as it says there.
    public func addPasskeySession(_ session: StoredSession, counter: UInt64, at time: Date) async throws -> Bool {
        let isNew = "(counter < $1 OR counter = $1 AND $1 = $5)"
        return try await database.transaction { connection in
            let raised = try connection.rows(
                """
                UPDATE device_keys SET counter = $1, last_used_at = $2
                WHERE id = $3 AND user_handle = $4 AND credential_id IS NOT NULL AND revoked_reason IS NULL AND \(isNew)
                RETURNING id
                """,
                [.counter(counter), .time(time), .bytes(session.keyID), .bytes(session.userHandle), .counter(0)])
            guard !raised.isEmpty else { return false }
            let insertion = Self.insertion(of: session, ifItsKey: "revoked_reason IS NULL")
            guard try !connection.rows(insertion.text, insertion.values).isEmpty else { throw StoreError.notActive }
            return true
        }
    }

    /// Adds nothing if the key is another account's, or not as `condition` says.
    static func insertion(of session: StoredSession, ifItsKey condition: String) -> SQLStatement {
        SQLStatement(
            text: """
                INSERT INTO sessions (id, key_id, user_handle, session_key, refresh_hash, expires_at)
                SELECT $1, id, user_handle, $2, $3, $4 FROM device_keys
                WHERE id = $5 AND user_handle = $6 AND \(condition) RETURNING id
                """,
            values: [
                .bytes(session.id), .optional(session.sessionKey), .bytes(session.refreshHash),
                .time(session.expiresAt),
                .bytes(session.keyID), .bytes(session.userHandle),
            ])
    }

    /// ``SignInStore``: `session`, as it says there.
    public func session(id: Data) async throws -> StoredSession? {
        try await read("SELECT \(Self.session) FROM sessions WHERE id = $1", [.bytes(id)], StoredSession.init).first
    }

    /// ``SignInStore``: `session`, as it says there.
    public func session(refreshHash: Data) async throws -> StoredSession? {
        try await read(
            "SELECT \(Self.session) FROM sessions WHERE refresh_hash = $1", [.bytes(refreshHash)], StoredSession.init
        ).first
    }

    /// ``SignInStore``: `rotateRefresh`, as it says there.
    public func rotateRefresh(hash: Data, to newHash: Data, expiresAt: Date, at time: Date) async throws
        -> RefreshOutcome
    {
        let forUpdate = forUpdate
        return try await database.transaction { connection in
            // Locked by the token that it has now: a second caller finds no such session, and then the token below.
            let current = try connection.rows(
                "SELECT \(Self.session) FROM sessions WHERE refresh_hash = $1 AND expires_at > $2\(forUpdate)",
                [.bytes(hash), .time(time)]
            ).first.map(StoredSession.init)
            if var session = current {
                try connection.rows(
                    "INSERT INTO replaced_refresh_tokens (hash, session_id, expires_at) VALUES ($1, $2, $3)",
                    [.bytes(hash), .bytes(session.id), .time(session.expiresAt)])
                try connection.rows(
                    "UPDATE sessions SET refresh_hash = $1, expires_at = $2 WHERE id = $3",
                    [.bytes(newHash), .time(expiresAt), .bytes(session.id)])
                session.refreshHash = newHash
                session.expiresAt = expiresAt
                return .rotated(session)
            }
            let reused = try connection.rows(
                """
                DELETE FROM sessions WHERE id = (SELECT session_id FROM replaced_refresh_tokens WHERE hash = $1)
                RETURNING id
                """, [.bytes(hash)])
            return reused.isEmpty ? .unknown : .reused
        }
    }

    /// ``SignInStore``: `endSession`, as it says there.
    public func endSession(id: Data) async throws {
        _ = try await changes("DELETE FROM sessions WHERE id = $1", [.bytes(id)])
    }

    private static let session = "id, key_id, user_handle, session_key, refresh_hash, expires_at"
}

extension StoredSession {
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.bytes(0), keyID: try row.bytes(1), userHandle: try row.bytes(2),
            sessionKey: try row.optional(3, row.text), refreshHash: try row.bytes(4), expiresAt: try row.time(5))
    }
}
