import Foundation
import Testing

@testable import SyncStores

/// What only a directory has: copiers, and whatever else is there.
@Suite struct DirectoryStoreTests {
    private let bench: DirectoryBench
    private let store: any SyncStore

    init() async throws {
        bench = try DirectoryBench()
        store = try await bench.member()
    }

    private func path(_ name: RecordName) -> String { "\(bench.path)/family/records/\(name.writer)/\(name.rest)" }

    @Test func sy30_aFileThatCameInPartIsNotThereYet() async throws {
        let name = try recordName("ada", 1)
        try await store.put(name, record(1, steps: 4))
        let whole = try Data(contentsOf: URL(filePath: path(name)))
        for count in [0, 1, 15, 47, 48, 49, whole.count - 1] {
            try whole.prefix(count).write(to: URL(filePath: path(name)))
            #expect(try await store.get(name) == nil, "\(count) bytes")
        }
        var changed = whole
        changed[whole.count - 1] ^= 1
        try changed.write(to: URL(filePath: path(name)))
        #expect(try await store.get(name) == nil)
        try whole.write(to: URL(filePath: path(name)))
        #expect(try await store.get(name) == record(1, steps: 4))
    }

    /// As after a crash between the name and the content, where there are no links.
    @Test func sy30_whoeverPutsAgainCompletesAFile() async throws {
        let name = try recordName("ada", 1)
        try await store.put(name, record(1))
        try Data().write(to: URL(filePath: path(name)))
        try await store.put(name, record(1))
        #expect(try await store.get(name) == record(1))
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(bench.path)/family/records/ada").count == 1)
    }

    @Test func sy30_foreignNamesAndKindsOfFilesAreLeftAlone() async throws {
        let name = try recordName("ada", 1)
        try await store.put(name, record(1))
        let folder = "\(bench.path)/family/records/ada"
        let foreign = [
            ".syncthing.\(name.rest).tmp", "\(name.rest).sync-conflict-20261127-101500-ABCDEFG", "x", "~\(name.rest)",
            "0000000000000002-", "0000000000000002-A", "2-item", "\(name.rest).part", "-", "000000000000000G-item",
        ]
        for name in foreign { try record(9).write(to: URL(filePath: "\(folder)/\(name)")) }
        try record(9).write(to: URL(filePath: "\(bench.path)/family/records/.stfolder"))
        let (link, pipe) = (try recordName("ada", 2), try recordName("ada", 3))
        try FileManager.default.createSymbolicLink(atPath: path(link), withDestinationPath: path(name))
        #expect(mkfifo(path(pipe), 0o600) == 0)
        #expect(try await store.everything() == [name, link, pipe])
        #expect(try await store.get(link) == nil)
        #expect(try await store.get(pipe) == nil)
        let there = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(foreign).isSubset(of: there))
    }

    /// A copier brings files in any order, in parts, and the directory's times are hours off.
    @Test(arguments: 1...5) func sy30_copiesThatComeInAnyOrderAreRight(_ seed: Int) async throws {
        let there = try DirectoryBench()
        let other = try await there.member()
        var all: Set<RecordName> = []
        for number in 0..<30 {
            let name = try recordName("ada", number)
            try await store.put(name, record(number))
            all.insert(name)
        }
        try FileManager.default.createDirectory(
            atPath: "\(there.path)/family/records/ada", withIntermediateDirectories: true)
        var (cursor, known, dice) = (StoreCursor.start, [RecordName: Data](), Dice(state: UInt64(seed)))
        // Each file twice: first a part of it, some time later the whole.
        var work = all.flatMap { [($0, false), ($0, true)] }
        work.shuffle(using: &dice)
        for (name, isWhole) in work {
            let bytes = try Data(contentsOf: URL(filePath: path(name)))
            let copy = "\(there.path)/family/records/ada/\(name.rest)"
            let part = Int.random(in: 0..<bytes.count, using: &dice)
            if isWhole || !FileManager.default.fileExists(atPath: copy) {
                try (isWhole ? bytes : bytes.prefix(part)).write(to: URL(filePath: copy))
            }
            let hours = Double.random(in: -9...9, using: &dice)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: hours * 3600)], ofItemAtPath: copy)
            for name in try await other.everything(since: &cursor, limit: 4) where known[name] == nil {
                known[name] = try await other.get(name)
            }
        }
        #expect(Set(known.keys) == all)
        #expect(known.allSatisfy { $1 == record(Int($0.number)) })
    }

    /// What the documentation says of two directories that are synchronized only later.
    @Test func sy30_headsOfDirectoriesThatWereApartBecomeOne() async throws {
        let there = try DirectoryBench()
        let other = try await there.member()
        #expect(try await store.swapHead(nil, for: Data("ada's".utf8)))
        #expect(try await other.swapHead(nil, for: Data("ben's".utf8)))
        // Syncthing keeps one under the name and the other one beside it, on both machines.
        let file = "family/heads/0000000000000001"
        let (mine, theirs) = (URL(filePath: "\(bench.path)/\(file)"), URL(filePath: "\(there.path)/\(file)"))
        try Data(contentsOf: theirs).write(to: URL(filePath: theirs.path + ".sync-conflict-20261127-101500-ABCDEFG"))
        try Data(contentsOf: mine).write(to: theirs)
        #expect(try await store.head() == Data("ada's".utf8))
        #expect(try await other.head() == Data("ada's".utf8))
        #expect(try await other.swapHead(Data("ben's".utf8), for: Data("more".utf8)) == false)
    }

    @Test func sy30_oldHeadsAreRemovedAndOneInPartIsNoHead() async throws {
        var head: Data?
        for number in 1...40 {
            let new = Data("\(number)".utf8)
            #expect(try await store.swapHead(head, for: new))
            head = new
        }
        let heads = "\(bench.path)/family/heads"
        let files = try FileManager.default.contentsOfDirectory(atPath: heads).sorted()
        #expect(files.count <= 17)
        try Data("part".utf8).write(to: URL(filePath: "\(heads)/\(try #require(files.last))"))
        #expect(try await store.head() == Data("39".utf8))
    }

    @Test func sy30_aDirectoryThatIsNotMountedIsNotMade() async throws {
        let store = try DirectoryStore(path: "\(bench.path)/missing", circle: "family")
        await #expect(throws: StoreError.self) { try await store.prepare() }
        await #expect(throws: StoreError.self) { try await store.put(recordName("ada", 1), record(1)) }
        #expect(FileManager.default.fileExists(atPath: "\(bench.path)/missing") == false)
        #expect(throws: StoreError.self) { try DirectoryStore(path: "relative", circle: "family") }
    }
}

