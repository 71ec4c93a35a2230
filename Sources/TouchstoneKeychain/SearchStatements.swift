import GRDB

/// One connection's prepared statements of searches, those used last.
///
/// An app can ask by any set of attributes, and each set is another statement of some 12 KiB: kept for ever they would fill the memory.
///
/// > Concurrency: Used in the turn of its connection only.
final class SearchStatements {
    static let maximum = 64

    private struct Kept {
        var statement: Statement
        var lastUse: UInt64
    }

    private var byText: [String: Kept] = [:]
    private var uses: UInt64 = 0

    func statement(_ sql: String, in database: Database) throws -> Statement {
        uses += 1
        if let kept = byText[sql] {
            byText[sql]?.lastUse = uses
            return kept.statement
        }
        let statement = try database.makeStatement(sql: sql)
        if byText.count >= Self.maximum,
            let idle = byText.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
        {
            byText[idle] = nil
        }
        byText[sql] = Kept(statement: statement, lastUse: uses)
        return statement
    }
}
