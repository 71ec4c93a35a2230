import Foundation
import TouchstoneCore
import TouchstoneTransport

extension KeychainService {
    func copyMatching(_ request: KeychainInterface.CopyMatching.Parameters, for app: AppIdentity) throws
        -> [KeychainInterface.Item]
    {
        let query = try KeychainQuery(request.query).checkedForSearch()
        let found = try search(query, for: app, context: request.context)
        guard !found.isEmpty else { throw Status.itemNotFound }
        return found.map { $0.result(for: query) }
    }

    /// Rows to open in one turn of the enclave.
    static let chunk = 256
    /// Most bytes of secrets that one call gives: they and their base64 are in memory at once.
    static let resultBytes = 32 << 20

    /// Searches, in `writer`'s transaction where what is found is to be written again.
    func search(
        _ query: KeychainQuery, for app: AppIdentity, context: String?, in writer: KeychainStore.KeychainWriter? = nil
    ) throws -> [OpenItem] {
        let limit = query.limit ?? .max
        guard limit > 0 else { return [] }
        var found: [OpenItem] = []
        var gone: [ItemRow] = []
        var unreadable: [ItemRow] = []
        var needed: [KeychainInterface.ConstrainedOperation] = []
        var blocked = 0
        var bytes = 0
        var candidates: [OpenItem] = []

        func openCandidates() throws {
            let opened = try open(candidates, withData: query.returnsData, for: app, context: context)
            for (item, state) in zip(candidates, opened) {
                switch state {
                case .open(let data):
                    var item = item
                    item.data = data
                    bytes += data?.count ?? 0
                    guard bytes <= Self.resultBytes else { throw Status.allocate }
                    found.append(item)
                case .gone: gone.append(item.row)
                case .locked: throw Status.interactionNotAllowed
                case .authenticationNeeded:
                    // AC-41: Skip leaves it out.
                    if query.authenticationUI == .skip { continue }
                    blocked += 1
                    let operation = KeychainInterface.ConstrainedOperation(
                        accessControl: item.control, operation: .useItem)
                    if !needed.contains(operation) { needed.append(operation) }
                }
            }
            candidates = []
        }

        func visit(_ row: ItemRow) throws -> Bool {
            switch try openMetadata(row) {
            case .gone: unreadable.append(row)
            case .open(let item):
                if matches(item, query, groups) { candidates.append(item) }
            }
            let missing = limit - found.count - blocked
            if candidates.count >= min(missing, Self.chunk) { try openCandidates() }
            // AC-23: a protected row that is reached first forces the prompt.
            return found.count + blocked < limit
        }
        let groups = try searchedGroups(query, of: app)
        let filter = try filter(query, for: app)
        if let writer { try writer.scan(filter, visit) } else { try store.read(filter, visit) }
        try openCandidates()
        // What cannot be cleaned up now stays, and stays absent.
        try? remove(gone: gone, unreadable: unreadable, in: writer)
        guard needed.isEmpty else {
            // AC-41, AC-42: nobody may be asked.
            if query.authenticationUI == .fail { throw Status.interactionNotAllowed }
            throw KeychainInterface.AuthenticationNeeded(operations: needed)
        }
        return found.count > limit ? Array(found.prefix(limit)) : found
    }

    /// KC-16: what can never be opened again is absent, and goes.
    ///
    /// Where only our metadata keys say so they are asked for anew first: they may be of a moment ago.
    func remove(gone: [ItemRow], unreadable: [ItemRow], in writer: KeychainStore.KeychainWriter?) throws {
        guard !gone.isEmpty || !unreadable.isEmpty else { return }
        guard let writer else {
            return try store.write { try remove(gone: gone, unreadable: unreadable, in: $0) }
        }
        if !unreadable.isEmpty { try refreshKeys() }
        for row in gone { try writer.delete(row) }
        for row in unreadable {
            if case .gone = try openMetadata(row) { try writer.delete(row) }
        }
    }
}