/// Two directories that the real Syncthing keeps the same.
@Suite struct SyncthingTests {
    /// What `condition` says at last: copies take their time, and much more on a machine with other work.
    private func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(600)
        while try await !condition() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(100))
        }
        return true
    }

    @Test func sy30_syncthingBringsRecordsAndOneOfTwoHeads() async throws {
        let syncthing = try Helper("sync_copier.py")
        let stores = try syncthing.answer([String].self).map { try DirectoryStore(path: $0, circle: "family") }
        for store in stores { try await store.prepare() }
        // Records and their removal.
        for number in 0..<30 {
            try await stores[number % 2].put(recordName("w\(number % 2)", number), record(number, steps: 3))
        }
        for store in stores {
            let records = try await store.follow(until: 30, limit: 7)
            #expect(records.count == 30)
            #expect(records.allSatisfy { $1 == record(Int($0.number), steps: 3) })
        }
        try await stores[1].delete(recordName("w0", 0))
        #expect(try await eventually { try await stores[0].get(recordName("w0", 0)) == nil })
        // A head that both change while they are apart: one of them stays, on both sides.
        _ = try syncthing.ask("pause", String.self)
        let heads = [Data("ada's".utf8), Data("ben's".utf8)]
        #expect(try await stores[0].swapHead(nil, for: heads[0]))
        #expect(try await stores[1].swapHead(nil, for: heads[1]))
        _ = try syncthing.ask("resume", String.self)
        #expect(try await eventually { try await stores[0].head() == stores[1].head() })
        let head = try #require(await stores[0].head())
        #expect(heads.contains(head))
        // Whoever lost sees it, and tries again.
        let loser = try #require(heads.firstIndex { $0 != head })
        #expect(try await stores[loser].swapHead(heads[loser], for: Data("no".utf8)) == false)
        #expect(try await stores[loser].swapHead(head, for: Data("both".utf8)))
        #expect(try await eventually { try await stores[1 - loser].head() == Data("both".utf8) })
    }
}
