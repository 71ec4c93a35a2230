public import Foundation

extension SQLStore {
    /// ``SignInStore``: `count`, as it says there.
    public func count(bucket: Data, window: TimeInterval, at time: Date) async throws -> Int {
        var counting = CountedUses(at: time, database.dialect)
        counting.add(StoredUse(bucket: bucket, window: window, most: .max))
        let answers = counting.answers(in: try await perform(counting.statements))
        return try answers.first.flatMap(CountedUses.number(in:)) ?? 1
    }

    /// ``SignInStore``: `useOnce`, as it says there.
    public func useOnce(hash: Data, until expiry: Date) async throws -> Bool {
        try await changes(
            "INSERT INTO used_proofs (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING expires_at",
            [.bytes(hash), .time(expiry)])
    }

    /// ``SignInStore``: `tokenKeys`, as it says there.
    public func tokenKeys() async throws -> [StoredTokenKey] {
        try await read(
            "SELECT id, sealed, created_at, retires_at, expires_at FROM token_keys ORDER BY number DESC", [],
            StoredTokenKey.init)
    }

    /// ``SignInStore``: `addTokenKey`, as it says there.
    public func addTokenKey(_ key: StoredTokenKey, after newest: String?) async throws -> Bool {
        // Two at once have the same number: one of them stays.
        try await changes(
            """
            INSERT INTO token_keys (id, number, sealed, created_at, retires_at, expires_at)
            SELECT $1, COALESCE((SELECT MAX(number) FROM token_keys), 0) + 1, $2, $3, $4, $5
            WHERE COALESCE((SELECT id FROM token_keys ORDER BY number DESC LIMIT 1), '') = $6
            ON CONFLICT DO NOTHING RETURNING id
            """,
            [
                .text(key.id), .bytes(key.sealed), .time(key.createdAt), .time(key.retiresAt), .time(key.expiresAt),
                .text(newest ?? ""),
            ])
    }

    /// ``SignInStore``: `removeTokenKeys`, as it says there.
    public func removeTokenKeys(expiredAt time: Date) async throws {
        _ = try await changes("DELETE FROM token_keys WHERE expires_at <= $1", [.time(time)])
    }
}

extension StoredTokenKey {
    init(_ row: SQLRow) throws {
        self.init(
            id: try row.text(0), sealed: try row.bytes(1), createdAt: try row.time(2), retiresAt: try row.time(3),
            expiresAt: try row.time(4))
    }
}
