import GRDB

/// A connection to the database, with the statements that it keeps prepared.
final class StoreConnection: @unchecked Sendable {
    // Unchecked: `statements` is touched only in the queue's turn.
    let queue: DatabaseQueue
    private let statements = SearchStatements()

    init(_ queue: DatabaseQueue) { self.queue = queue }

    /// Looks at the database as it is from one statement to the next.
    func read<R>(_ body: (Turn) throws -> R) throws -> R {
        try queue.unsafeRead { try body(Turn(database: $0, statements: statements)) }
    }

    /// Runs `body` in one transaction.
    func write<R>(_ body: (Turn) throws -> R) throws -> R {
        try queue.write { try body(Turn(database: $0, statements: statements)) }
    }

    /// What may be done while nobody else uses the connection.
    struct Turn {
        let database: Database
        private let statements: SearchStatements

        fileprivate init(database: Database, statements: SearchStatements) {
            self.database = database
            self.statements = statements
        }

        /// The statement of a search: there are more of them than can be kept.
        func searchStatement(_ sql: String) throws -> Statement { try statements.statement(sql, in: database) }
    }
}
