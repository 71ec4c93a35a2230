import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

@Suite("The chain of a circle's signed changes (SY-11)")
struct CircleChainTests {
    let laptop = TestMember("laptop")
    let desktop = TestMember("desktop")
    let phone = TestMember("phone")

    /// Founded, one added, another added, the second removed.
    private func history() throws -> CircleChain {
        var chain = try laptop.found()
        chain = try chain.with(laptop.adding(desktop, to: chain))
        chain = try chain.with(desktop.adding(phone, to: chain))
        return try chain.with(laptop.removing(desktop, from: chain, lastCounter: 7))
    }

    @Test func aWholeChainIsReadAsItWasMade() throws {
        let chain = try history()
        let read = try CircleChain(chain.allBytes)
        #expect(read.members.mapValues(\.name) == [laptop.id: "laptop", phone.id: "phone"])
        #expect(read.removed[desktop.id]?.lastCounter == 7)
        #expect(read.removed[desktop.id]?.remover == laptop.id)
        #expect(read.epoch == 1)
        #expect(read.head == chain.head)
    }

    @Test func everyFlippedBitOfALinkIsRefused() throws {
        let chain = try history()
        for place in chain.links.indices {
            let bytes = chain.links[place].bytes
            // Every bit of the frame, and some of what is long: all is under the same signature.
            for bit in Array(0..<(80 * 8)) + Array(stride(from: 80 * 8, to: bytes.count * 8, by: 61)) {
                var links = chain.allBytes
                links[place] = bytes.flipped(bit: bit)
                #expect(throws: ChainError.self) { try CircleChain(links) }
            }
        }
    }

    @Test func aForgedLinkIsRefused() throws {
        let chain = try history()
        let stranger = TestMember("stranger")
        // By somebody who is no member, with the keys of one.
        let keys = try laptop.keys(chain)
        let byStranger = try chain.adding(
            stranger.identity, named: "stranger", by: stranger.id, keys: keys, sign: stranger.sign)
        #expect(throws: ChainError.notMember) { try chain.with(byStranger) }
        // In a member's name.
        let inMembersName = try chain.adding(
            stranger.identity, named: "stranger", by: laptop.id, keys: keys, sign: stranger.sign)
        #expect(throws: ChainError.badSignature) { try chain.with(inMembersName) }
        // By one that was removed.
        let byRemoved = try chain.adding(
            stranger.identity, named: "stranger", by: desktop.id, keys: keys, sign: desktop.sign)
        #expect(throws: ChainError.notMember) { try chain.with(byRemoved) }
        // The same link by a member is taken.
        let grown = try chain.with(laptop.adding(stranger, to: chain))
        #expect(grown.members[stranger.id] != nil)
    }

