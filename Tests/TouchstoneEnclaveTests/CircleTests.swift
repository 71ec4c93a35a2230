import Foundation
import Testing
import TouchstoneCircle
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave

/// A device whose circle a test changes.
private struct Member {
    var enclave: Enclave

    init(passcode: String? = "1234") throws {
        enclave = try .device(passcode: passcode, fingers: passcode == nil ? 0 : 1)
    }

    /// - Returns: Whether the passcode was right.
    @discardableResult
    mutating func agree(
        to change: CircleChange, passcode: String = "1234", for purpose: SealedPasscode.Purpose? = nil
    ) throws -> Bool {
        let sealed = try seal(
            passcode, to: enclave.passcodePublicKey(), nonce: enclave.freshNonce(), for: purpose ?? change.purpose)
        return try agree(to: change, sealed)
    }

    private mutating func agree(to change: CircleChange, _ sealed: SealedPasscode) throws -> Bool {
        let job = try enclave.authorize(change, sealed, now: 0)
        let key = try #require(job.current).run()
        return enclave.finishCircle(change, ticket: "t", key: key, now: 0).last?.outcome == .succeeded
    }

    mutating func found(_ name: String = "desk") throws {
        #expect(try agree(to: enclave.checkFounding(named: name)))
    }

    /// A passcode and a recovery key's secret, sealed together.
    func sealed(
        _ secret: Data, with passcode: String = "1234", for purpose: SealedPasscode.Purpose, nonce: Data
    ) throws -> SealedPasscode {
        try seal([Data(passcode.utf8), secret], to: enclave.passcodePublicKey(), nonce: nonce, for: purpose)
    }

    mutating func addRecoveryKey(_ secret: Data, named name: String = "paper") throws {
        let sealed = try sealed(secret, for: .addRecoveryKey(name: name), nonce: enclave.freshNonce())
        #expect(try agree(to: enclave.checkAddingRecoveryKey(named: name, sealed), sealed))
        _ = try takeProposed()
    }

    @discardableResult
    mutating func recover(
        _ links: [Data], _ secret: Data, named name: String = "new", passcode: String = "1234"
    ) throws -> Bool {
        let purpose = RecoveredCircle.purpose(try CircleChain(links), name)
        let sealed = try sealed(secret, with: passcode, for: purpose, nonce: enclave.freshNonce())
        return try agree(to: enclave.checkRecovering(links, named: name, sealed), sealed)
    }

