public import Foundation
import TouchstoneSignInProtocol

extension SQLStore {
    /// ``SignInStore``: `addChallenge`, as it says there.
    public func addChallenge(_ challenge: StoredChallenge) async throws {
        _ = try await changes(
            "INSERT INTO challenges (hash, purpose, key_id, binding, expires_at) VALUES ($1, $2, $3, $4, $5)",
            [
                .bytes(challenge.hash), .text(challenge.purpose.rawValue), .optional(challenge.keyID),
                .optional(challenge.binding), .time(challenge.expiresAt),
            ])
    }

    /// ``SignInStore``: `addChallenge`, as it says there.
    public func addChallenge(
        _ challenge: StoredChallenge, counting uses: [StoredUse], ofAccount accountUses: [StoredUse], at time: Date
    ) async throws -> ChallengeOutcome {
        let bytes = database.dialect.bytes
        let addition = CountedUses.Next(
            name: "challenge",
            values: [
                .bytes(challenge.hash), .text(challenge.purpose.rawValue), .optional(challenge.keyID),
                .optional(challenge.binding), .time(challenge.expiresAt),
            ]
        ) { condition, values in
            """
            INSERT INTO challenges (hash, purpose, key_id, binding, expires_at)
            SELECT \(values[0]), \(values[1]), CAST(\(values[2]) AS \(bytes)), CAST(\(values[3]) AS \(bytes)), \(values[4])
            WHERE \(condition) AND NOT EXISTS (
                SELECT 1 FROM device_keys WHERE id = \(values[2]) AND revoked_reason IS NOT NULL)
            RETURNING hash
            """
        }
        var counting = CountedUses(at: time, database.dialect, then: addition)
        for use in uses { counting.add(use) }
        for use in accountUses { counting.add(use, ofAccountOf: challenge.keyID ?? Data()) }
        let answers = counting.answers(in: try await perform(counting.statements))
        if let limit = try counting.limit(in: answers) { return .limited(limit) }
        return answers.last?.isEmpty == false ? .added : .keyRevoked
    }

    /// ``SignInStore``: `takeChallenge`, as it says there.
    public func takeChallenge(
        hash: Data?, keyID: Data?, counting uses: [StoredUse], at time: Date
    ) async throws -> TakeOutcome {
        let taking = hash.map { hash in
            CountedUses.Next(name: "taking", values: [.bytes(hash)]) { condition, values in
                """
                DELETE FROM challenges WHERE hash = \(values[0]) AND \(condition)
                RETURNING hash, purpose, key_id, binding, expires_at
                """
            }
        }
        var counting = CountedUses(at: time, database.dialect, then: taking)
        for use in uses { counting.add(use) }
        let statements = counting.statements
        let reading = keyID.map { [Self.reading(keyID: $0)] } ?? []
        guard !(statements + reading).isEmpty else { return .taken(nil, nil) }
        let rows = try await perform(statements + reading)
        let answers = counting.answers(in: rows.prefix(statements.count))
        if let limit = try counting.limit(in: answers) { return .limited(limit) }
        return .taken(
            try hash.flatMap { _ in try answers.last?.first.map(StoredChallenge.init) },
            try keyID.flatMap { _ in try rows.last?.first.map(StoredKey.init) })
    }

    /// ``SignInStore``: `addTransaction`, as it says there.
    public func addTransaction(_ transaction: StoredTransaction) async throws {
        _ = try await changes(
            "INSERT INTO transactions (id, user_handle, content, expires_at, confirmed_by) VALUES ($1, $2, $3, $4, $5)",
            [
                .text(transaction.id), .bytes(transaction.userHandle), .text(transaction.text),
                .time(transaction.expiresAt),
                .optional(transaction.confirmedBy),
            ])
    }

    /// ``SignInStore``: `transaction`, as it says there.
    public func transaction(id: String) async throws -> StoredTransaction? {
        try await read(
            "SELECT id, user_handle, content, expires_at, confirmed_by FROM transactions WHERE id = $1", [.text(id)],
            StoredTransaction.init
        ).first
    }

