internal import Synchronization

/// The lines that explained a test device's refused calls: each is printed once, however often a test has it happen.
package final class RefusalLines: Sendable {
    private let told = Mutex<[String]>([])
    /// Lines are made of our words alone, so that there are not many.
    private static let maximum = 1024

    package init() {}

    /// In the order in which they first came.
    package var lines: [String] { told.withLock { $0 } }

    /// Whether the line is new.
    ///
    /// It also remembers the line, so the same line is not new again.
    package func isNew(_ line: String) -> Bool {
        told.withLock { told in
            guard told.count < Self.maximum, !told.contains(line) else { return false }
            told.append(line)
            return true
        }
    }
}
