import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    private typealias CopyMatching = KeychainInterface.CopyMatching

    /// Answers a search.
    ///
    /// To be called on the connection's own thread, because the enclave may keep it waiting. The only item is found and given at once. More
    /// are looked for when the search has its turn: of all threads searches take a few, and nobody else waits. A client that takes a stream
    /// gets them a few at a time, at the pace at which it takes them. Of several the oldest come first. A search ends without an answer when
    /// its client is gone.
    func copyMatching(
        _ request: KeychainInterface.CopyMatching.Parameters, _ call: ProvenCall<KeychainInterface.CopyMatching>
    ) {
        answer(call) { () throws -> CopyMatching.Reply? in
            let app = try call.connection.identity()
            let query = try KeychainQuery(request.query, issuers: request.issuers).checkedForSearch()
            let search = try Search(query, of: self, for: app, context: call.proofs.context, in: store)
            let moment = rememberedReads.moment
            if search.canTakeOnly, case .match(let match) = try search.only() {
                guard let match else { throw Status.itemNotFound }
                if let moment, request.context == nil, let frame = call.call.frame,
                    let read = RememberedReads.Read(match, of: query)
                {
                    rememberedReads.remember(read, of: frame, for: app, since: moment)
                }
                return .init(items: [match.result(for: query)])
            }
            try answer(call, inTurnOf: searches) { [self] turn in
                let search = try Search(
                    query, of: self, for: app, context: call.proofs.context, in: store,
                    isAbandoned: { call.connection.isClosed })
                try search.decide()
                return try call.call.wantsMore
                    ? parts(of: search, query, call, in: turn) : all(of: search, query, call, in: turn)
            }
            return nil
        }
    }

    /// The answer to a request that was answered before; nil if it has to be searched for.
    ///
    /// Waits for no disk and for no other process: to be called where others' requests are read, too.
    func recalled(_ frame: Data, on connection: VarlinkConnection) -> KeychainInterface.CopyMatching.Reply? {
        guard let app = connection.knownIdentity, let read = rememberedReads.recall(frame, for: app),
            let key = openedKeys.key(of: read.item), case .open(let data?) = Self.opened(read.item.row, with: key)
        else { return nil }
        return .init(items: [.init(data: data, persistentReference: read.persistentReference)])
    }

    /// Answers with what `body` returns, when it is its turn; nil is an answer that comes later.
    ///
    /// The turn ends when the answer was taken, unless `body` keeps it.
    private func answer(
        _ call: ProvenCall<CopyMatching>, inTurnOf turns: Turns, cost: Int = 0,
        _ body: @escaping @Sendable (Turn) throws -> CopyMatching.Reply?
    ) throws(Status) {
        let mayWait = call.connection.perform(inTurnOf: turns, cost: cost) { [self] turn in
            answer(call, isWaited: true) { try body(turn) }
        }
        if !mayWait { throw .allocate }
    }

    /// All items as one reply, once there is room for them.
    private func all(
        of search: Search<KeychainStore>, _ query: KeychainQuery, _ call: ProvenCall<CopyMatching>, in turn: Turn
    ) throws -> CopyMatching.Reply? {
        let bytes = search.bytesLeft
        guard bytes > Self.smallResultBytes else { return try .init(items: all(of: search, query)) }
        try answer(call, inTurnOf: results, cost: bytes) { [self] _ in
            try withExtendedLifetime(turn) { try .init(items: all(of: search, query)) }
        }
        return nil
    }

    private func all(of search: Search<KeychainStore>, _ query: KeychainQuery) throws -> [KeychainInterface.Item] {
        var items: [KeychainInterface.Item] = []
        var bytes = 0
        while !search.isDelivered {
            let matches = try search.next()
            bytes += matches.flatMap(\.items).reduce(0) { $0 + ($1.data?.count ?? 0) }
            guard bytes <= Self.resultBytes else { throw Status.allocate }
            items += matches.map { $0.result(for: query) }
        }
        if items.isEmpty { throw Status.itemNotFound }
        return items
    }

    /// The items as a stream, each part once there is room for it, and the last as the reply.
    private func parts(
        of search: Search<KeychainStore>, _ query: KeychainQuery, _ call: ProvenCall<CopyMatching>, in turn: Turn,
        room: Turn? = nil, isFirst: Bool = true
    ) throws -> CopyMatching.Reply? {
        var (room, isFirst) = (room, isFirst)
        while true {
            let bytes = search.bytesOfNext
            if room == nil, bytes > Self.smallResultBytes {
                try answer(call, inTurnOf: results, cost: bytes) { [self, isFirst] room in
                    try parts(of: search, query, call, in: turn, room: room, isFirst: isFirst)
                }
                return nil
            }
            let items: [KeychainInterface.Item]
            do {
                items = try search.next().map { $0.result(for: query) }
            } catch var needed as ProofNeeded where !isFirst {
                // What was sent counts. It goes on from there, and holds no turn meanwhile.
                needed.goOn = { [self] in resume(search, query, call) }
                throw needed
            }
            if search.isDelivered {
                if isFirst, items.isEmpty { throw Status.itemNotFound }
                return .init(items: items)
            }
            if !items.isEmpty {
                guard call.call.continueWhenTaken(.init(items: items)) else { throw Abandoned() }
                isFirst = false
            }
            room?.end()
            room = nil
        }
    }

    /// Goes on with a stream that waited for a proof.
    private func resume(_ search: Search<KeychainStore>, _ query: KeychainQuery, _ call: ProvenCall<CopyMatching>) {
        search.context = call.proofs.context
        answer(call) {
            try answer(call, inTurnOf: searches) { [self] turn in
                try parts(of: search, query, call, in: turn, isFirst: false)
            }
            return nil
        }
    }

    /// Most bytes of secrets that one reply gives: they and their base64 are in memory at once.
    private static var resultBytes: Int { 32 << 20 }
    /// Results up to this size wait for no room: as many as there are turns of searches are small together.
    private static var smallResultBytes: Int { 256 << 10 }

    /// Searches for several items at a time: each has a thread (DEC-590).
    static let searchLimits = Turns.Limits(total: 40, perProcess: 4, perApp: 16, waitingPerProcess: 128)
    /// Results that are collected, or not taken yet, in bytes.
    static let resultLimits = Turns.Limits(budget: 64 << 20)

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
