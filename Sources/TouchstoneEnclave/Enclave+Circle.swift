import Crypto
package import Foundation
package import TouchstoneCircle
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// What the owner's passcode is asked for: one change of a circle, or one look into its history, and no other (DEC-461).
package enum CircleChange: Sendable {
    case found(name: String)
    case approve(JoinApplication, JoinChallenge, number: Data)
    case join(links: [Data], digest: String)
    case remove(MemberID, name: String, lastCounter: UInt64)
    case addRecoveryKey(MemberIdentity, name: String)
    case recover(RecoveredCircle)
    /// nil: which versions there are.
    case history(restoring: Int64?)

    var purpose: SealedPasscode.Purpose {
        switch self {
        case .found(let name): .foundCircle(name: name)
        case .approve(let application, let challenge, let number):
            .approveDevice(digest: JoinDigits.digest(application, challenge, number: number))
        case .join(_, let digest): .joinCircle(digest: digest)
        case .remove(let member, let name, _): .removeDevice(member: member.description, name: name)
        case .addRecoveryKey(_, let name): .addRecoveryKey(name: name)
        case .recover(let circle): circle.purpose
        case .history(let number): number.map { .restoreVersion(number: $0) } ?? .showHistory
        }
    }

    /// For the log.
    var word: String {
        switch self {
        case .found: "found"
        case .approve: "approve"
        case .join: "join"
        case .remove: "remove"
        case .addRecoveryKey: "recovery key"
        case .recover: "recover"
        case .history(let number): number == nil ? "history" : "restore"
        }
    }

    /// What is sealed with the passcode: a recovery key's secret, or nothing.
    fileprivate var secrets: Int {
        switch self {
        case .addRecoveryKey, .recover: 1
        default: 0
        }
    }
}

/// A circle's chain and keys: nobody else has them (SY-10 to SY-12).
extension Enclave {
    /// Why the circle stays as it is.
    package struct CircleRefused: Error, Hashable, Sendable {
        package var reason: CircleReason
        init(_ reason: CircleReason) { self.reason = reason }
    }

    package enum CircleReason: String, CaseIterable, Sendable {
        case noCircle, inCircle, invalidName, invalidApplication, invalidChallenge, invalidReveal, invalidLink
        case noApplication, noChallenge, nameTaken, otherChallenge, noMember, removed, full, tooOften, forked,
            passcodeNotSet,
            locked, wrongRecoveryKey, removedRecoveryKey
    }

    /// What may be known of the circle.
    package struct CircleFacts: Sendable {
        package var member: MemberID
        package var links: [Data]
        package var proposed: Data?
        /// Of names, and of sums by epoch; they open nothing.
        ///
        /// nil: the device was not unlocked since its boot.
        package var tagKeys: (names: Data, sums: [Data])?
    }

    package func circleFacts() -> CircleFacts? {
        guard let circle = state.circle else { return nil }
        var facts = CircleFacts(
            member: MemberID(bytes: circle.member), links: circle.links, proposed: circle.proposed)
        if let epochs = (try? circleAccess())?.epochs {
            facts.tagKeys = (
                names: Self.copied(epochs.nameKey),
                sums: (0..<UInt32(epochs.count)).compactMap { epochs.sumKey(of: $0) }.map(Self.copied)
            )
        }
        return facts
    }

    private static func copied(_ key: SymmetricKey) -> Data { unsafe key.withUnsafeBytes { unsafe Data($0) } }

    // MARK: opening

    private static let keysClass = Accessibility.afterFirstUnlockThisDeviceOnly
    private static let keysContext = Data("io.touchstone circle member keys".utf8)

