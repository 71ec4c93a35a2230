import Dispatch
import Foundation
import GRDB
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Which reads are remembered, and how long.
@Suite(.timeLimit(.minutes(10))) struct RememberedReadsTests {
    private let files: PrivateDirectory
    private let database: DatabaseQueue
    private let reads: RememberedReads
    private static let app = AppIdentity(
        identifier: "app", evidence: .process, name: "App", processID: 1, userID: 1, keychainAccessGroups: ["group"])

    init() throws {
        files = try PrivateDirectory()
        let file = files.url.appendingPathComponent("keychain.db")
        database = try DatabaseQueue(path: file.path)
        try database.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
        }
        let version: DatabaseVersion = try #require(DatabaseVersion(file: file))
        reads = RememberedReads(version)
    }

    private func commit() throws { try database.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") } }

    private func read(secret bytes: Int = 100) throws -> RememberedReads.Read {
        let row = ItemRow(
            rowID: 1, itemClass: .genericPassword, identifier: ItemIdentifier(bytes: Data(repeating: 7, count: 16)),
            version: Data(repeating: 1, count: 16), accessibility: .whenUnlocked, identityTag: Data([1]),
            metadata: Data([2]), wrappedKey: Data([3]), secret: Data(count: bytes), tags: [:])
        let item = OpenItem(
            row: row, attributes: [.accessGroup: .string("group"), .account: .string("who")],
            control: try AccessControl(protection: .whenUnlocked, flags: []), data: Data("plain".utf8))
        let query = try KeychainQuery([.class: .string("genp"), .returnData: .boolean(true)])
        return try #require(RememberedReads.Read(Match(item: item), of: query))
    }

    private func remember(_ request: String, secret bytes: Int = 100) throws {
        reads.remember(
            try read(secret: bytes), of: Data(request.utf8), for: Self.app, since: try #require(reads.moment))
    }

    private func recalls(_ request: String, for app: AppIdentity = app) -> Bool {
        reads.recall(Data(request.utf8), for: app) != nil
    }

    @Test("KC-02: what an app's request found is recalled for the same request of the same app, and for no other")
    func sameOnly() throws {
        try remember("request")
        #expect(recalls("request"))
        #expect(!recalls("request "))
        var other = Self.app
        other.identifier = "other"
        #expect(!recalls("request", for: other))
        let fewerGroups = AppIdentity(identifier: "app", evidence: .process, name: "App", processID: 1, userID: 1)
        #expect(!recalls("request", for: fewerGroups))
        // Another process of the same app.
        var process = Self.app
        process.processID = 2
        #expect(recalls("request", for: process))
    }

    @Test("Each commit ends what was remembered, and a read that began before it is not remembered after it")
    func commits() throws {
        try remember("request")
        let before = try #require(reads.moment)
        #expect(recalls("request"))
        try commit()
        #expect(!recalls("request"))
        #expect(reads.count == 0)
        reads.remember(try read(), of: Data("late".utf8), for: Self.app, since: before)
        #expect(!recalls("late"))
        try remember("request")
        #expect(recalls("request"))
    }

    @Test("Nothing of a row is kept that can be read, nor what the answer does not need")
    func ciphertextOnly() throws {
        let read = try read()
        #expect(read.item.attributes == [.accessGroup: .string("group")])
        #expect(read.item.data == nil)
        #expect(read.item.row.metadata.isEmpty && read.item.row.identityTag.isEmpty)
        #expect(read.persistentReference == nil)
    }

    @Test("The 1,025th request takes the place of the oldest, and of no other") func maximum() throws {
        for number in 1...RememberedReads.maximum { try remember("\(number)") }
        #expect(recalls("1"))
        try remember("1025")
        #expect(!recalls("1"))
        #expect(recalls("2") && recalls("1024") && recalls("1025"))
        #expect(reads.count == RememberedReads.maximum)
        // One that is remembered again takes no second place.
        try remember("2")
        #expect(recalls("3"))
    }

    @Test("A large request is not remembered, nor a large secret; those at the limit are") func sizes() throws {
        let request = String(repeating: "a", count: RememberedReads.requestBytes)
        try remember(request)
        #expect(recalls(request))
        try remember(request + "a")
        #expect(!recalls(request + "a"))
        try remember("at the limit", secret: RememberedReads.secretBytes)
        #expect(recalls("at the limit"))
        try remember("too large", secret: RememberedReads.secretBytes + 1)
        #expect(!recalls("too large"))
    }

    @Test("Of a database in memory nothing is remembered") func inMemory() throws {
        #expect(RememberedReads(try KeychainStore().version).moment == nil)
    }
}

/// What a device answers at once, on the thread that read the request, and what it looks for.
@Suite(.timeLimit(.minutes(10))) struct RecalledAnswersTests {
    private let device: FileDevice
    private let answers = Answers()
    private let connection: VarlinkConnection

    private final class Answers: Sendable {
        private let frames = Mutex<[(frame: Data, thread: pthread_t)]>([])
        var isEmpty: Bool { frames.withLock { $0.isEmpty } }
        func add(_ frame: Data) { frames.withLock { $0.append((frame, pthread_self())) } }
        /// The next one, with the thread that gave it.
        func take() -> (frame: Data, thread: pthread_t) { frames.withLock { $0.removeFirst() } }
    }

    init() throws {
        let device = try FileDevice()
        self.device = device
        device.run { #expect(add(account("a").value("secret")) == errSecSuccess) }
        let peer = Peer(processID: getpid(), userID: getuid(), identify: { FileDevice.app })
        connection = VarlinkConnection(
            peer: peer, router: device.device.router, write: { [answers] in answers.add($0) },
            writeThrough: { [answers] in
                answers.add($0)
                return true
            }, disconnect: {})
    }

    private struct Answer {
        var text: String
        /// Whether the thread gave it that read the request.
        var isAtOnce: Bool
        func gives(_ secret: String) -> Bool { text.contains("\"\(Data(secret.utf8).base64EncodedString())\"") }
    }

    private func ask(_ query: String = #""acct":"a","class":"genp","r_Data":true"#, rest: String = "") -> Answer {
        let values = query.split(separator: ",").map { member in
            let parts = member.split(separator: ":", maxSplits: 1)
            return parts[1] == "true" ? "\(parts[0]):{\"boolean\":true}" : "\(parts[0]):{\"string\":\(parts[1])}"
        }
        let frame = """
            {"method":"io.touchstone.Keychain.CopyMatching","parameters":{"query":{\(values.joined(separator: ","))}\(rest)}}
            """
        connection.receive(Data(frame.utf8))
        eventually { !answers.isEmpty }
        // The answer is written before the connection takes its next request: a request that comes earlier waits, and is not at once.
        let isIdle = DispatchSemaphore(value: 0)
        connection.whenIdle { isIdle.signal() }
        isIdle.wait()
        let answer = answers.take()
        return Answer(
            text: String(decoding: answer.frame, as: UTF8.self), isAtOnce: answer.thread == pthread_self())
    }

    /// Asks until it is remembered: the first request opens the key.
    private func remember() {
        _ = ask()
        let answer = ask()
        #expect(answer.gives("secret") && answer.isAtOnce, "\(answer.text)")
    }

    @Test("The first request is searched for, and the same one again is answered at once") func again() {
        let first = ask()
        #expect(first.gives("secret") && !first.isAtOnce)
        let second = ask()
        #expect(second.gives("secret") && second.isAtOnce)
        #expect(second.text == first.text)
    }

    @Test("KC-20: a locked device refuses what it answered at once before") func lock() throws {
        remember()
        try device.lock()
        let locked = ask()
        #expect(!locked.gives("secret") && !locked.isAtOnce)
        #expect(locked.text.contains("-25308"))
        try device.unlock()
        remember()
    }

    @Test("A changed item is read as it is now, and a deleted one is gone") func change() {
        remember()
        device.run { #expect(update(account("a"), [kSecValueData: Data("other".utf8)]) == errSecSuccess) }
        let changed = ask()
        #expect(changed.gives("other") && !changed.isAtOnce)
        device.run { #expect(delete(account("a")) == errSecSuccess) }
        #expect(ask().text.contains("-25300"))
    }

    @Test("KC-16: what another program does to the database is seen as before") func otherProgram() throws {
        remember()
        let queue = try device.tamperer()
        var row = try RawRow(0, in: queue)
        var secret = row.bytes("secret")
        secret[20] ^= 1
        row = row.with("secret", secret)
        try row.put(into: queue)
        #expect(ask().text.contains("-25300"))
    }

    @Test("What gives attributes or a reference, names a context or wants the owner is searched for each time")
    func others() throws {
        remember()
        for query in [#""acct":"a","class":"genp","r_Data":true,"r_Attributes":true"#, #""acct":"a","class":"genp""#] {
            for _ in 0..<3 { #expect(!ask(query).isAtOnce, "\(query)") }
        }
        for _ in 0..<3 { #expect(!ask(rest: #","context":"none""#).isAtOnce) }
        let control = try control(.userPresence)
        device.run { #expect(add(account("g", [kSecAttrAccessControl: control]).value("guarded")) == errSecSuccess) }
        for _ in 0..<3 {
            let answer = ask(#""acct":"g","class":"genp","r_Data":true"#)
            #expect(!answer.gives("guarded") && !answer.isAtOnce)
        }
    }
}
