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

    private struct Entry {
        var owner: Owner
        /// nil: the app asks for itself.
        var client: AppIdentifier?
    }

    private let owners = Mutex<[String: Entry]>([:])

    package init() {}

    /// `client` is for whom a bridge made it (ND-1); nil: the app made it for itself.
    package func add(_ context: String, of app: AppIdentity, for client: AppIdentifier? = nil) {
        owners.withLock { $0[context] = Entry(owner: Owner(app), client: client) }
    }

    package func remove(_ context: String) {
        owners.withLock { $0[context] = nil }
    }

    package func contains(_ context: String) -> Bool { owners.withLock { $0[context] != nil } }

    package func isOwner(_ app: AppIdentity, of context: String) -> Bool {
        owners.withLock { $0[context]?.owner } == Owner(app)
    }

    /// For whom this process made that context (ND-1); nil: for itself, or it is not its own.
    package func client(of context: String?, of app: AppIdentity) -> AppIdentifier? {
        own(context, of: app).flatMap { own in owners.withLock { $0[own]?.client } }
    }

    /// The context, where it is this process's own; nil, to which nothing was ever proven, for any other.
    package func own(_ context: String?, of app: AppIdentity) -> String? {
        context.flatMap { isOwner(app, of: $0) ? $0 : nil }
    }
}