    /// - Throws: `.noCircle`; `.locked` before the first unlock.
    func circleAccess() throws(CircleRefused) -> CircleAccess {
        guard let circle = state.circle else { throw .init(.noCircle) }
        if let opened = openedCircle.access(circle.links, epoch: keysEpoch) { return opened }
        guard let classKey = classKey(of: Self.keysClass, generation: circle.generation),
            let box = try? AES.GCM.SealedBox(combined: circle.keys),
            var plain = try? AES.GCM.open(box, using: classKey, authenticating: Self.keysContext)
        else { throw .init(.locked) }
        defer { plain.resetBytes(in: 0..<plain.count) }
        guard let keys = CircleKeys(rawRepresentation: plain), let chain = try? CircleChain(circle.links) else {
            throw .init(.locked)
        }
        let access = CircleAccess(
            keys: keys, chain: chain, epochs: try? EpochKeys(chain, of: keys.identity.id, opening: keys.sealing))
        openedCircle.keep(access, circle.links, epoch: keysEpoch)
        return access
    }

    mutating func enter(_ keys: CircleKeys, _ chain: CircleChain) throws(CircleRefused) {
        var plain = keys.rawRepresentation
        defer { plain.resetBytes(in: 0..<plain.count) }
        guard let classKey = self.keys[Self.keysClass],
            let sealed = try? random.seal(
                plain, using: classKey.symmetricKey, authenticating: Self.keysContext)
        else { throw .init(.locked) }
        state.circle = .init(
            generation: generation, keys: sealed, member: keys.identity.id.bytes, links: chain.links.map(\.bytes))
        applicant = nil
    }

    /// Forgets the circle, and what is under way to change it.
    mutating func leaveCircle() {
        state.circle = nil
        openedCircle.forget()
        applicant = nil
        openChallenge = nil
    }

    func checkCanChangeCircle() throws(CircleRefused) {
        guard isPasscodeSet else { throw .init(.passcodeNotSet) }
        guard !isLocked else { throw .init(.locked) }
    }

    // MARK: the owner

    /// Whether a change may be asked for now.
    package func checkFounding(named name: String) throws(CircleRefused) -> CircleChange {
        try checkCanChangeCircle()
        guard state.circle == nil else { throw .init(.inCircle) }
        guard MemberName.isValid(name) else { throw .init(.invalidName) }
        return .found(name: name)
    }

    /// The same for an application that was revealed.
    package func checkApproving(_ application: Data, reveal: Data) throws(CircleRefused) -> CircleChange {
        try checkCanChangeCircle()
        let application = try applied(application)
        guard let challenge = openChallenge, challenge.application == application.hash else {
            throw .init(.noChallenge)
        }
        guard JoinDigits(application, challenge, number: reveal) != nil else { throw .init(.invalidReveal) }
        return .approve(application, challenge, number: reveal)
    }

    /// The same for the chain of the circle that this device asked to join.
    package func checkJoining(_ links: [Data]) throws(CircleRefused) -> CircleChange {
        try checkCanChangeCircle()
        guard state.circle == nil else { throw .init(.inCircle) }
        guard let applicant, let digest = applicant.applicant.digest else { throw .init(.noApplication) }
        _ = try joined(links, applicant)
        return .join(links: links, digest: digest)
    }

    /// The same for a member of this name, of which everything up to `lastCounter` counts.
    package func checkRemoving(
        _ member: MemberID, named name: String, lastCounter: UInt64
    ) throws(CircleRefused) -> CircleChange {
        try checkCanChangeCircle()
        guard try circleAccess().chain.members[member]?.name == name else { throw .init(.noMember) }
        return .remove(member, name: name, lastCounter: lastCounter)
    }

    /// The same for a look at replaced versions, or to have one of them back (SY-20).
    package func checkHistory(restoring number: Int64?) throws(CircleRefused) -> CircleChange {
        try checkCanChangeCircle()
        guard state.circle != nil else { throw .init(.noCircle) }
        return .history(restoring: number)
    }

    /// Takes the passcode that was sealed for exactly this change (DEC-461).
    package mutating func authorize(
        _ change: CircleChange, _ sealed: SealedPasscode, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        let opened = try openSetting(sealed, for: change.purpose, connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1 + change.secrets)[0]
        return PasscodeJob(purpose: .circle(change), current: try begin(secret, now: now))
    }

