package import Foundation

/// Where the sealed records of one circle wait for its other members (SY-30).
///
/// A store is trusted with nothing but availability. Each engine is the same to its caller, who keeps these rules:
///
/// - A name is used once, also after its record was deleted.
/// - A writer puts its records in the order of their numbers. At most ``StoreLimits/putsUnderWay`` of them are under way at
///   once: when number n is put, every number up to n − `putsUnderWay` has been acknowledged.
/// - A head never has the bytes that an earlier head of the circle had.
///
/// After ``StoreError/unavailable(_:)`` a call may have happened or not. Each call can be made again then, and the second
/// one says the same as one call would have said.
package protocol SyncStore: Sendable {
    /// Makes what the store needs, and checks that it can do what this port promises.
    ///
    /// It may be called by several members at once, and again at any time.
    func prepare() async throws(StoreError)

    /// Keeps the bytes under this name, if the store does not have the name.
    ///
    /// When it returns, the store has exactly these bytes, and they survive a loss of its power as far as the store
    /// promises that.
    ///
    /// - Parameters:
    ///   - name: Never used before with other bytes.
    ///   - bytes: Sealed and padded: a multiple of ``StoreLimits/padding``, at most ``StoreLimits/record``.
    /// - Throws: ``StoreError/taken(_:)`` if the name has other bytes, which stay; ``StoreError/invalid(_:)`` for bytes that
    ///   this store never takes.
    func put(_ name: RecordName, _ bytes: Data) async throws(StoreError)

    /// Puts several records, as ``put(_:_:)`` does each, and then deletes others.
    ///
    /// Records of one writer that follow each other are put in any order, and all of them before the next writer's.
    ///
    /// - Parameters:
    ///   - records: The numbers of each writer in their order.
    ///   - names: Of other records, which are deleted as by ``delete(_:)``.
    /// - Returns: Names that have other bytes, which stay.
    /// - Throws: ``StoreError``; a part may be done then.
    func put(_ records: [StoredRecord], deleting names: [RecordName]) async throws(StoreError) -> [RecordName]

    /// The record's bytes, or nil if the store does not have the name, or does not have all of its bytes yet.
    func get(_ name: RecordName) async throws(StoreError) -> Data?

    /// The names that were put since the cursor was given.
    ///
    /// A page may repeat names, and may have names that were deleted. If it has ``StorePage/hasMore``, the rest comes with its
    /// cursor. When there is no more, everything that was acknowledged before the first page was asked for has been named.
    /// Names are in the order of their numbers for each writer within a page, and in no order between writers.
    ///
    /// - Parameters:
    ///   - cursor: ``StoreCursor/start``, or that of an earlier page.
    ///   - limit: About how many names the page has, 1…``StoreLimits/page``.
    /// - Returns: Names, and where to go on.
    /// - Throws: ``StoreError/invalid(_:)`` for a cursor that this kind of store did not give.
    func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage

    /// Deletes the record; one that is not there is no error.
    func delete(_ name: RecordName) async throws(StoreError)

    /// The circle's head, or nil if it never had one.
    func head() async throws(StoreError) -> Data?

    /// Changes the head, if it still is `expected`.
    ///
    /// - Parameters:
    ///   - expected: What ``head()`` said; nil if there was none.
    ///   - new: 1…``StoreLimits/head`` bytes.
    /// - Returns: Whether the head is `new` now. If not, another member was faster, and the head is as it was.
    /// - Throws: ``StoreError``.
    func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool

    /// Returns when there may be something new, or after `limit`.
    func waitForNews(atMost limit: Duration) async throws(StoreError)
}

extension SyncStore {
    package func put(
        _ records: [StoredRecord], deleting names: [RecordName]
    ) async throws(StoreError) -> [RecordName] {
        var (rest, taken) = (records[...], [RecordName]())
        while let first = rest.first {
            let together = rest.prefix { $0.name.writer == first.name.writer }.prefix(StoreLimits.putsUnderWay)
            let outcomes = await withTaskGroup(of: Result<Void, StoreError>.self) { group in
                for record in together {
                    group.addTask {
                        await failure(of: record).map { .failure($0) } ?? .success(())
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for outcome in outcomes {
                do throws(StoreError) {
                    try outcome.get()
                } catch .taken(let name) {
                    taken.append(name)
                }
            }
            rest = rest.dropFirst(together.count)
        }
        for name in names { try await delete(name) }
        return taken
    }

    /// Puts a record; nil: the store has it.
    package func failure(of record: StoredRecord) async -> StoreError? {
        do throws(StoreError) {
            try await put(record.name, record.bytes)
            return nil
        } catch {
            return error
        }
    }

    /// Without a way to hear of something, a wait is a pause.
    package func waitForNews(atMost limit: Duration) async throws(StoreError) {
        try? await Task.sleep(for: limit)
    }
}

/// A record with its name.
package struct StoredRecord: Sendable, Hashable {
    package var name: RecordName
    package var bytes: Data

    package init(_ name: RecordName, _ bytes: Data) { (self.name, self.bytes) = (name, bytes) }
}

/// The largest of everything that a store keeps or gives.
package enum StoreLimits {
    /// Bytes to which the size of each record is padded.
    package static let padding = 256
    /// Bytes of a record, 17 MiB: as large as a device makes one (`SealedRecord.maximumBytes`).
    package static let record = 17 << 20
    /// Bytes of a head.
    package static let head = 64 << 10
    /// Names in one page.
    package static let page = 1000
    /// Bytes of the records that come with a page, 4 MiB.
    package static let contents = 4 << 20
    /// Puts of one writer at the same time.
    package static let putsUnderWay = 16
    /// Writers of one circle.
    package static let writers = 256
    /// Bytes of a cursor: a line for each writer.
    package static let cursor = 32 << 10

    static func check(record bytes: Data) throws(StoreError) {
        guard !bytes.isEmpty, bytes.count <= record, bytes.count % padding == 0 else {
            throw .invalid("a record has 1…\(record) bytes, a multiple of \(padding), and this has \(bytes.count)")
        }
    }

    static func check(head bytes: Data) throws(StoreError) {
        guard !bytes.isEmpty, bytes.count <= head else {
            throw .invalid("a head has 1…\(head) bytes, and this has \(bytes.count)")
        }
    }

    static func check(page limit: Int) throws(StoreError) {
        guard 1...page ~= limit else { throw .invalid("a page has 1…\(page) names, and not \(limit)") }
    }

    static func check(circle: String) throws(StoreError) {
        guard RecordName.isPart(circle) else {
            throw .invalid("a circle's name has 1…\(RecordName.longestPart) of the characters a–z and 0–9")
        }
    }
}

/// A part of the list of names.
package struct StorePage: Sendable, Equatable {
    package var names: [RecordName]
    /// What to list from next time; it may be kept on a disk.
    package var cursor: StoreCursor
    /// Whether another page follows at once.
    package var hasMore: Bool
    /// Of some of the names, where a store gives them along because that costs it less than ``SyncStore/get(_:)``.
    package var contents: [RecordName: Data] = [:]
}

/// Up to where a store was listed: text that only the store reads.
package struct StoreCursor: Sendable, Hashable, Codable {
    package static let start = StoreCursor(text: "")
    package var text: String

    package init(text: String) { self.text = text }

    static func foreign() -> StoreError { .invalid("the cursor is not of this kind of store: list from the start") }
}
