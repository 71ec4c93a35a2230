import Foundation
import Synchronization

/// Writes what the enclave wrapped anew because the passcode was changed since: some time later, so that nobody who reads waits for it.
///
/// What is not written, since the process ended, the disk is full or too much waits, comes again with the next use of the row.
final class Rewrapping: Sendable {
    /// A row's keys under the current class key.
    struct Row: Sendable {
        var rowID: Int64
        /// Of the row that was read: one that was written since is under the current class key by itself.
        var version: Data
        var wrappedKey: Data
        var metadata: Data
    }

    private let store: KeychainStore
    private let queue = DispatchQueue(label: "io.touchstone.keychain.rewrapping")
    private let waiting = Mutex<[Row]>([])

    private static let maximumWaiting = 4096
    /// Of one transaction, for which other writes wait.
    private static let batch = 64

    init(_ store: KeychainStore) { self.store = store }

    func add(_ rows: [Row]) {
        guard !rows.isEmpty else { return }
        let isFirst = waiting.withLock { waiting in
            defer { waiting += rows.prefix(Self.maximumWaiting - waiting.count) }
            return waiting.isEmpty
        }
        if isFirst { queue.async { [self] in write() } }
    }

    /// Returns once what was added is written, or was given up.
    func settle() { queue.sync {} }

    private func write() {
        while true {
            let rows = waiting.withLock { waiting in
                defer { waiting.removeFirst(min(Self.batch, waiting.count)) }
                return Array(waiting.prefix(Self.batch))
            }
            guard !rows.isEmpty else { return }
            try? store.write { writer in for row in rows { try writer.rewrap(row) } }
        }
    }
}
