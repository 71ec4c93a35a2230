import Crypto
import Foundation
import Synchronization
import TouchstoneCore

/// The rows that requests for one secret found, for as long as nobody writes to the database.
///
/// The same request of the same app is then answered without a search. Nothing here is readable: a request is kept as its digest and a row as
/// its ciphertext. The key is with `OpenedKeys`, and without it nothing is answered.
final class RememberedReads: Sendable {
    /// Past that, the oldest goes.
    static let maximum = 1024
    /// Largest request that is remembered, in bytes.
    static let requestBytes = 4 << 10
    /// Largest secret, as ciphertext, in bytes.
    static let secretBytes = 4 << 10

    /// A row, and what the request wanted of it.
    struct Read: Sendable {
        /// Without metadata and tags; of its attributes it has the access group alone.
        let item: OpenItem
        /// nil if the request does not want it.
        let persistentReference: Data?
    }

    /// The state of the database before a row was searched.
    struct Moment { fileprivate var version: Int64 }

    private struct Entry {
        var read: Read
        var identifier: AppIdentifier
        var groups: [AccessGroup]

        func isOf(_ app: AppIdentity) -> Bool { identifier == app.identifier && groups == app.accessGroups }
    }

    private struct State {
        /// Of the database that all entries are from.
        var version: Int64?
        var entries: [SHA256Digest: Entry] = [:]
        /// The requests that were remembered, in the order of a ring.
        var order: [SHA256Digest] = []
        var oldest = 0

        /// Forgets all that is of another version.
        mutating func move(to current: Int64) {
            guard version != current else { return }
            version = current
            entries.removeAll(keepingCapacity: true)
            order.removeAll(keepingCapacity: true)
            oldest = 0
        }
    }

    /// nil: of a database in memory nothing is remembered.
    private let version: DatabaseVersion?
    private let state = Mutex(State())

    init(_ version: DatabaseVersion?) { self.version = version }

    var count: Int { state.withLock { $0.entries.count } }

    /// To be taken before the row is searched; nil if nothing can be remembered.
    var moment: Moment? { version?.current.map(Moment.init) }

    /// Remembers what a request found.
    func remember(_ read: Read, of request: Data, for app: AppIdentity, since moment: Moment) {
        guard request.count <= Self.requestBytes, let secret = read.item.row.secret, secret.count <= Self.secretBytes
        else { return }
        let digest = SHA256.hash(data: request)
        state.withLock { state in
            // An older look must not take away what a newer one found.
            guard state.version.map({ $0 <= moment.version }) ?? true else { return }
            state.move(to: moment.version)
            let entry = Entry(read: read, identifier: app.identifier, groups: app.accessGroups)
            guard state.entries.updateValue(entry, forKey: digest) == nil else { return }
            if state.order.count < Self.maximum { return state.order.append(digest) }
            state.entries[state.order[state.oldest]] = nil
            state.order[state.oldest] = digest
            state.oldest = (state.oldest + 1) % Self.maximum
        }
    }

    /// What the same request found, if nobody wrote since.
    func recall(_ request: Data, for app: AppIdentity) -> Read? {
        guard request.count <= Self.requestBytes, let version else { return nil }
        let digest = SHA256.hash(data: request)
        return state.withLock { state in
            guard state.version != nil, let current = version.current else { return nil }
            state.move(to: current)
            guard let entry = state.entries[digest], entry.isOf(app) else { return nil }
            return entry.read
        }
    }
}

extension RememberedReads.Read {
    /// nil for a search whose answer needs more than the secret of a row without an access control.
    init?(_ match: Match, of query: KeychainQuery) {
        let item = match.item
        guard query.returnsData, !query.returnsAttributes, !query.returnsReference, match.certificate == nil,
            !item.isGiven, !item.control.isConstrained, !EnclaveKeyAttributes.isKey(item.attributes)
        else { return nil }
        var row = item.row
        row.metadata = Data()
        row.identityTag = Data()
        let group = AttributeValue.string(item.attributes.accessGroup.rawValue)
        self.item = OpenItem(row: row, attributes: [.accessGroup: group], control: item.control)
        persistentReference =
            query.returnsPersistentReference ? row.identifier.persistentReference(row.itemClass) : nil
    }
}
