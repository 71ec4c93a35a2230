import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// A disk of which the test says what becomes of the next changes.
final class UnreliableStorage: EnclaveStorage {
    enum Outcome: CaseIterable { case kept, refused, keptAndFailed }
    struct Failed: Error {}

    private let state: Mutex<(versions: [Data], planned: [Outcome], isFull: Bool, spares: Int)>

    init(_ first: Data) { state = Mutex(([first], [], false, 0)) }

    /// A full disk, of which so many writes can use what was set aside.
    func fill(spares: Int) { state.withLock { ($0.isFull, $0.spares) = (true, spares) } }
    func empty() { state.withLock { $0.isFull = false } }

    /// Everything that was ever there, oldest first.
    var versions: [Data] { state.withLock { $0.versions } }

    func plan(_ outcomes: [Outcome]) { state.withLock { $0.planned = outcomes } }
    func load() throws -> Data? { versions.last }

    /// Puts an older file back.
    func restore(_ version: Data) { state.withLock { $0.versions.append(version) } }

    func replaceWithReserve(_ bytes: Data, leaving spares: Int) throws {
        let isFromReserve = state.withLock { state in
            guard state.isFull, state.spares > spares else { return false }
            state.spares -= 1
            state.versions.append(bytes)
            return true
        }
        if !isFromReserve { try replace(bytes) }
    }

    func replace(_ bytes: Data) throws {
        try state.withLock { state in
            if state.isFull { throw Failed() }
            let outcome = state.planned.isEmpty ? .kept : state.planned.removeFirst()
            if outcome != .refused { state.versions.append(bytes) }
            if outcome != .kept { throw Failed() }
        }
    }
}

final class MovedClock: TimeSource {
    private let time = Mutex(1000.0)
    var now: Double { time.withLock { $0 } }
    func advance(by seconds: Double) { time.withLock { $0 += seconds } }
    /// The machine restarts, and its clock with it.
    func restart() { time.withLock { $0 = 0 } }
}

final class TestCounter: RevisionCounter {
    struct Failed: Error {}
    private let state = Mutex<(revision: UInt64?, fails: Bool, attempts: Int)>((nil, false, 0))
    private let turn = DispatchSemaphore(value: 1)
    /// How often it was to count.
    var attempts: Int { state.withLock { $0.attempts } }
    /// It takes as long as it is held.
    func hold() { turn.wait() }
    func release() { turn.signal() }
    var fails: Bool {
        get { state.withLock { $0.fails } }
        set { state.withLock { $0.fails = newValue } }
    }
    func read() throws -> UInt64? { state.withLock { $0.revision } }
    func advance(to revision: UInt64) throws {
        turn.wait()
        defer { turn.signal() }
        try state.withLock { state in
            state.attempts += 1
            if state.fails { throw Failed() }
            state.revision = revision
        }
    }
    /// The machine restarts: it remembers nothing.
    func forget() { state.withLock { $0.revision = nil } }
}

/// An enclave on a disk, with a clock and a counter that the test holds; it can be ended at any time and booted again.
final class RunningEnclave {
    enum Verdict: Equatable {
        case right
        case wrong(retryAfter: Double?)
        /// Not looked at, or looked at and the verdict told to nobody.
        case refused(Enclave.RefusalReason)
    }

    private final class Events: Sendable {
        private let condition = NSCondition()
        private let received = Mutex<[EnclaveEvent]>([])
        var all: [EnclaveEvent] { received.withLock { $0 } }

        func add(_ event: EnclaveEvent) {
            condition.lock()
            received.withLock { $0.append(event) }
            condition.broadcast()
            condition.unlock()
        }

        /// The end of what this ticket is of; fails the test after five minutes.
        func end(of ticket: String) throws -> EnclaveEvent {
            let limit = Date(timeIntervalSinceNow: 300)
            condition.lock()
            defer { condition.unlock() }
            while true {
                if let end = all.first(where: { $0.ticket == ticket }) { return end }
                try #require(condition.wait(until: limit), "no verdict came")
            }
        }
    }

    let root = TestRoot()
    let storage: UnreliableStorage
    let clock = MovedClock()
    let counter = TestCounter()
    private(set) var host: EnclaveHost
    private var events = Events()
    private var tickets = 0
    private let reported = Reports()
    /// What the owner would find in the daemon's log.
    var reports: [String] { reported.lines.withLock { $0 } }

    private final class Reports: Sendable {
        let lines = Mutex<[String]>([])
    }