    @Test("SY-14: a recovery key signs nothing but the addition of a device") func whatARecoveryKeySigns() throws {
        let paper = TestMember("paper")
        var chain = try laptop.found()
        chain = try chain.with(
            laptop.adding(desktop, to: chain))
        chain = try chain.with(
            chain.adding(
                paper.identity, named: "paper", isRecoveryKey: true, by: laptop.id, keys: laptop.keys(chain),
                sign: laptop.sign))
        #expect(chain.hasDevices(but: laptop.id))
        #expect(throws: ChainError.notMember) { try chain.with(paper.removing(laptop, from: chain)) }
        #expect(throws: ChainError.notMember) {
            try chain.with(
                chain.adding(
                    phone.identity, named: "phone", isRecoveryKey: true, by: paper.id, keys: paper.keys(chain),
                    sign: paper.sign))
        }
        #expect(throws: ChainError.notMember) {
            try chain.with(chain.leaving(paper.id, lastCounter: 0, sign: paper.sign))
        }
        #expect(try chain.with(paper.adding(phone, to: chain)).members[phone.id]?.isRecoveryKey == false)
        // A device left by itself: nobody but a recovery key adds one before there is a new epoch.
        let left = try chain.with(chain.leaving(desktop.id, lastCounter: 0, sign: desktop.sign))
        #expect(throws: ChainError.wrongEpoch) { try left.with(laptop.adding(phone, to: left)) }
        #expect(throws: ChainError.wrongEpoch) {
            try left.with(
                left.beginningEpoch(by: paper.id, keys: paper.keys(left), random: random, sign: paper.sign))
        }
        let back = try left.with(paper.adding(phone, to: left))
        #expect(back.needsEpoch)
        let next = try back.with(
            back.beginningEpoch(by: phone.id, keys: phone.keys(back), random: random, sign: phone.sign))
        #expect(next.removed[desktop.id]?.remover == phone.id)
        #expect(!next.needsEpoch)
    }

    @Test func reorderedLinksAreRefused() throws {
        let links = try history().allBytes
        for first in links.indices {
            for second in links.indices where second > first {
                var swapped = links
                swapped.swapAt(first, second)
                #expect(throws: ChainError.self) { try CircleChain(swapped) }
            }
            var without = links
            without.remove(at: first)
            if first < links.count - 1 { #expect(throws: ChainError.self) { try CircleChain(without) } }
        }
    }

    @Test func aTruncatedChainIsRefusedByWhoKnowsMore() throws {
        var chain = try history()
        let links = chain.allBytes
        for count in 1..<links.count {
            #expect(throws: ChainError.rolledBack) { try chain.accept(whole: Array(links.prefix(count))) }
        }
        #expect(chain.links.count == 4)
        try chain.accept(whole: links)
    }

    @Test func ofTwoChangesAtOnceOneWinsAndTheOtherTriesAgain() throws {
        let chain = try history()
        let tablet = TestMember("tablet")
        let ours = try laptop.adding(tablet, to: chain)
        let theirs = try phone.removing(laptop, from: chain)
        var known = try chain.with(ours)
        #expect(throws: ChainError.forked) { try known.accept([theirs.bytes]) }
        #expect(throws: ChainError.forked) { try known.accept(whole: try chain.with(theirs).allBytes) }
        #expect(known.links.count == 5)
        // Made again on what has won.
        known = try known.with(phone.removing(laptop, from: known))
        #expect(known.members.keys.sorted() == [phone.id, tablet.id].sorted())
    }

    @Test func anotherSignatureOfTheSameLinkIsNoFork() throws {
        let founded = try laptop.found()
        let link = try laptop.adding(desktop, to: founded)
        var chain = try founded.with(link)
        // Signed twice: ECDSA has many signatures for the same.
        let signed = link.bytes.dropLast(64)
        let again = signed + (try laptop.sign(Purpose.link.text + signed))
        #expect(again != link.bytes)
        try chain.accept([again])
        #expect(throws: ChainError.badSignature) { try founded.with(CircleLink(signed + Data(count: 64))) }
    }

    @Test func aLinkOfAnotherCircleIsRefused() throws {
        let one = try laptop.found()
        let other = try laptop.found()
        #expect(one.circle != other.circle)
        #expect(throws: ChainError.forked) { try one.with(laptop.adding(desktop, to: other)) }
    }

    @Test func whoWasRemovedComesBackOnlyWithOtherKeys() throws {
        let chain = try history()
        #expect(throws: ChainError.wasRemoved) { try chain.with(laptop.adding(desktop, to: chain)) }
        #expect(throws: ChainError.notMember) {
            try chain.with(
                chain.adding(
                    phone.identity, named: "second", by: laptop.id, keys: laptop.keys(chain), sign: laptop.sign))
        }
        let renewed = TestMember("desktop")
        let grown = try chain.with(laptop.adding(renewed, to: chain))
        #expect(grown.members[renewed.id] != nil)
    }

    @Test func afterAMemberLeftNothingButANewEpochFollows() throws {
        var chain = try history()
        chain = try chain.with(laptop.leavingLink(chain))
        #expect(chain.needsEpoch)
        let tablet = TestMember("tablet")
        #expect(throws: ChainError.wrongEpoch) { try chain.with(phone.adding(tablet, to: chain)) }
        let epoch = try chain.beginningEpoch(
            by: phone.id, keys: phone.keys(chain), random: random, sign: phone.sign)
        chain = try chain.with(epoch)
        #expect(!chain.needsEpoch)
        #expect(chain.adopter(of: laptop.id) == phone.id)
        // Whom it had removed goes with it.
        #expect(chain.adopter(of: desktop.id) == phone.id)
        #expect(throws: UnusableEpoch.self) { try laptop.keys(chain) }
        // The last one has nobody to leave it to.
        #expect(throws: ChainError.wrongEpoch) { try chain.with(phone.leavingLink(chain)) }
    }

    @Test func anEpochWithoutAReasonIsRefused() throws {
        // Otherwise one member could fill the chain, and nobody could be removed any more.
        let chain = try history()
        let link = try chain.beginningEpoch(by: phone.id, keys: phone.keys(chain), random: random, sign: phone.sign)
        #expect(throws: ChainError.wrongEpoch) { try chain.with(link) }
    }

    @Test func theLastLinksOfAChainAreForRemovals() {
        // So each of the members can leave, and an epoch begin after it.
        let last = CircleChain.Limits.links - 2 * CircleChain.Limits.members
        #expect(CircleChain.hasRoomToAdd(members: 2, links: last - 1, bytes: 0))
        #expect(!CircleChain.hasRoomToAdd(members: 2, links: last, bytes: 0))
        #expect(CircleChain.hasRoomToAdd(members: CircleChain.Limits.members - 1, links: 9, bytes: 0))
        #expect(!CircleChain.hasRoomToAdd(members: CircleChain.Limits.members, links: 9, bytes: 0))
        #expect(CircleChain.hasRoomToAdd(members: 2, links: 9, bytes: (256 << 10) - 1))
        #expect(!CircleChain.hasRoomToAdd(members: 2, links: 9, bytes: 256 << 10))
    }

    @Test("A member that makes the chain long can be removed, and the enclave's file has room for it")
    func aChainHasSoManyBytes() throws {
        let (owner, hostile) = (TestMember("owner"), TestMember("hostile"))
        var chain = try owner.found()
        for other in [hostile] + (0..<29).map({ TestMember("member \($0)") }) {
            chain = try chain.with(owner.adding(other, to: chain))
        }
        // The largest links: each of them begins an epoch for 30 members.
        var rounds = 0
        while chain.hasRoomToAdd, rounds < 1000 {
            let guest = TestMember("guest \(rounds)")
            chain = try chain.with(hostile.adding(guest, to: chain))
            chain = try chain.with(hostile.removing(guest, from: chain))
            rounds += 1
        }
        #expect((10..<1000).contains(rounds))
        #expect(throws: ChainError.full) { try chain.with(hostile.adding(TestMember("more"), to: chain)) }
        chain = try chain.with(owner.removing(hostile, from: chain))
        // All others, too.
        for member in chain.members.keys where member != owner.id {
            chain = try chain.with(
                chain.removing(
                    member, lastCounter: 0, by: owner.id, keys: owner.keys(chain), random: random, sign: owner.sign))
        }
        #expect(chain.members.count == 1)
        // In base64, in a file of 1 MiB.
        #expect(chain.allBytes.reduce(0) { $0 + $1.count } < 512 << 10)
    }

    @Test func aNameThatIsTakenIsRefused() throws {
        // The owner says by its name which device to remove.
        let chain = try history()
        let second = TestMember("phone")
        #expect(throws: ChainError.nameTaken) { try laptop.adding(second, to: chain) }
        let link = try CircleLink(
            .add(
                second.identity, name: "phone", isRecoveryKey: false,
                box: EpochStart.seal(laptop.keys(chain).current, to: second.identity, nonce: chain.nonce)),
            number: UInt32(chain.links.count), previous: chain.head, signer: laptop.id, sign: laptop.sign)
        #expect(throws: ChainError.nameTaken) { try chain.with(link) }
        // Of one that was removed it is free.
        let again = try chain.with(laptop.adding(TestMember("desktop"), to: chain))
        #expect(again.members.count == 3)
    }

    @Test func theChainSaysWhichMemberIsARecoveryKey() throws {
        let chain = try history()
        let paper = TestMember("paper")
        let link = try chain.adding(
            paper.identity, named: "paper", isRecoveryKey: true, by: laptop.id, keys: laptop.keys(chain),
            sign: laptop.sign)
        let grown = try CircleChain(chain.with(link).allBytes)
        #expect(grown.members[paper.id]?.isRecoveryKey == true)
        #expect(grown.members[phone.id]?.isRecoveryKey == false)
        #expect(grown.membership.recoveryKeys == [paper.id])
    }

    @Test func aCounterThatNoJSONHasRoomForIsRefused() throws {
        let chain = try history()
        for (counter, isRead) in [(UInt64(1) << 53, true), (1 << 53 + 1, false), (.max, false)] {
            let link = try laptop.removing(phone, from: chain, lastCounter: counter)
            #expect(((try? CircleLink(link.bytes)) != nil) == isRead)
        }
    }

    @Test func whoRemovesAnotherCannotKeepTheEpoch() throws {
        let chain = try history()
        let link = try CircleLink(
            .remove(phone.id, lastCounter: 0, nil), number: UInt32(chain.links.count), previous: chain.head,
            signer: laptop.id, sign: laptop.sign)
        #expect(throws: ChainError.wrongEpoch) { try chain.with(link) }
    }

    @Test func aNameThatHidesWhatItIsIsRefused() throws {
        let chain = try history()
        for name in ["", String(repeating: "x", count: 65), "lap\ntop", "lap\u{202E}top", "\u{7}"] {
            #expect(throws: ChainError.invalidName) { try laptop.adding(TestMember(name), to: chain) }
            #expect(throws: ChainError.invalidName) { try TestMember(name).found() }
            let link = try CircleLink(
                .add(TestMember("").identity, name: name, isRecoveryKey: false, box: Data(count: EpochStart.boxBytes)),
                number: UInt32(chain.links.count), previous: chain.head, signer: laptop.id, sign: laptop.sign)
            #expect(throws: ChainError.malformed) { try chain.with(link) }
        }
    }
}

