package import Foundation

/// A store that is a directory, which something else may bring to other machines: Syncthing, NFS, a mounted WebDAV (SY-30).
///
/// Below the directory is a folder for each circle, with `records/WRITER/NUMBER-LABEL` and `heads/NUMBER`. A file is made whole
/// and never changed, so that copies that come in any order are right. A file that came in part is not there yet. Names that
/// are not ours are left alone.
///
/// **Compare-and-swap.** Where the members share one file system, such as NFS, ``swapHead(_:for:)`` is one. Where their
/// directories are only synchronized later, two members that are apart can both change the same head, and both calls say true.
/// When the copies meet, Syncthing keeps one of the two files and renames the other, so that every member then has the same
/// head. A member whose head was dropped sees another one in ``head()``. Whoever chains heads must check for that.
///
/// A list names everything in each round, because a copier may bring an older file after a newer one. That costs no traffic.
package final class DirectoryStore: SyncStore {
    /// Files of one writer, deleted ones not counted.
    static let mostRecords = 2_000_000
    /// How many heads stay: whoever reads the newest one has time to.
    static let keptHeads = 16

    private let folder: Folder
    private let circle: String
    private let queue = BlockingQueue("io.touchstone.sync.directory")

    /// Looks at nothing yet.
    ///
    /// - Parameters:
    ///   - path: A directory that is there, with a slash before it.
    ///   - circle: 1…64 of the characters a–z and 0–9.
    /// - Throws: `configuration` for another path, `invalid` for another circle.
    package convenience init(path: String, circle: String) throws(StoreError) {
        guard path.hasPrefix("/") else { throw .configuration("a directory begins with a slash, and not as \(path)") }
        try self.init(Folder(path: path), circle: circle)
    }

    init(_ folder: Folder, circle: String) throws(StoreError) {
        try StoreLimits.check(circle: circle)
        (self.folder, self.circle) = (folder, circle)
    }

    package func prepare() async throws(StoreError) {
        let (folder, circle) = (folder, circle)
        try await queue.run { () throws(StoreError) in
            // Not made: where a file system is not mounted, records would go to a place that nobody copies.
            guard folder.exists else {
                throw .configuration("\(folder.path) is not there, or not yours to write to: make it, or mount it")
            }
            try folder.make([circle, "records"])
            try folder.make([circle, "heads"])
        }
    }

    package func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        try StoreLimits.check(record: bytes)
        let (folder, records) = (folder, records(of: name.writer))
        try await queue.run { [circle] () throws(StoreError) in
            try folder.make([circle, "records", name.writer])
            if try folder.make(name.rest, in: records, content: bytes, limit: StoreLimits.record) { return }
            let there = try folder.content(of: "\(records)/\(name.rest)", limit: StoreLimits.record)
            guard there == bytes else { throw .taken(name) }
        }
    }

    package func get(_ name: RecordName) async throws(StoreError) -> Data? {
        let (folder, records) = (folder, records(of: name.writer))
        return try await queue.run { () throws(StoreError) in
            try folder.content(of: "\(records)/\(name.rest)", limit: StoreLimits.record)
        }
    }

    package func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        try StoreLimits.check(page: limit)
        let last = RecordName(cursor.text)
        guard last != nil || cursor == .start else { throw StoreCursor.foreign() }
        let folder = folder
        return try await queue.run { [circle] () throws(StoreError) in
            var names: [RecordName] = []
            let writers = try folder.names(in: "\(circle)/records", limit: StoreLimits.writers) {
                RecordName.isPart($0) ? $0 : nil
            }
            for writer in writers.sorted() where writer >= last?.writer ?? "" {
                names += try folder.names(in: "\(circle)/records/\(writer)", limit: Self.mostRecords) {
                    RecordName(writer: writer, rest: $0)
                }.filter { name in last.map { name > $0 } ?? true }.sorted()
                if names.count > limit { break }
            }
            let page = Array(names.prefix(limit))
            // After the last page the next round begins.
            return StorePage(
                names: page, cursor: names.count > limit ? StoreCursor(text: page[limit - 1].description) : .start,
                hasMore: names.count > limit)
        }
    }

    package func delete(_ name: RecordName) async throws(StoreError) {
        let (folder, records) = (folder, records(of: name.writer))
        try await queue.run { () throws(StoreError) in try folder.remove(name.rest, in: records) }
    }

    package func head() async throws(StoreError) -> Data? {
        let (folder, heads) = (folder, "\(circle)/heads")
        return try await queue.run { () throws(StoreError) in try Self.newest(folder, heads)?.head }
    }

    package func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try StoreLimits.check(head: new)
        let (folder, heads) = (folder, "\(circle)/heads")
        return try await queue.run { () throws(StoreError) in
            let newest = try Self.newest(folder, heads)
            if newest?.head == new { return true }
            guard newest?.head == expected else { return false }
            let number = (newest?.number ?? 0) + 1
            guard try folder.make(RecordName.digits(number), in: heads, content: new, limit: StoreLimits.head) else {
                return try Self.newest(folder, heads)?.head == new
            }
            if number > Self.keptHeads {
                try folder.remove(RecordName.digits(number - UInt64(Self.keptHeads)), in: heads)
            }
            return true
        }
    }

    /// The newest head that is whole.
    private static func newest(_ folder: Folder, _ heads: String) throws(StoreError) -> (number: UInt64, head: Data)? {
        let numbers = try folder.names(in: heads, limit: mostRecords) { RecordName.number($0) }
        for number in numbers.sorted(by: >) where number < .max {
            if let head = try folder.content(of: "\(heads)/\(RecordName.digits(number))", limit: StoreLimits.head) {
                return (number, head)
            }
        }
        return nil
    }

    private func records(of writer: String) -> String { "\(circle)/records/\(writer)" }
}
