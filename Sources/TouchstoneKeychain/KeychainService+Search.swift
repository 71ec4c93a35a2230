import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneTransport

extension KeychainService {
    /// Answers a search.
    ///
    /// The only item is found and given on the thread that asks. More are looked for on the connection's own thread, so that nobody else waits;
    /// a client that takes a stream gets them a few at a time, at the pace at which it takes them. Of several the oldest come first.
    func copyMatching(
        _ request: KeychainInterface.CopyMatching.Parameters, _ call: VarlinkCall<KeychainInterface.CopyMatching>
    ) {
        answer(call) { () throws -> KeychainInterface.CopyMatching.Reply? in
            let app = try call.connection.identity()
            let query = try KeychainQuery(request.query, issuers: request.issuers).checkedForSearch()
            let search = try Search(query, of: self, for: app, context: request.context, in: store)
            if search.canTakeOnly, case .match(let match) = try search.only() {
                guard let match else { throw Status.itemNotFound }
                return .init(items: [match.result(for: query)])
            }
            call.connection.perform { [self] in
                answer(call) {
                    let search = try Search(query, of: self, for: app, context: request.context, in: store)
                    return .init(items: try copyAll(search, query, call))
                }
            }
            return nil
        }
    }

    /// - Returns: The last of the items, after those that went out as a stream.
    private func copyAll(
        _ search: Search<KeychainStore>, _ query: KeychainQuery, _ call: VarlinkCall<KeychainInterface.CopyMatching>
    ) throws -> [KeychainInterface.Item] {
        try search.decide()
        var waiting: [KeychainInterface.Item] = []
        var isEmpty = true
        var bytes = 0
        // What takes much memory waits for its turn before it is read.
        func takeTurn(_ slice: Int) throws {
            // A stream gives one slice after the other; else all of it is held until the end, and is longer in base64.
            let held = call.wantsMore ? slice : bytes + slice
            guard held > VarlinkLimits.maximumRequestBytes / 2 else { return }
            if !call.connection.takeLargeTurn() { throw Status.allocate }
        }
        try search.deliver(willRead: takeTurn) { matches in
            isEmpty = false
            if call.wantsMore {
                // What is sent has one slice behind it, so that the last goes with the end of the stream.
                if !waiting.isEmpty, !call.continueWhenTaken(.init(items: waiting)) { return false }
                waiting = matches.map { $0.result(for: query) }
                guard call.connection.hasLargeTurn else { return true }
                // But nothing large waits.
                defer { call.connection.endLargeTurn() }
                let isTaken = call.continueWhenTaken(.init(items: waiting))
                waiting = []
                return isTaken
            } else {
                bytes += matches.flatMap(\.items).reduce(0) { $0 + ($1.data?.count ?? 0) }
                guard bytes <= Self.resultBytes else { throw Status.allocate }
                waiting += matches.map { $0.result(for: query) }
            }
            return true
        }
        if isEmpty { throw Status.itemNotFound }
        return waiting
    }

    /// Most bytes of secrets that one reply gives: they and their base64 are in memory at once.
    private static var resultBytes: Int { 32 << 20 }

    /// KC-16: what can never be opened again is absent, and goes: what its owner destroyed for good, what is damaged aside.
    ///
    /// Where only our metadata keys say so they are asked for anew first: they may be of a moment ago.
    func remove(
        gone: [ItemRow], damaged: [ItemRow], unreadable: [ItemRow], in writer: KeychainStore.KeychainWriter?
    ) throws {
        guard !gone.isEmpty || !damaged.isEmpty || !unreadable.isEmpty else { return }
        guard let writer else {
            return try store.write { try remove(gone: gone, damaged: damaged, unreadable: unreadable, in: $0) }
        }
        if !unreadable.isEmpty { try readKeys() }
        for row in gone { try writer.delete(row) }
        for row in damaged { try writer.putAside(row, at: now()) }
        for row in unreadable {
            guard case .gone = try openMetadata(row) else { continue }
            let isDestroyed = metadataKeys.withLock { $0.destroyed.contains(row.accessibility) }
            if isDestroyed { try writer.delete(row) } else { try writer.putAside(row, at: now()) }
        }
    }
}
