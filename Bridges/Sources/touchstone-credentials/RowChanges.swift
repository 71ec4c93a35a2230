import Synchronization

/// The changes of rows, one after another, so that a copy for a granted program is never of an older secret (BR-30).
///
/// > Concurrency: Callable from any thread. Nobody is asked inside, because others wait.
final class RowChanges: Sendable {
    /// How often each row was stored over or deleted since this program began.
    private let counts = Mutex<[String: Int]>([:])

    /// Changes a row.
    ///
    /// - Parameters:
    ///   - row: The account of the row that has the secret.
    ///   - body: Changes it.
    /// - Returns: Which change of the row it was.
    /// - Throws: What `body` throws. It counts as a change all the same.
    func make<Failure: Error>(of row: String, _ body: () throws(Failure) -> Void) throws(Failure) -> Int {
        try counts.withLock { counts throws(Failure) in
            counts[row, default: 0] += 1
            try body()
            return counts[row, default: 0]
        }
    }

    /// Does something if that change of the row is still the last one; 0 is for a row that was just added.
    ///
    /// - Parameters:
    ///   - change: What ``make(of:_:)`` returned.
    ///   - row: The account of the row that has the secret.
    ///   - body: What is done.
    /// - Throws: What `body` throws.
    func whileLast<Failure: Error>(
        _ change: Int, of row: String, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        try counts.withLock { counts throws(Failure) in
            if counts[row, default: 0] == change { try body() }
        }
    }
}