    /// ``SignInStore``: `confirmTransaction`, as it says there.
    public func confirmTransaction(id: String, keyID: Data, at time: Date) async throws -> Bool {
        let forShare = forShare
        return try await database.transaction { connection in
            guard
                let handle = try connection.rows(
                    "SELECT user_handle FROM device_keys WHERE id = $1 AND revoked_reason IS NULL\(forShare)",
                    [.bytes(keyID)]
                ).first?.bytes(0)
            else { return false }
            return try !connection.rows(
                """
                UPDATE transactions SET confirmed_by = $1, confirmed_at = $2
                WHERE id = $3 AND user_handle = $4 AND confirmed_by IS NULL AND expires_at > $2 RETURNING id
                """, [.bytes(keyID), .time(time), .text(id), .bytes(handle)]
            ).isEmpty
        }
    }

    /// ``SignInStore``: `addWebRequest`, as it says there.
    public func addWebRequest(_ request: StoredWebRequest) async throws {
        _ = try await changes(
            "INSERT INTO web_requests (id, code, browser_hash, expires_at, state, key_id) VALUES ($1, $2, $3, $4, $5, $6)",
            [
                .text(request.id), .text(request.code), .bytes(request.browserHash), .time(request.expiresAt),
                .text(request.state.rawValue), .optional(request.keyID),
            ])
    }

    /// ``SignInStore``: `webRequest`, as it says there.
    public func webRequest(id: String) async throws -> StoredWebRequest? {
        try await read("\(Self.webRequests) WHERE id = $1", [.text(id)], StoredWebRequest.init).first
    }

    /// ``SignInStore``: `webRequest`, as it says there.
    public func webRequest(browserHash: Data) async throws -> StoredWebRequest? {
        try await read("\(Self.webRequests) WHERE browser_hash = $1", [.bytes(browserHash)], StoredWebRequest.init)
            .first
    }

    /// ``SignInStore``: `settleWebRequest`, as it says there.
    public func settleWebRequest(id: String, as state: StoredWebRequest.State, keyID: Data?, at time: Date) async throws
        -> Bool
    {
        try await changes(
            """
            UPDATE web_requests SET state = $1, key_id = $2, settled_at = $3
            WHERE id = $4 AND state = 'pending' AND expires_at > $3 RETURNING id
            """, [.text(state.rawValue), .optional(keyID), .time(time), .text(id)])
    }

    /// ``SignInStore``: `collectWebRequest`, as it says there.
    public func collectWebRequest(id: String, session: StoredSession, at time: Date) async throws -> Bool {
        let forShare = forShare
        return try await database.transaction { connection in
            let key = try connection.rows(
                "SELECT id FROM device_keys WHERE id = $1 AND revoked_reason IS NULL\(forShare)",
                [.bytes(session.keyID)])
            guard !key.isEmpty else { throw StoreError.notActive }
            let collected = try connection.rows(
                """
                UPDATE web_requests SET state = 'collected', collected_at = $1
                WHERE id = $2 AND state = 'approved' AND key_id = $3 RETURNING id
                """, [.time(time), .text(id), .bytes(session.keyID)])
            guard !collected.isEmpty else { return false }
            let insertion = Self.insertion(of: session, ifItsKey: "revoked_reason IS NULL\(forShare)")
            guard try !connection.rows(insertion.text, insertion.values).isEmpty else { throw StoreError.notActive }
            return true
        }
    }

    private static let webRequests = "SELECT id, code, browser_hash, expires_at, state, key_id FROM web_requests"
}

extension StoredChallenge {
    init(_ row: SQLRow) throws {
        self.init(
            hash: try row.bytes(0), purpose: try row.word(1, as: Purpose.self), keyID: try row.optional(2, row.bytes),
            binding: try row.optional(3, row.bytes), expiresAt: try row.time(4))
    }
}

extension StoredTransaction {
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.text(0), userHandle: try row.bytes(1), text: try row.text(2), expiresAt: try row.time(3),
            confirmedBy: try row.optional(4, row.bytes))
    }
}

extension StoredWebRequest {
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.text(0), code: try row.text(1), browserHash: try row.bytes(2), expiresAt: try row.time(3),
            state: try row.word(4, as: State.self), keyID: try row.optional(5, row.bytes))
    }
}
