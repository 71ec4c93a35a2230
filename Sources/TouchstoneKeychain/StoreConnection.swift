import GRDB

/// A connection to the database, with the statements that it keeps prepared.
final class StoreConnection: @unchecked Sendable {
    // Unchecked: statements are touched only in the queue's turn.
    let queue: DatabaseQueue
    private let statements = SearchStatements()
    private let fixed = StoreStatements()

    init(_ queue: DatabaseQueue) { self.queue = queue }

    /// Looks at the database as it is from one statement to the next.
    func read<R>(_ body: (Turn) throws -> R) throws -> R {
        try queue.unsafeRead { try body(Turn(database: $0, statements: statements, fixed: fixed)) }
    }

    /// Runs `body` in one transaction, then `ended` in the same turn: nobody else writes between.
    ///
    /// `ended` is told whether all of it is on the disk.
    func write<R>(_ body: (Turn) throws -> R, ended: (Turn, Bool) -> Void) throws -> R {
        try inTurn { turn in
            let result: R
            do {
                var made: R?
                try turn.database.inTransaction {
                    made = try body(turn)
                    return .commit
                }
                guard let made else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
                result = made
            } catch {
                ended(turn, false)
                throw error
            }
            ended(turn, true)
            return result
        }
    }

    /// Runs `body` while nobody writes.
    func inTurn<R>(_ body: (Turn) throws -> R) throws -> R {
        try queue.writeWithoutTransaction { try body(Turn(database: $0, statements: statements, fixed: fixed)) }
    }

    /// Runs `body`, which begins its own transaction, once the log has moved into the database and its room is free again.
    ///
    /// A deletion then does not overwrite what it deletes: to write as much as is deleted is what there is no room for.
    func withEmptyLog<R>(isDeletion: Bool, _ body: () throws -> R) throws -> R {
        func execute(_ sql: String) throws { try queue.writeWithoutTransaction { try $0.execute(sql: sql) } }
        // Whoever reads keeps it from being empty, and then there may be room all the same.
        _ = try? queue.writeWithoutTransaction { try $0.checkpoint(.restart) }
        guard isDeletion else { return try body() }
        try execute("PRAGMA secure_delete = FAST")
        defer {
            try? execute("PRAGMA secure_delete = ON")
            _ = try? queue.writeWithoutTransaction { try $0.checkpoint(.restart) }
        }
        return try body()
    }

    /// What may be done while nobody else uses the connection.
    struct Turn {
        let database: Database
        private let statements: SearchStatements
        private let fixed: StoreStatements

        fileprivate init(database: Database, statements: SearchStatements, fixed: StoreStatements) {
            self.database = database
            self.statements = statements
            self.fixed = fixed
        }

        /// A statement that every call uses.
        func statement(_ name: StoreStatements.Name) throws -> StoreStatement {
            try fixed.statement(name, in: database)
        }

        /// The statement of a search: there are more of them than can be kept.
        func searchStatement(_ shape: SearchShape) throws -> StoreStatement {
            try statements.statement(shape, in: database)
        }
    }
}