    var facts: Enclave.CircleFacts? { enclave.circleFacts() }
    var member: MemberID { get throws { try #require(facts?.member) } }

    /// Carries the proposed link to the store and back.
    mutating func takeProposed() throws -> [Data] {
        let links = try #require(facts).links + [#require(facts?.proposed)]
        _ = try enclave.addLinks(links)
        return links
    }

    mutating func admit(_ other: inout Member, join name: String = "lap") throws {
        let application = try other.enclave.applyToCircle(named: name)
        let challenge = try enclave.challenge(application)
        let reveal = try other.enclave.reveal(to: challenge)
        #expect(try agree(to: enclave.checkApproving(application, reveal: reveal)))
        let links = try takeProposed()
        #expect(try other.agree(to: other.enclave.checkJoining(links)))
    }

    static let binding = Enclave.ItemBinding(accessGroup: "group", item: Data(repeating: 3, count: 36))
    static let itemKey = Data(repeating: 9, count: 32)

    func wrapped(_ protection: Accessibility, _ flags: AccessControl.Flags = []) throws -> Data {
        try enclave.wrap(
            .init(
                accessControl: AccessControl(protection: protection, flags: flags), binding: Self.binding,
                key: Self.itemKey, app: "", context: nil), now: 0)
    }

    func sealed(_ wrapped: Data, counter: UInt64 = 1) throws -> Enclave.SealedVerdict {
        let request = Enclave.RecordRequest(
            name: RecordName(bytes: Data(repeating: 1, count: 32)), counter: counter,
            clock: ClockTime(milliseconds: 1000),
            item: .init(
                wrapped: .init(wrappedKey: wrapped, binding: Self.binding), attributes: Data("attributes".utf8),
                secret: Data("ciphertext".utf8)))
        return try #require(enclave.sealRecords([request]).first)
    }

    func record(_ protection: Accessibility = .whenUnlocked, counter: UInt64 = 1) throws -> Data {
        guard case .sealed(let record) = try sealed(wrapped(protection), counter: counter) else {
            throw Enclave.CircleRefused(.locked)
        }
        return record
    }

    func opened(_ record: Data) throws -> Enclave.OpenedVerdict {
        try #require(enclave.openRecords([record], now: 0).first)
    }
}

/// The circle where its keys are (SY-10 to SY-13).
@Suite(.timeLimit(.minutes(10))) struct CircleTests {
    private func refused(_ reason: Enclave.CircleReason, _ body: () throws -> some Any) {
        #expect(throws: Enclave.CircleRefused(reason)) { _ = try body() }
    }

    @Test("SY-11: a circle is founded with the passcode that was sealed for this name") func found() throws {
        var device = try Member()
        let change = try device.enclave.checkFounding(named: "desk")
        #expect(throws: Enclave.Refused.self) { try device.agree(to: change, for: .foundCircle(name: "other")) }
        #expect(throws: Enclave.Refused.self) { try device.agree(to: change, for: .unlock) }
        #expect(try !device.agree(to: change, passcode: "9999"))
        #expect(device.facts == nil)
        #expect(try device.agree(to: change))
        #expect(device.facts?.links.count == 1)
        refused(.inCircle) { try device.enclave.checkFounding(named: "desk") }
    }

    @Test("DEC-461: without a passcode, while locked, and with a name that hides there is no circle") func notFounded()
        throws
    {
        refused(.passcodeNotSet) { try Member(passcode: nil).enclave.checkFounding(named: "desk") }
        var device = try Member()
        refused(.invalidName) { try device.enclave.checkFounding(named: "a\u{202E}b") }
        _ = device.enclave.lock(now: 0)
        refused(.locked) { try device.enclave.checkFounding(named: "desk") }
    }

    @Test("SY-10, SY-13: a device that joined opens what the other one sealed") func join() throws {
        var (one, two) = (try Member(), try Member())
        try one.found()
        let before = try one.record()
        try one.admit(&two)
        for record in try [before, one.record(.afterFirstUnlock, counter: 2), one.record(.always, counter: 3)] {
            guard case .item(let item) = try two.opened(record) else {
                Issue.record("not opened")
                continue
            }
            #expect(item.attributes == Data("attributes".utf8))
            // The key is wrapped for the other device, and is the same.
            #expect(one.enclave.unwrap(item.wrapped, app: "", context: nil).key == nil)
            #expect(two.enclave.unwrap(item.wrapped, app: "", context: nil).key == Member.itemKey)
        }
        var flipped = before
        flipped[200] ^= 1
        guard case .forged = try two.opened(flipped) else { return #expect(Bool(false), "forged") }
    }

    @Test("SY-10: the passcode is good for the device whose digits were compared, on both sides") func otherDevice()
        throws
    {
        var (one, two, three) = (try Member(), try Member(), try Member())
        try one.found()
        let application = try two.enclave.applyToCircle(named: "lap")
        let challenge = try one.enclave.challenge(application)
        let reveal = try two.enclave.reveal(to: challenge)
        let change = try one.enclave.checkApproving(application, reveal: reveal)
        let other = SealedPasscode.Purpose.approveDevice(digest: String(repeating: "0", count: 64))
        #expect(throws: Enclave.Refused.self) { try one.agree(to: change, for: other) }
        refused(.invalidReveal) { try one.enclave.checkApproving(application, reveal: Data(count: 32)) }
        // A newer application takes the challenge with it.
        _ = try one.enclave.challenge(three.enclave.applyToCircle(named: "lap"))
        refused(.noChallenge) { try one.enclave.checkApproving(application, reveal: reveal) }
        // A circle that somebody else made.
        three.enclave.leaveCircle()
        try three.found("evil")
        let foreign = try #require(three.facts).links
        refused(.otherChallenge) { try two.enclave.checkJoining(foreign) }
        refused(.otherChallenge) { try two.enclave.reveal(to: three.enclave.challenge(application)) }
    }

    @Test("SY-10: few numbers are said to others until the passcode is given, over a restart too") func numbers() throws
    {
        var one = try Member()
        try one.found()
        for _ in 0..<Enclave.Limits.joinNumbers {
            var other = try Member()
            _ = try one.enclave.challenge(other.enclave.applyToCircle(named: "lap"))
        }
        var other = try Member()
        let application = try other.enclave.applyToCircle(named: "lap")
        refused(.tooOften) { try one.enclave.challenge(application) }
        one.enclave = try one.enclave.restarted()
        #expect(try one.enclave.unlock("1234"))
        _ = try one.enclave.challenge(application)
        let again = try one.enclave.challenge(application)
        #expect(try one.enclave.challenge(application) == again)
    }

    @Test("SY-11: a proposed link counts once it came back, and not where another has its place") func proposed() throws
    {
        var (one, two, three) = (try Member(), try Member(), try Member())
        try one.found()
        try one.admit(&two)
        let name = try #require(one.facts).links.count
        #expect(try one.agree(to: one.enclave.checkRemoving(two.member, named: "lap", lastCounter: 0)))
        #expect(one.facts?.proposed != nil)
        #expect(one.facts?.links.count == name)
        // The other one was faster.
        try two.admit(&three, join: "pad")
        _ = try one.enclave.addLinks(#require(two.facts).links)
        #expect(one.facts?.proposed == nil)
        #expect(one.facts?.links == two.facts?.links)
    }

    @Test("SY-12: who is removed has no circle, and opens nothing newer") func removed() throws {
        var (one, two) = (try Member(), try Member())
        try one.found()
        try one.admit(&two)
        let old = two
        refused(.noMember) { try one.enclave.checkRemoving(two.member, named: "desk", lastCounter: 0) }
        #expect(try one.agree(to: one.enclave.checkRemoving(two.member, named: "lap", lastCounter: 0)))
        let links = try one.takeProposed()
        guard case .waiting = try old.opened(one.record()) else { return #expect(Bool(false), "not opened") }
        _ = try two.enclave.addLinks(links)
        #expect(two.facts == nil)
    }

    @Test("SY-11: a device leaves with a link, or at once where no link can reach the others") func leave() throws {
        var (one, two) = (try Member(), try Member())
        try one.found()
        try one.admit(&two)
        let me = try two.member
        #expect(try two.agree(to: two.enclave.checkRemoving(me, named: "lap", lastCounter: 0)))
        var leaving = two
        #expect(try leaving.agree(to: leaving.enclave.checkRemoving(me, named: "lap", lastCounter: 0)))
        #expect(leaving.facts == nil)
        let links = try two.takeProposed()
        #expect(two.facts == nil)
        _ = try one.enclave.addLinks(links)
        // Who left knows the present key: the next epoch is proposed at once.
        #expect(one.facts?.proposed != nil)
        _ = try one.takeProposed()
        let alone = try one.member
        #expect(try one.agree(to: one.enclave.checkRemoving(alone, named: "desk", lastCounter: 0)))
        #expect(one.facts == nil)
    }

    private static let secret = Data(1...16)

    @Test("SY-14: a recovery key lets a new device in, which opens all that was sealed before") func recovery() throws {
        var (one, two) = (try Member(), try Member())
        try one.found()
        let before = try one.record()
        try one.addRecoveryKey(Self.secret)
        let links = try #require(one.facts).links
        #expect(try two.recover(links, Self.secret))
        // Not before its link came back from the store.
        guard case .locked = try two.opened(before) else { return #expect(Bool(false), "too early") }
        _ = try two.takeProposed()
        for record in try [before, one.record(counter: 2)] {
            guard case .item = try two.opened(record) else { return #expect(Bool(false), "not opened") }
        }
        _ = try one.enclave.addLinks(#require(two.facts).links)
        guard case .item = try one.opened(two.record()) else { return #expect(Bool(false), "and back") }
    }

    @Test("SY-14: the wrong words, removed ones, another circle's and an altered chain let nobody in")
    func notRecovered()
        throws
    {
        var (one, two, three) = (try Member(), try Member(), try Member())
        try one.found()
        try one.addRecoveryKey(Self.secret)
        let links = try #require(one.facts).links
        refused(.wrongRecoveryKey) { try two.recover(links, Data(repeating: 9, count: 16)) }
        refused(.wrongRecoveryKey) { try two.recover(links, Data(count: 15)) }
        refused(.nameTaken) { try two.recover(links, Self.secret, named: "desk") }
        refused(.invalidName) { try two.recover(links, Self.secret, named: "a\nb") }
        #expect(try !two.recover(links, Self.secret, passcode: "9999"))
        #expect(two.facts == nil)
        try three.found("other")
        try three.addRecoveryKey(Data(repeating: 9, count: 16))
        refused(.wrongRecoveryKey) { try two.recover(#require(three.facts).links, Self.secret) }
        refused(.inCircle) { try three.recover(links, Self.secret) }
        #expect(throws: ChainError.self) { try two.recover([links[1]], Self.secret) }
        // The passcode and the words are for one chain and one name.
        let sealed = try two.sealed(
            Self.secret, for: RecoveredCircle.purpose(CircleChain(links), "new"), nonce: two.enclave.freshNonce())
        #expect(throws: Enclave.Refused.self) { try two.enclave.checkRecovering([links[0]], named: "new", sealed) }
        #expect(throws: Enclave.Refused.self) { try two.enclave.checkRecovering(links, named: "evil", sealed) }
        let recoveryKey = try CircleChain(links).members.values.first { $0.isRecoveryKey }
        let paper = try #require(recoveryKey).identity.id
        #expect(try one.agree(to: one.enclave.checkRemoving(paper, named: "paper", lastCounter: 0)))
        let removed = try one.takeProposed()
        refused(.removedRecoveryKey) { try two.recover(removed, Self.secret) }
        _ = two.enclave.lock(now: 0)
        refused(.locked) { try two.recover(links, Self.secret) }
        refused(.passcodeNotSet) {
            var none = try Member(passcode: nil)
            return try none.recover(links, Self.secret)
        }
    }

    @Test("SY-14: what was typed for a recovery key is good once, and for this name") func recoveryReplay() throws {
        var one = try Member()
        try one.found()
        let sealed = try one.sealed(
            Self.secret, for: .addRecoveryKey(name: "paper"), nonce: one.enclave.freshNonce())
        #expect(throws: Enclave.Refused.self) { try one.enclave.checkAddingRecoveryKey(named: "other", sealed) }
        let change = try one.enclave.checkAddingRecoveryKey(named: "paper", sealed)
        _ = try one.enclave.authorize(change, sealed, now: 0)
        #expect(throws: Enclave.Refused.self) { try one.enclave.checkAddingRecoveryKey(named: "paper", sealed) }
        #expect(throws: Enclave.Refused.self) { try one.enclave.authorize(change, sealed, now: 0) }
    }

    @Test("SY-14: another member's link in its place ends a recovery, and it begins anew") func recoveryLost() throws {
        var (one, two, three) = (try Member(), try Member(), try Member())
        try one.found()
        try one.addRecoveryKey(Self.secret)
        let links = try #require(one.facts).links
        #expect(try two.recover(links, Self.secret))
        let first = try two.member
        #expect(try two.recover(links, Self.secret))
        #expect(try two.member != first)
        try one.admit(&three)
        _ = try two.enclave.addLinks(#require(one.facts).links)
        #expect(two.facts == nil)
        #expect(try two.recover(#require(one.facts).links, Self.secret))
        _ = try two.takeProposed()
        #expect(try CircleChain(#require(two.facts).links).members.count == 4)
    }

    @Test("SY-14: the last device leaves at once, so that what it wrote still counts") func recoveryAfterLeaving()
        throws
    {
        var (one, two) = (try Member(), try Member())
        try one.found()
        try one.addRecoveryKey(Self.secret)
        let (links, record, me) = (try #require(one.facts).links, try one.record(), try one.member)
        #expect(try one.agree(to: one.enclave.checkRemoving(me, named: "desk", lastCounter: 1)))
        #expect(one.facts == nil)
        #expect(try two.recover(links, Self.secret))
        _ = try two.takeProposed()
        guard case .item = try two.opened(record) else { return #expect(Bool(false), "not opened") }
    }

    @Test("SY-14: a device that left knew the key: the device that comes back begins an epoch") func recoveryEpoch()
        throws
    {
        var (one, two, three) = (try Member(), try Member(), try Member())
        try one.found()
        try one.addRecoveryKey(Self.secret)
        try one.admit(&two)
        // It leaves, and the other one is lost before it hears of that.
        #expect(try two.agree(to: two.enclave.checkRemoving(two.member, named: "lap", lastCounter: 0)))
        let links = try two.takeProposed()
        #expect(try three.recover(links, Self.secret))
        _ = try three.takeProposed()
        #expect(try CircleChain(three.takeProposed()).epoch == 1)
        guard case .item = try three.opened(one.record()) else { return #expect(Bool(false), "not opened") }
    }

    @Test("SY-20: replaced versions are shown, and one is given back, for the passcode that was sealed for that")
    func history()
        throws
    {
        var device = try Member()
        refused(.noCircle) { try device.enclave.checkHistory(restoring: nil) }
        try device.found()
        for number in [nil, 7] as [Int64?] {
            let change = try device.enclave.checkHistory(restoring: number)
            #expect(throws: Enclave.Refused.self) { try device.agree(to: change, for: .unlock) }
            #expect(throws: Enclave.Refused.self) { try device.agree(to: change, for: .restoreVersion(number: 8)) }
            #expect(try !device.agree(to: change, passcode: "9999"))
            #expect(try device.agree(to: change))
        }
        _ = device.enclave.lock(now: 0)
        refused(.locked) { try device.enclave.checkHistory(restoring: 7) }
    }

    @Test("SY-1, SY-13: nothing of this device only, and nothing that asks for the owner, is sealed") func excluded()
        throws
    {
        var device = try Member()
        try device.found()
        for protection in Accessibility.allCases where protection.isThisDeviceOnly {
            guard case .excluded = try device.sealed(device.wrapped(protection)) else {
                Issue.record("\(protection)")
                continue
            }
        }
        guard case .excluded = try device.sealed(device.wrapped(.whenUnlocked, .biometryAny)) else {
            return #expect(Bool(false), "constrained")
        }
    }

    @Test("SY-23: a locked device seals and opens nothing of a class that is shut") func locked() throws {
        var device = try Member()
        try device.found()
        let (record, wrapped) = (try device.record(), try device.wrapped(.whenUnlocked))
        _ = device.enclave.lock(now: 0)
        guard case .locked = try device.opened(record), case .locked = try device.sealed(wrapped) else {
            return #expect(Bool(false), "locked")
        }
        #expect(try device.enclave.unlock("1234"))
        guard case .item = try device.opened(record) else { return #expect(Bool(false), "unlocked") }
    }

    @Test("SY-10: a member's keys outlive a restart and another passcode, and end with the passcode") func keys() throws
    {
        var device = try Member()
        try device.found()
        let record = try device.record()
        device.enclave = try device.enclave.restarted()
        #expect(device.facts?.tagKeys == nil)
        guard case .locked = try device.opened(record) else { return #expect(Bool(false), "before the first unlock") }
        #expect(try device.enclave.unlock("1234"))
        #expect(try device.enclave.changePasscode(from: "1234", to: "5678"))
        guard case .item = try device.opened(record) else { return #expect(Bool(false), "another passcode") }
        device.enclave = try device.enclave.restarted()
        #expect(try device.enclave.unlock("5678"))
        guard case .item = try device.opened(record) else { return #expect(Bool(false), "and a restart") }
        #expect(try device.enclave.changePasscode(from: "5678", to: nil))
        #expect(device.facts == nil)
    }

    @Test("SY-13: the keys that come out are of tags, and no foreign head is signed") func keysStay() throws {
        var (one, two) = (try Member(), try Member())
        try one.found()
        try one.admit(&two)
        let facts = try #require(one.facts)
        let keys = try #require(facts.tagKeys)
        let access = try one.enclave.circleAccess()
        // As a whole circle's key of another kind each would open the record: none does.
        let record = try SealedRecord(one.record())
        #expect(record.opened(with: try #require(access.epochs)) != nil)
        #expect(Set([keys.names] + keys.sums).count == 1 + keys.sums.count)
        var ledger = Ledger(me: try one.member, membership: access.chain.membership)
        var head = ledger.makeHead(epoch: 0, sumKey: try #require(access.epochs?.sumKey(of: 0)), now: 1)
        #expect(one.enclave.signHead(head.written) != nil)
        head.member = try two.member
        #expect(one.enclave.signHead(head.written) == nil)
        head.member = try one.member
        head.linkHash = Data(count: 32)
        #expect(one.enclave.signHead(head.written) == nil)
    }
}