    /// A device with passcode 1234 and a finger, booted and locked.
    init(erasesData: Bool = false, kind: PasscodeKind = .alphanumeric, isSimulated: Bool = true) throws {
        // What is not simulated has a reader of its own, or none.
        let file = try Enclave.create(
            isSimulated: isSimulated, biometryType: .touchID,
            sensor: isSimulated ? nil : .fprintd(bus: "/bus", templates: "/templates"), root: root)
        var enclave = try Enclave(stateFile: file, root: root, now: 0)
        try enclave.changePasscode(from: nil, to: "1234")
        enclave.state.passcode?.erasesData = erasesData
        enclave.state.passcode?.kind = kind
        if isSimulated {
            try enclave.enroll("finger 1", sample: .finger(1))
        } else {
            let finger = SensorEnrolment.Finger(name: "finger 1", identity: Sample.finger(1).bytes)
            let report = SensorReport.enrolled(
                .init(reader: SensorReader(name: ""), fingers: [finger], areTemplatesRead: true))
            _ = enclave.hear(report, now: 0)
        }
        storage = UnreliableStorage(try enclave.stateFile())
        host = try Self.boot(storage, root, clock, counter, events, reported)
    }

    private static func boot(
        _ storage: UnreliableStorage, _ root: TestRoot, _ clock: MovedClock, _ counter: TestCounter, _ events: Events,
        _ reported: Reports
    ) throws -> EnclaveHost {
        let host = try EnclaveHost(
            storage: storage, root: root, clock: clock, counter: counter, newPasscodeCost: { .minimum },
            report: { line in reported.lines.withLock { $0.append(line) } })
        host.watch { [events] in events.add($0) }
        return host
    }

    /// Ends the process, whatever it was doing, and starts it again.
    func reboot() throws {
        host.watch(nil)
        // A process that has ended counts no more.
        host.settle()
        events = Events()
        host = try Self.boot(storage, root, clock, counter, events, reported)
    }

    var failures: Int { host.read { enclave, _ in enclave.state.passcodeFailures } }
    var retryAfter: Double? { host.read { $0.passcodeRetryAfter(now: $1) } }
    var facts: Enclave.Facts { host.read { $0.facts(app: "", now: $1) } }
    var outcomes: [EnclaveEvent.Outcome] { events.all.map(\.outcome) }

    private func publicKey() throws -> Data { try host.passcodePublicKey() }

    private func nonce() throws -> Data { try host.change { enclave, _ in (enclave.freshNonce(), []) } }

    private func verdict(
        _ begin: (inout Enclave, Double) throws(Enclave.Refused) -> PasscodeJob
    ) throws -> Verdict {
        tickets += 1
        let ticket = "ticket \(tickets)"
        do {
            try host.derive(ticket: ticket, begin)
        } catch let refused as Enclave.Refused {
            return .refused(refused.reason)
        } catch is EnclaveHost.NotKept {
            return .refused(.notKept)
        }
        let end = try events.end(of: ticket)
        if let refusal = end.refusal { return .refused(refusal) }
        return end.outcome == .succeeded ? .right : .wrong(retryAfter: end.retryAfterSeconds)
    }

    /// One guess at the lock screen.
    func unlock(_ passcode: String) throws -> Verdict {
        let entry = try seal(passcode, to: publicKey(), nonce: nonce())
        return try verdict { (enclave, now) throws(Enclave.Refused) in try enclave.unlock(entry, now: now) }
    }

    /// A guess that is begun, and never judged: the process ends in between.
    func unlockAndEnd(_ passcode: String) throws {
        try unlockAndLeave(passcode)
        try reboot()
    }

    /// A guess that is begun, and never judged.
    func unlockAndLeave(_ passcode: String) throws {
        let entry = try seal(passcode, to: publicKey(), nonce: nonce())
        _ = try? host.change { enclave, now in (try enclave.unlock(entry, now: now), []) }
    }

    func change(from current: String, to new: String, kind: PasscodeKind = .alphanumeric) throws -> Verdict {
        let entry = try seal(current, new, to: publicKey(), nonce: nonce(), for: .change)
        return try verdict { (enclave, now) throws(Enclave.Refused) in
            try enclave.changePasscode(entry, kind: kind, now: now)
        }
    }

    func setEraseData(_ isOn: Bool, passcode: String, sealedFor: Bool? = nil) throws -> Verdict {
        let entry = try seal(passcode, to: publicKey(), nonce: nonce(), for: .eraseData(sealedFor ?? isOn))
        return try verdict { (enclave, now) throws(Enclave.Refused) in
            try enclave.setEraseData(isOn, entry, now: now)
        }
    }

    /// Takes the keychain's items as this look found them.
    func acceptItems(_ look: String, passcode: String) throws -> Verdict {
        let entry = try seal(passcode, to: publicKey(), nonce: nonce(), for: .acceptItems(look: look))
        return try verdict { (enclave, now) throws(Enclave.Refused) in
            try enclave.acceptItems(look, entry, now: now)
        }
    }

    /// That many different wrong passcodes, each as soon as it is looked at.
    func fail(_ count: Int, beginningAt first: Int = 0) throws {
        for number in first..<(first + count) {
            if let seconds = retryAfter { clock.advance(by: seconds) }
            guard case .wrong = try unlock("wrong \(number)") else {
                Issue.record("wrong passcode \(number) was not judged")
                return
            }
        }
    }
}
