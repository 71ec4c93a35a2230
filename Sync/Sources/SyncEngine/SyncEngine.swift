import Foundation
package import SyncStores

/// What is moved when: a device's own objects to the store, everybody else's to the device, and links both ways (SY-32, SY-33).
///
/// A round moves everything that there is, and can end anywhere: names are made once, and each object may be put and given again. What is
/// kept of a round is only saved after both sides have what it says.
package struct SyncEngine: Sendable {
    /// Objects that are fetched at the same time.
    private static let fetched = 8
    /// Objects and bytes that are given to the device at once: less than it takes.
    private static let batch = (objects: 500, bytes: 4 << 20)
    /// Names that may wait for the device: beyond them the store is not listed further.
    static let mostWaiting = 10_000

    private let device: any SyncDevice
    private let store: any SyncStore
    private let save: @Sendable (SyncProgress) throws -> Void
    package private(set) var progress: SyncProgress
    /// How many links both sides have; nil before they were compared.
    private var links: Int?

    /// - Parameters:
    ///   - device: Whose objects it moves.
    ///   - store: Prepared.
    ///   - progress: Of an earlier process, or a new one.
    ///   - save: Keeps it over a loss of power.
    package init(
        _ device: any SyncDevice, _ store: any SyncStore, _ progress: SyncProgress,
        save: @escaping @Sendable (SyncProgress) throws -> Void
    ) {
        (self.device, self.store, self.progress, self.save) = (device, store, progress, save)
        // Somebody may have changed the store's limit since.
        if let after = progress.refusedAfter { (self.progress.own, self.progress.refusedAfter) = (after, nil) }
    }

    /// How much a round moved.
    package struct Moved: Equatable, Sendable {
        package var sent = 0
        package var received = 0
        /// Objects that are not what their names say, or of nobody in the circle.
        package var refused = 0
        /// Own objects that the store never takes, and why: all others were sent (DEC-587).
        package var left: [String] = []
        /// Why the store's links do not fit the device's, if they do not: objects are moved all the same.
        package var linksProblem: String?
    }

    /// Moves everything that there is.
    ///
    /// - Parameters:
    ///   - retries: Whether what waits is given to the device again.
    ///   - lists: Whether the store is asked for what is new there, and not only given what the device has.
    /// - Returns: How much it was.
    /// - Throws: `StoreError` or `DeviceFailure`; the next round goes on.
    package mutating func round(retries: Bool, lists: Bool = true) async throws -> Moved {
        var moved = Moved()
        var retries = retries
        if links == nil {
            try await startOverIfEmptied()
            try await exchangeLinks(&moved)
            retries = true
        } else if !lists, try await hasOwnLink() {
            try await exchangeLinks(&moved)
        }
        while lists, progress.waiting.count < Self.mostWaiting {
            let page = try await store.list(since: progress.cursor, limit: StoreLimits.page)
            if moved.linksProblem == nil, hasNewLink(page) || !page.hasMore,
                try await hasOwnLink() || hasNewLink(page)
            {
                try await exchangeLinks(&moved)
                retries = true
            }
            try await give(page.names.filter { isNew($0) }, &moved, contents: page.contents)
            if progress.cursor != page.cursor {
                progress.cursor = page.cursor
                try save(progress)
            }
            if !page.hasMore { break }
        }
        if retries { try await give(progress.waiting.sorted().compactMap { RecordName($0) }, &moved) }
        try await send(&moved)
        return moved
    }

    // MARK: Links

    /// A link that does not fit stops no record, because anybody who can write to the store can put one.
    ///
    /// The next round tries again.
    private mutating func exchangeLinks(_ moved: inout Moved) async throws {
        links = nil
        do {
            links = try await ChainExchange(device, store).run().count
        } catch {
            guard let problem = ChainExchange.problem(error) else { throw error }
            moved.linksProblem = problem
        }
    }

    private func hasNewLink(_ page: StorePage) -> Bool {
        page.names.contains { name in
            if case .link(let number)? = StoredName(name) { number >= links ?? 0 } else { false }
        }
    }

    private func hasOwnLink() async throws -> Bool {
        try await !device.links(after: links.map { $0 - 1 }).isEmpty
    }

    /// A store that lost everything gets everything again.
    private mutating func startOverIfEmptied() async throws {
        guard progress.own != nil, try await ChainExchange.link(0, in: store) == nil else { return }
        progress = SyncProgress(store: progress.store)
        try save(progress)
    }

    // MARK: From the store

    private func isNew(_ name: RecordName) -> Bool {
        guard case .object? = StoredName(name) else { return false }
        return !progress.knows(name) && !progress.waiting.contains(name.description)
    }

    /// Gives the device what these names have; the store is asked for what is not among `contents`.
    private mutating func give(
        _ names: [RecordName], _ moved: inout Moved, contents: [RecordName: Data] = [:]
    ) async throws {
        var batch: [(name: RecordName, object: SealedObject)] = []
        var bytes = 0
        for start in stride(from: 0, to: names.count, by: Self.fetched) {
            for (name, content) in try await fetch(names[start..<min(start + Self.fetched, names.count)], contents) {
                guard case .object(let object)? = StoredName(name) else { continue }
                guard let content else {
                    // Deleted since; a directory that does not have all of it yet lists it again.
                    progress.waiting.remove(name.description)
                    continue
                }
                guard let content = object.kind == .record ? content : PaddedBytes.content(of: content) else {
                    progress.settle(name)
                    moved.refused += 1
                    continue
                }
                // Two large ones may be more than the device takes.
                if !batch.isEmpty, bytes + content.count > Self.batch.bytes {
                    try await give(batch, &moved)
                    (batch, bytes) = ([], 0)
                }
                batch.append((name, SealedObject(object, content)))
                bytes += content.count
            }
            if batch.count >= Self.batch.objects || bytes >= Self.batch.bytes {
                try await give(batch, &moved)
                (batch, bytes) = ([], 0)
            }
        }
        try await give(batch, &moved)
    }

    private mutating func give(_ batch: [(name: RecordName, object: SealedObject)], _ moved: inout Moved) async throws {
        guard !batch.isEmpty else { return }
        let verdicts = try await device.add(batch.map(\.object))
        guard verdicts.count == batch.count else {
            throw DeviceFailure.unavailable("the device did not answer for each object")
        }
        for ((name, _), verdict) in zip(batch, verdicts) {
            switch verdict {
            case .waiting: progress.waiting.insert(name.description)
            case .taken, .repeated:
                progress.settle(name)
                moved.received += 1
            case .forged, .notMember:
                progress.settle(name)
                moved.refused += 1
            }
        }
        try save(progress)
    }

    private func fetch(
        _ names: ArraySlice<RecordName>, _ contents: [RecordName: Data]
    ) async throws -> [(RecordName, Data?)] {
        let store = store
        return try await withThrowingTaskGroup(of: (RecordName, Data?).self) { group in
            var fetched: [(RecordName, Data?)] = []
            for name in names {
                if let content = contents[name] {
                    fetched.append((name, content))
                } else {
                    group.addTask { (name, try await store.get(name)) }
                }
            }
            for try await one in group { fetched.append(one) }
            return fetched.sorted { $0.0 < $1.0 }
        }
    }

    // MARK: To the store

    private mutating func send(_ moved: inout Moved) async throws {
        while true {
            // In the order of their making: a head says what is there, and comes after all of that.
            let own = try await device.objects(after: progress.own)
            let left = try await put(own.objects, deleting: own.dropped)
            moved.sent += own.objects.count - left.count
            moved.left += left
            if !left.isEmpty { progress.refusedAfter = progress.refusedAfter ?? progress.own ?? 0 }
            let isAtEnd = own.objects.isEmpty && own.dropped.isEmpty
            if progress.own != own.next || !isAtEnd {
                progress.own = own.next
                try save(progress)
            }
            if isAtEnd { return }
        }
    }

    /// - Returns: What the store never takes, and why; all else is there.
    private mutating func put(
        _ objects: [SealedObject], deleting dropped: [ObjectName]
    ) async throws -> [String] {
        guard !(objects.isEmpty && dropped.isEmpty) else { return [] }
        let records = try objects.map { object in
            let bytes = object.kind == .record ? object.bytes : PaddedBytes.padded(object.bytes)
            return StoredRecord(try StoredName.object(object.name).record, bytes)
        }
        let names = try dropped.map { try StoredName.object($0).record }
        var put = try await putTogether(records, deleting: names)
        if put == nil { put = try await putSingly(records, deleting: names) }
        // This device was restored from a copy: it is shown what it wrote before, and counts on from there.
        var moved = Moved()
        try await give(put?.taken ?? [], &moved)
        for record in records { progress.settle(record.name) }
        return put?.left ?? []
    }

    /// Nil if the store never takes one of them.
    private func putTogether(
        _ records: [StoredRecord], deleting names: [RecordName]
    ) async throws(StoreError) -> (taken: [RecordName], left: [String])? {
        do throws(StoreError) {
            return (try await store.put(records, deleting: names), [])
        } catch {
            guard case .invalid = error else { throw error }
            return nil
        }
    }

    /// The store never takes one of them: each by itself, so that nothing else waits for that one.
    private func putSingly(
        _ records: [StoredRecord], deleting names: [RecordName]
    ) async throws -> (taken: [RecordName], left: [String]) {
        var taken: [RecordName] = []
        var left: [String] = []
        for record in records {
            switch await store.failure(of: record) {
            case nil: break
            case .taken(let name)?: taken.append(name)
            case .invalid(let reason)?: left.append("\(record.name): \(reason)")
            case let failure?: throw failure
            }
        }
        for name in names { try await store.delete(name) }
        return (taken, left)
    }
}
