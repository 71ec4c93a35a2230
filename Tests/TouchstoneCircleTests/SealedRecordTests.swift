import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

@Suite("Sealed records and heads (SY-4, SY-13, SY-22)")
struct SealedRecordTests {
    let laptop = TestMember("laptop")
    let desktop = TestMember("desktop")
    let chain: CircleChain
    let keys: EpochKeys

    init() throws {
        let founded = try laptop.found()
        chain = try founded.with(laptop.adding(desktop, to: founded))
        keys = try laptop.keys(chain)
    }

    private let item = RecordContent.item(
        protection: 6, accessGroup: Data("group".utf8),
        attributes: Data("attributes".utf8), binding: Data("genp0123".utf8), key: Data(repeating: 5, count: 32))

    private func header(_ counter: UInt64 = 1, of member: TestMember? = nil, account: String = "a") -> RecordHeader {
        RecordHeader(
            name: keys.recordName(itemClass: "genp", primaryKey: Data(account.utf8)), epoch: 0,
            member: (member ?? laptop).id, counter: counter, clock: ClockTime(milliseconds: 1_800_000_000_000, count: 3)
        )
    }

    private func record(
        _ header: RecordHeader, _ content: RecordContent? = nil, secret: Data = Data("secret".utf8)
    ) throws -> SealedRecord {
        try SealedRecord(
            header, content ?? item, secret: secret, under: keys.current, random: random, sign: laptop.sign)
    }

    @Test func aMemberOpensWhatAnotherSealed() throws {
        let read = try SealedRecord(record(header()).bytes)
        #expect(read.header == header())
        #expect(read.secret == Data("secret".utf8))
        #expect(read.isSigned(by: laptop.identity))
        #expect(!read.isSigned(by: desktop.identity))
        let theirs = try desktop.keys(chain)
        #expect(read.opened(with: theirs) == item)
        let gone = try SealedRecord(record(header(), .tombstone, secret: Data()).bytes)
        #expect(gone.opened(with: keys) == .tombstone)
    }

