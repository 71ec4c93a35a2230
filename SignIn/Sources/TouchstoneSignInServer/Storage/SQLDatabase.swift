/// What differs between the databases for `SQLStore`, which has every statement once.
///
/// Statements are in the SQL that SQLite and PostgreSQL share (`RETURNING`, `ON CONFLICT`), with `$1`, `$2` … for values.
protocol SQLDatabase: Sendable {
    var dialect: SQLDialect { get }

    /// The rows of each, in one transaction of their own, as ``SQLConnection/rows(_:)`` says.
    ///
    /// - Throws: ``StoreError``; then nothing was changed, or it is not known (`unavailable`).
    func rows(_ work: SQLWork, _ statements: [SQLStatement]) async throws -> [[SQLRow]]

    /// For statements that depend on the answers of those before them.
    ///
    /// - Throws: ``StoreError``, or what `body` throws; then nothing was changed.
    func transaction<Answer: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Answer
    ) async throws -> Answer

    func close() async throws
}

/// What statements do; by this a lost connection is judged.
enum SQLWork: Sendable {
    /// They change nothing, and may be asked once more.
    case read
    case statement
}

protocol SQLConnection {
    /// - Throws: ``StoreError``: `exists` if a row breaks a unique index, `notActive` if what it belongs to is not there.
    @discardableResult
    func rows(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]

    /// The rows of each, in one transaction: that of the caller, or one of their own.
    ///
    /// PostgreSQL has all of them at once. So none can depend on another's answer, but each sees what those before it did.
    ///
    /// - Throws: as the first that fails; then none of them changed anything.
    func rows(_ statements: [SQLStatement]) throws -> [[SQLRow]]
}

/// A text with `$1`, `$2` … and their values.
struct SQLStatement: Sendable {
    var text: String
    var values: [SQLValue]
}

/// The words that differ.
struct SQLDialect: Sendable {
    var bytes: String
    /// Of 64 bits.
    var integer: String
    /// Before `TABLE`, where a crash of the database may empty the table: challenges and counts, which live for a minute.
    var volatile: String
    /// After the closing parenthesis of a table.
    var tableOptions: String
    /// After a `SELECT`: nobody else changes these rows until the transaction ends.
    var forUpdate: String
    var forShare: String
    /// `WITH` may have statements that change something, and what they return.
    var changesInWith: Bool

    /// One writer at a time, so that no row needs a lock.
    ///
    /// STRICT: a column has the type that it names.
    static let sqlite = Self(
        bytes: "BLOB", integer: "INTEGER", volatile: "", tableOptions: " STRICT", forUpdate: "", forShare: "",
        changesInWith: false)
    /// UNLOGGED: no wait for the disk.
    ///
    /// A crash empties such a table, so that nothing that was taken comes back.
    static let postgreSQL = Self(
        bytes: "BYTEA", integer: "BIGINT", volatile: "UNLOGGED ", tableOptions: "", forUpdate: " FOR UPDATE",
        forShare: " FOR SHARE", changesInWith: true)
}