extension TestMember {
    fileprivate func leavingLink(_ chain: CircleChain) throws -> CircleLink {
        try chain.leaving(id, lastCounter: 0, sign: sign)
    }
}

@Suite("The keys of epochs (SY-12)")
struct EpochKeysTests {
    let laptop = TestMember("laptop")
    let desktop = TestMember("desktop")

    @Test func aNewMemberOpensWhatWasWrittenBefore() throws {
        var chain = try laptop.found()
        let guest = TestMember("guest")
        chain = try chain.with(laptop.adding(guest, to: chain))
        chain = try chain.with(laptop.removing(guest, from: chain))
        chain = try chain.with(laptop.adding(desktop, to: chain))
        let (mine, theirs) = (try laptop.keys(chain), try desktop.keys(chain))
        for epoch in UInt32(0)...1 {
            #expect(mine[epoch]?.commitment == theirs[epoch]?.commitment)
            #expect(theirs[epoch] != nil)
        }
        #expect(theirs[2] == nil)
        let key = Data("a".utf8)
        let name = mine.recordName(itemClass: "genp", primaryKey: key)
        #expect(theirs.recordName(itemClass: "genp", primaryKey: key) == name)
        #expect(theirs.recordName(itemClass: "inet", primaryKey: key) != name)
    }