    /// DEC-587: what is said to have room has a record, and little more has none.
    @Test func theLargestRecordsAreMade() throws {
        func item(_ attributes: Int, _ group: Int) -> RecordContent {
            .item(
                protection: 6, accessGroup: Data(count: group), attributes: Data(count: attributes),
                binding: Data(count: 36), key: Data(count: 32))
        }
        for (attributes, group) in [(400, 30), (1 << 20, (1 << 16) - 1)] {
            func hasRoom(_ secret: Int) -> Bool {
                SealedRecord.hasRoom(attributes: attributes, accessGroup: group, secret: secret)
            }
            var (fits, tooLong) = (0, SealedRecord.maximumBytes)
            while fits + 1 < tooLong {
                let middle = (fits + tooLong) / 2
                if hasRoom(middle) { fits = middle } else { tooLong = middle }
            }
            let largest = try record(header(), item(attributes, group), secret: Data(count: fits))
            #expect(largest.bytes.count <= SealedRecord.maximumBytes)
            #expect(try SealedRecord(largest.bytes).opened(with: keys) == item(attributes, group))
            #expect(throws: MalformedBytes.self) {
                try record(header(), item(attributes, group), secret: Data(count: fits + 1024))
            }
        }
        // The largest password, with more than apps mostly say of one.
        #expect(SealedRecord.hasRoom(attributes: 500_000, accessGroup: 1000, secret: (16 << 20) + 1000))
        for (attributes, group) in [((1 << 20) + 1, 30), (400, 1 << 16)] {
            #expect(!SealedRecord.hasRoom(attributes: attributes, accessGroup: group, secret: 100))
            #expect(throws: MalformedBytes.self) { try record(header(), item(attributes, group)) }
        }
    }

    @Test func sizesAreInStepsAndShowNoTombstone() throws {
        for count in [0, 1, 100, 255, 256, 1000] {
            let record = try record(header(), secret: Data(count: count))
            #expect(record.bytes.count == (count < 800 ? 1024 : 1280))
        }
        let gone = try record(header(), .tombstone, secret: Data())
        #expect(gone.bytes.count == 1024)
        // Nor do the lengths inside, which everybody can read: of secrets of up to 20, and of up to 40 bytes.
        func lengths(_ record: SealedRecord) -> [Data] {
            let content = Data(record.bytes.dropFirst(85).prefix(4))
            return [content, Data(record.bytes.dropLast(64 + record.secret.count).suffix(4))]
        }
        let items = try Set([48, 68].map { lengths(try record(header(), secret: Data(count: $0))) })
        let tombstones = try Set((0..<40).map { _ in lengths(try record(header(), .tombstone, secret: Data())) })
        #expect(tombstones == items)
        // Not even of who looks for what is not random.
        #expect(gone.secret != Data(count: gone.secret.count))
        let small = RecordContent.item(
            protection: 6, accessGroup: Data(), attributes: Data(), binding: Data(), key: Data(count: 32))
        let tiny = try record(header(), small, secret: Data())
        #expect(tiny.bytes.count == 1024)
    }

    @Test func noNameOrSecretStandsInARecord() throws {
        let bytes = try record(header(account: "somebody@example.org")).bytes
        #expect(bytes.range(of: Data("somebody".utf8)) == nil)
        #expect(bytes.range(of: Data("attributes".utf8)) == nil)
        #expect(bytes.range(of: Data(repeating: 5, count: 32)) == nil)
    }

    @Test func everyFlippedBitIsRefused() throws {
        let bytes = try record(header()).bytes
        for bit in 0..<(bytes.count * 8) {
            let read = try? SealedRecord(bytes.flipped(bit: bit))
            #expect(read?.isSigned(by: laptop.identity) != true)
        }
    }

    @Test func aRecordThatWasMovedDoesNotOpenEvenWithItsWritersSignature() throws {
        // A member signs another's content under a header of its own: the content does not open there.
        let original = try record(header(1))
        let content = original.bytes.dropLast(64)
        for moved in [
            header(2), header(1, account: "b"), header(1, of: desktop),
            RecordHeader(
                name: header().name, epoch: 0, member: laptop.id, counter: 1, clock: ClockTime(milliseconds: 5)),
        ] {
            var writer = ByteWriter()
            moved.write(to: &writer)
            let signed = content.prefix(1) + writer.bytes + content.dropFirst(1 + writer.bytes.count)
            let signer = moved.member == desktop.id ? desktop : laptop
            let forged = try SealedRecord(signed + (try signer.sign(Purpose.record.text + signed)))
            #expect(forged.isSigned(by: signer.identity))
            #expect(forged.opened(with: keys) == nil)
        }
        #expect(original.opened(with: keys) == item)
    }

    @Test func anotherSecretIsNoticed() throws {
        let one = try record(header(), secret: Data("secret".utf8))
        let signed = one.bytes.dropLast(64 + 6) + Data("SECRET".utf8)
        let forged = try SealedRecord(signed + (try laptop.sign(Purpose.record.text + signed)))
        #expect(forged.opened(with: keys) == nil)
    }

    @Test func whoWasRemovedOpensNoRecordOfTheNextEpoch() throws {
        let old = try desktop.keys(chain)
        let next = try chain.with(laptop.removing(desktop, from: chain))
        let newKeys = try laptop.keys(next)
        let header = RecordHeader(
            name: header().name, epoch: 1, member: laptop.id, counter: 9, clock: ClockTime(milliseconds: 1))
        let record = try SealedRecord(
            header, item, secret: Data(), under: newKeys.current, random: random, sign: laptop.sign)
        #expect(record.opened(with: old) == nil)
        #expect(record.opened(with: newKeys) == item)
    }

    @Test func truncatedRecordsAreRefused() throws {
        let bytes = try record(header()).bytes
        for count in 0..<bytes.count { #expect(throws: MalformedBytes.self) { try SealedRecord(bytes.prefix(count)) } }
        #expect(throws: MalformedBytes.self) { try SealedRecord(bytes + Data(count: 256)) }
    }

    @Test func aHeadIsReadAsItWasSignedAndNotWithAFlippedBit() throws {
        let head = MemberHead(
            member: laptop.id, sequence: 4, counter: 9, time: 1_800_000_000_000, epoch: 0, link: 1,
            linkHash: chain.head,
            sum: RecordSum([], key: SymmetricKey(size: .bits256)),
            newestSum: RecordSum([], key: SymmetricKey(size: .bits256)),
            seen: [laptop.id: 9, desktop.id: 2], stable: [laptop.id: 8])
        let bytes = try head.bytes(sign: laptop.sign)
        let identity = { (member: MemberID) in self.chain.members[member]?.identity }
        let read = try MemberHead(bytes, identity: identity)
        #expect(read == head)
        let ofAnother = try MemberHead(bytes, identity: { _ in self.desktop.identity })
        #expect(ofAnother == nil)
        for bit in 0..<(bytes.count * 8) {
            let read = try? MemberHead(bytes.flipped(bit: bit), identity: identity)
            #expect(read == nil)
        }
        for count in 0..<bytes.count {
            let read = try? MemberHead(bytes.prefix(count), identity: identity)
            #expect(read == nil)
        }
    }

    @Test func aSumDependsOnAllThatARecordSaysOfItself() {
        let key = SymmetricKey(size: .bits256)
        let one = RecordVersion(header(1), isTombstone: false)
        let two = RecordVersion(header(2), isTombstone: false)
        let others = [
            [one], [two], [], [one, RecordVersion(header(2), isTombstone: true)],
            [one, RecordVersion(header(2, account: "b"), isTombstone: false)],
        ].map { RecordSum($0, key: key) }
        let sum = RecordSum([one, two], key: key)
        #expect(!others.contains(sum))
        #expect(sum == RecordSum([one, two], key: key))
        #expect(sum != RecordSum([one, two], key: SymmetricKey(size: .bits256)))
    }

    @Test func whatNobodyWouldReadIsNotWritten() {
        for content in [
            RecordContent.item(
                protection: 6, accessGroup: Data(), attributes: Data(count: 1 << 20 + 1), binding: Data(),
                key: Data(count: 32)),
            .item(
                protection: 6, accessGroup: Data(), attributes: Data(), binding: Data(count: 257), key: Data(count: 32)),
            .item(protection: 6, accessGroup: Data(), attributes: Data(), binding: Data(), key: Data(count: 31)),
            .item(
                protection: 6, accessGroup: Data(count: 1 << 16), attributes: Data(), binding: Data(),
                key: Data(count: 32)),
        ] {
            #expect(throws: MalformedBytes.self) { try record(header(), content) }
        }
    }
}

@Suite("The clock of writes (SY-20)")
struct HybridClockTests {
    @Test func aWriteIsAfterAllThatWasSeen() {
        var clock = HybridClock()
        let first = clock.tick(now: 100)
        #expect(first == ClockTime(milliseconds: 100))
        #expect(clock.tick(now: 100) == ClockTime(milliseconds: 100, count: 1))
        // The wall clock went back.
        #expect(clock.tick(now: 50) == ClockTime(milliseconds: 100, count: 2))
        clock.see(ClockTime(milliseconds: 900, count: .max))
        #expect(clock.tick(now: 200) == ClockTime(milliseconds: 901))
        #expect(clock.tick(now: 1000) == ClockTime(milliseconds: 1000))
    }

    @Test func aDayAheadIsTakenAndMoreIsNot() {
        let day = ClockTime.longestAhead
        #expect(!ClockTime(milliseconds: 1000 + day).isAhead(of: 1000))
        #expect(ClockTime(milliseconds: 1001 + day).isAhead(of: 1000))
        #expect(!ClockTime(milliseconds: 5).isAhead(of: 0))
    }
}