    /// Ends that job.
    mutating func finishCircle(_ change: CircleChange, ticket: String, key: SecretBytes, now: Double)
        -> [EnclaveEvent]
    {
        guard finish(guess: key, now: now, asked: "circle \(change.word)") != nil else {
            return [rejected(ticket, now: now)]
        }
        // Locked while the passcode was derived.
        guard !isLocked else { return [.answered(ticket: ticket, .refused(.locked))] }
        do {
            try carryOut(change)
        } catch {
            // The circle is another than when this was asked for.
            return [.answered(ticket: ticket, .refused(.busy))]
        }
        note(LogFact(event: .circleChanged, asked: change.word, factors: [.passcode]))
        return [.answered(ticket: ticket, .done)]
    }

    private mutating func carryOut(_ change: CircleChange) throws {
        switch change {
        case .found(let name):
            _ = try checkFounding(named: name)
            guard let keys = CircleKeys(random) else { throw CircleRefused(.locked) }
            try enter(
                keys,
                CircleChain.found(by: keys.identity, named: name, random: random.bytes(count:), sign: keys.sign))
        case .approve(let application, let challenge, let number):
            _ = try checkApproving(application.bytes, reveal: number)
            let access = try circleAccess()
            guard challenge.circle == access.chain.circle, let epochs = access.epochs else {
                throw CircleRefused(.noChallenge)
            }
            let link = try access.chain.adding(
                application.identity, named: application.name, by: access.me, keys: epochs, sign: access.keys.sign)
            try propose(link, access)
            openChallenge = nil
        case .join(let links, let digest):
            guard case .join(_, digest) = try checkJoining(links), let applicant else {
                throw CircleRefused(.otherChallenge)
            }
            try enter(applicant.keys, joined(links, applicant))
        case .remove(let member, _, let lastCounter): try remove(member, lastCounter)
        case .addRecoveryKey(let identity, let name): try addRecoveryKey(identity, named: name)
        case .recover(let circle): try recover(circle)
        case .history: _ = try checkHistory(restoring: nil)
        }
    }

    /// - Throws: `ChainError` for a link that nobody would take: in the store it would be in the way of all that follow.
    mutating func propose(_ link: CircleLink, _ access: CircleAccess) throws {
        var chain = access.chain
        try chain.accept([link.bytes])
        state.circle?.proposed = link.bytes
    }

    private mutating func remove(_ member: MemberID, _ lastCounter: UInt64) throws {
        let access = try circleAccess()
        guard member == access.me else {
            guard access.chain.members[member] != nil else { throw CircleRefused(.noMember) }
            // A hostile member may have begun an epoch whose key not all got: it can be removed all the same.
            let epochs =
                try access.epochs
                ?? EpochKeys(remainsOf: access.chain, of: access.me, opening: access.keys.sealing)
            let link = try access.chain.removing(
                member, lastCounter: lastCounter, by: access.me, keys: epochs, random: random.bytes(count:),
                sign: access.keys.sign)
            return try propose(link, access)
        }
        let isLeaving = state.circle?.proposed.flatMap { try? CircleLink($0) }?.isLeaving(member) ?? false
        // A recovery key begins no epoch: what this device wrote counts on, so that the key brings it back.
        guard access.chain.hasDevices(but: member), !isLeaving else { return leaveCircle() }
        let link = try access.chain.leaving(member, lastCounter: lastCounter, sign: access.keys.sign)
        state.circle?.proposed = link.bytes
    }

    // MARK: joining

    /// Makes this device's keys, and asks to join some circle.
    ///
    /// - Returns: The application, for the store.
    package mutating func applyToCircle(named name: String) throws(CircleRefused) -> Data {
        try checkCanChangeCircle()
        guard state.circle == nil else { throw .init(.inCircle) }
        guard let keys = CircleKeys(random) else { throw .init(.locked) }
        guard let applicant = Applicant(keys.identity, named: name, random: random.bytes(count:)) else {
            throw .init(.invalidName)
        }
        self.applicant = CircleApplicant(keys: keys, applicant: applicant)
        return applicant.application.bytes
    }

    /// Answers an application of another device's; the newest answer alone is good.
    package mutating func challenge(_ application: Data) throws(CircleRefused) -> Data {
        let application = try applied(application)
        if let openChallenge, openChallenge.application == application.hash { return openChallenge.bytes }
        let access = try circleAccess()
        try countNumber()
        let challenge = JoinChallenge(
            to: application, circle: access.chain.circle, approver: access.me, number: random.bytes(count: 32))
        openChallenge = challenge
        return challenge.bytes
    }