    @Test func whoWasRemovedOpensNothingNew() throws {
        var chain = try laptop.found()
        chain = try chain.with(laptop.adding(desktop, to: chain))
        let before = try desktop.keys(chain)
        chain = try chain.with(laptop.removing(desktop, from: chain))
        #expect(throws: UnusableEpoch.self) { try desktop.keys(chain) }
        let after = try laptop.keys(chain)
        #expect(after.current.number == 1)
        #expect(before[1] == nil)
        // No box, whoever's place it is put into, opens with the removed keys.
        for box in chain.epochs[1].boxes.values {
            var recipient = try HPKE.Recipient(
                privateKey: desktop.sealing, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Purpose.epochKey.text,
                encapsulatedKey: box.prefix(32))
            for member in [laptop.id, desktop.id] {
                #expect(throws: (any Error).self) {
                    try recipient.open(
                        box.dropFirst(32), authenticating: EpochStart.context(1, chain.nonce) + member.bytes)
                }
            }
        }
    }

    /// `hostile` removes a guest, and gives nobody a key that is of use, or the one before.
    private func spoiled(boxes: Bool) throws -> (CircleChain, hostile: TestMember, third: TestMember) {
        let (hostile, third) = (TestMember("hostile"), TestMember("third"))
        var chain = try laptop.found()
        for member in [desktop, hostile, third] { chain = try chain.with(laptop.adding(member, to: chain)) }
        let members = [laptop, desktop, hostile].map(\.identity)
        let key = EpochKeys.fresh(1, random: random)
        var start = try EpochStart(
            key, after: hostile.keys(chain).current, for: members, nonce: chain.nonce, random: random)
        if boxes {
            start.boxes = start.boxes.map { ($0.member, Data(count: EpochStart.boxBytes)) }
        } else {
            start.earlier?.sealed = Data(count: 60)
        }
        let link = try CircleLink(
            .remove(third.id, lastCounter: 0, start), number: UInt32(chain.links.count), previous: chain.head,
            signer: hostile.id, sign: hostile.sign)
        return (try chain.with(link), hostile, third)
    }

    @Test(arguments: [true, false]) func whoSpoilsAnEpochCanBeRemoved(boxes: Bool) throws {
        let (bad, hostile, third) = try spoiled(boxes: boxes)
        var chain = bad
        if boxes { #expect(throws: UnusableEpoch.self) { try laptop.keys(chain) } }
        let remains = try EpochKeys(remainsOf: chain, of: laptop.id, opening: laptop.sealing)
        if boxes {
            #expect(throws: UnusableEpoch.self) {
                try chain.adding(
                    TestMember("new").identity, named: "new", by: laptop.id, keys: remains, sign: laptop.sign)
            }
        }
        let link = try chain.removing(
            hostile.id, lastCounter: 0, by: laptop.id, keys: remains, random: random, sign: laptop.sign)
        chain = try chain.with(CircleLink(link.bytes))
        // All others, and whoever comes, have the newest and the first key again.
        let new = TestMember("new")
        chain = try chain.with(desktop.adding(new, to: chain))
        let name = try laptop.keys(chain).recordName(itemClass: "genp", primaryKey: Data())
        for member in [laptop, desktop, new] {
            let keys = try member.keys(chain)
            #expect(keys.current.number == 2)
            #expect(keys.recordName(itemClass: "genp", primaryKey: Data()) == name)
            #expect(keys.count == 3)
        }
        for member in [hostile, third] { #expect(throws: UnusableEpoch.self) { try member.keys(chain) } }
    }

    @Test func aMemberNoticesAnotherKeyThanTheOthersHave() throws {
        let chain = try laptop.found()
        // A hostile member seals some other key to the new one.
        let box = try EpochStart.seal(EpochKeys.fresh(0, random: random), to: desktop.identity, nonce: chain.nonce)
        let link = try CircleLink(
            .add(desktop.identity, name: "desktop", isRecoveryKey: false, box: box), number: 1, previous: chain.head,
            signer: laptop.id,
            sign: laptop.sign)
        let joined = try chain.with(link)
        #expect(throws: UnusableEpoch.self) { try desktop.keys(joined) }
    }
}
