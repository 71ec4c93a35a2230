internal import Synchronization
package import TouchstoneCore

/// Which process made which context.
///
/// What was proven to a context is of use to that process alone: another, though of the same app, may have overheard its name.
package final class ContextOwners: Sendable {
    private struct Owner: Hashable {
        var app: AppIdentifier
        var processID: Int32

        init(_ app: AppIdentity) {
            self.app = app.identifier
            processID = app.processID
        }
    }

    private let owners = Mutex<[String: Owner]>([:])

    package init() {}

    package func add(_ context: String, of app: AppIdentity) {
        owners.withLock { $0[context] = Owner(app) }
    }

    package func remove(_ context: String) {
        owners.withLock { $0[context] = nil }
    }

    package func contains(_ context: String) -> Bool { owners.withLock { $0[context] != nil } }

    package func isOwner(_ app: AppIdentity, of context: String) -> Bool {
        owners.withLock { $0[context] } == Owner(app)
    }

    /// The context, where it is this process's own; nil, to which nothing was ever proven, for any other.
    package func own(_ context: String?, of app: AppIdentity) -> String? {
        context.flatMap { isOwner(app, of: $0) ? $0 : nil }
    }
}