    /// Counts a number that was said for others' digits: whoever had many could search among them (DEC-460).
    private mutating func countNumber() throws(CircleRefused) {
        let count = state.joinNumbers ?? 0
        guard count < Limits.joinNumbers else { throw .init(.tooOften) }
        state.joinNumbers = count + 1
    }

    private func applied(_ bytes: Data) throws(CircleRefused) -> JoinApplication {
        guard !isLocked else { throw .init(.locked) }
        let chain = try circleAccess().chain
        guard let application = try? JoinApplication(bytes) else { throw .init(.invalidApplication) }
        guard chain.removed[application.identity.id] == nil else { throw .init(.removed) }
        guard chain.members[application.identity.id] == nil else { throw .init(.invalidApplication) }
        guard chain.members.count < CircleChain.Limits.members else { throw .init(.full) }
        guard !chain.members.values.contains(where: { $0.name == application.name }) else { throw .init(.nameTaken) }
        return application
    }

    /// Says this device's number, once, to the first challenge.
    package mutating func reveal(to challenge: Data) throws(CircleRefused) -> Data {
        guard !isLocked else { throw .init(.locked) }
        guard var applicant else { throw .init(.noApplication) }
        guard let challenge = try? JoinChallenge(challenge),
            challenge.application == applicant.applicant.application.hash
        else { throw .init(.invalidChallenge) }
        let isFirst = applicant.applicant.challenge == nil
        guard let (number, _) = applicant.applicant.reveal(to: challenge) else { throw .init(.otherChallenge) }
        if isFirst { try countNumber() }
        self.applicant = applicant
        return number
    }

    private func joined(_ links: [Data], _ applicant: CircleApplicant) throws(CircleRefused) -> CircleChain {
        guard let chain = try? CircleChain(links) else { throw .init(.invalidLink) }
        guard applicant.applicant.isJoined(to: chain) else { throw .init(.otherChallenge) }
        guard (try? EpochKeys(chain, of: applicant.keys.identity.id, opening: applicant.keys.sealing)) != nil else {
            throw .init(.invalidLink)
        }
        return chain
    }

    // MARK: the chain

    /// Takes the next links, also those that this device proposed: from now on they count.
    ///
    /// A proposed link whose place another one has is dropped. A device that the chain removes has no circle afterwards.
    ///
    /// - Returns: How many links there are.
    package mutating func addLinks(_ links: [Data]) throws(CircleRefused) -> Int {
        guard let circle = state.circle else { throw .init(.noCircle) }
        // A chain is checked without any private key, and so before the first unlock too.
        let chain = (try? circleAccess().chain) ?? (try? CircleChain(circle.links))
        return try addLinks(links, to: chain, member: MemberID(bytes: circle.member))
    }

    private mutating func addLinks(
        _ links: [Data], to known: CircleChain?, member: MemberID
    ) throws(CircleRefused) -> Int {
        guard var chain = known else { throw .init(.invalidLink) }
        let before = chain.links.count
        do throws(ChainError) { try chain.accept(links) } catch {
            throw .init(error == .forked ? .forked : .invalidLink)
        }
        let count = chain.links.count
        if count > before {
            guard chain.members[member] != nil else {
                leaveCircle()
                return count
            }
            state.circle?.links = chain.links.map(\.bytes)
            // Its place is taken: by itself, or by another.
            state.circle?.proposed = nil
        }
        if chain.needsEpoch, state.circle?.proposed == nil { proposeEpoch() }
        return count
    }

    /// Who left knows the present key, so somebody begins an epoch: its owner agreed to that already.
    private mutating func proposeEpoch() {
        guard let access = try? circleAccess(), let epochs = access.epochs else { return }
        let link = try? access.chain.beginningEpoch(
            by: access.me, keys: epochs, random: random.bytes(count:), sign: access.keys.sign)
        state.circle?.proposed = link?.bytes
    }
}
