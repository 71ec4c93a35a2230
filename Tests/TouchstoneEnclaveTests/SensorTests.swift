import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// A sensor that sees what the test says, and remembers what it was asked for.
private final class ScriptedSensor: Sensor {
    private struct State {
        var wakes = 0
        var looks = 0
        var owner: (any SensorOwner)?
        var enrolment: SensorReport
    }
    private let state: Mutex<State>

    init(_ fingers: String...) { state = Mutex(State(enrolment: .enrolled(.of(fingers)))) }

    var wakes: Int { state.withLock { $0.wakes } }
    var looks: Int { state.withLock { $0.looks } }
    func start(for owner: any SensorOwner) { state.withLock { $0.owner = owner } }
    func wake() { state.withLock { $0.wakes += 1 } }
    func refresh(within seconds: Double) {
        let (owner, report) = state.withLock { state in
            state.looks += 1
            return (state.owner, state.enrolment)
        }
        owner?.hear(report)
    }
    /// Somebody enrols, with some program.
    func enroll(_ fingers: String...) { state.withLock { $0.enrolment = .enrolled(.of(fingers)) } }
}

extension SensorEnrolment {
    static func of(_ fingers: [String], isRenewed: Bool = false) -> SensorEnrolment {
        SensorEnrolment(
            reader: SensorReader(name: "reader"), fingers: fingers.map { .init(name: $0, identity: Data($0.utf8)) },
            areTemplatesRead: true,
            isRenewed: isRenewed)
    }
}

extension SensorEnrolment {
    /// Of templates that nobody may read.
    fileprivate static func named(_ fingers: [String], isRenewed: Bool = false) -> SensorEnrolment {
        SensorEnrolment(
            reader: SensorReader(name: "reader"),
            fingers: fingers.map { .init(name: $0, identity: Data("name of \($0)".utf8)) },
            areTemplatesRead: false, isRenewed: isRenewed)
    }
}

extension Enclave {
    /// A device with a reader of its own, a passcode and these fingers.
    fileprivate static func withReader(_ fingers: String..., passcode: String? = "1234") throws -> Enclave {
        let root = TestRoot()
        let file = try Enclave.create(
            isSimulated: true, biometryType: .touchID, sensor: .fprintd(bus: "/bus", templates: "/templates"),
            root: root)
        var enclave = try Enclave(stateFile: file, root: root, now: 0)
        if let passcode { try enclave.changePasscode(from: nil, to: passcode) }
        _ = enclave.hear(.enrolled(.of(fingers)), now: 0)
        return enclave
    }

    fileprivate mutating func forgetReader(_ passcode: String) throws -> [EnclaveEvent] {
        let entry = try seal(passcode, to: passcodePublicKey(), nonce: freshNonce(), for: .forgetReader)
        let job = try forgetReader(entry, now: 0)
        return finishForgettingReader(ticket: "t", key: try #require(job.current).run(), now: 0)
    }

    fileprivate mutating func touched(_ isMatch: Bool, for awaited: String) -> [EnclaveEvent] {
        hear(.touched(isMatch: isMatch, for: awaited), now: 0)
    }
}

/// The device's own sensor: it says what it saw, and the rules are those of simulated fingers.
@Suite struct SensorTests {
    @Test("CE-03: until the sensor was heard of there is no biometry; the passcode is as good as ever")
    func starting() throws {
        let enclave = try Enclave.withReader("a").restarted()
        var heard = enclave
        _ = heard.hear(.enrolled(.of(["a"])), now: 0)
        try heard.unlock("1234")
        #expect(enclave.sensor.status?.problem == .starting)
        #expect(enclave.biometryObstacle(now: 0) == .biometryNotAvailable)
        #expect(heard.biometryObstacle(now: 0) == nil)
        #expect(
            heard.sensor.status
                == .init(kind: .fprintd, name: "reader", problem: nil, isWeak: false, areTemplatesRead: true))
    }

    @Test("EV-53: a touch counts for the evaluation it was made for, and for no other")
    func touchIsForOne() throws {
        var enclave = try Enclave.withReader("a")
        let first = try enclave.begin(.biometrics)
        #expect(enclave.awaitedTouch(now: 0) == first.evaluation)
        let second = try enclave.begin(.biometrics, app: "other")
        #expect(enclave.touched(true, for: first.evaluation).isEmpty)
        #expect(enclave.touched(false, for: first.evaluation).isEmpty)
        #expect(enclave.touched(true, for: "lock screen").isEmpty)
        #expect(enclave.evaluation?.failures == 0 && enclave.state.biometryFailures == 0)
        let events = enclave.touched(true, for: second.evaluation)
        #expect(events.map(\.outcome) == [.succeeded] && events.map(\.evaluation) == [second.evaluation])
        #expect(enclave.awaitedTouch(now: 0) == nil)
    }

    @Test("EV-25, EV-26: non-matches of the sensor are counted like any, and lock it out")
    func lockout() throws {
        var enclave = try Enclave.withReader("a")
        for (touches, code) in [(3, AuthenticationFailure.authenticationFailed), (2, .biometryLockout)] {
            let evaluation = try enclave.begin(.biometrics).evaluation
            var events: [EnclaveEvent] = []
            for _ in 0..<touches { events = enclave.touched(false, for: evaluation) }
            #expect(events.map(\.outcome) == [.failed] && events.map(\.code) == [code])
        }
        #expect(enclave.isBiometryLockedOut(now: 0))
        _ = enclave.lock(now: 0)
        #expect(enclave.awaitedTouch(now: 0) == nil)
    }

    @Test("AC-50, DS-03: any change of what is enrolled is another set, and what was proven before is nothing")
    func change() throws {
        var enclave = try Enclave.withReader("a")
        let identifier = enclave.state.database.identifier
        let context = try enclave.begin(.biometrics).context
        _ = enclave.touched(true, for: try #require(enclave.awaitedTouch(now: 0)))
        var states: Set<Data?> = [enclave.domainState(app: "app")]
        #expect(enclave.contexts[context]?.proven.biometry != nil)
        // The same set: nothing happens.
        let before = enclave.state
        _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
        #expect(enclave.state == before && enclave.contexts[context]?.proven.biometry != nil)
        // One more, one less, another under the same name, and one that only its enrolment tells.
        let changes: [SensorEnrolment] = [
            .of(["a", "b"]), .of(["a"]),
            .init(
                reader: SensorReader(name: "reader"), fingers: [.init(name: "a", identity: Data([1]))],
                areTemplatesRead: true),
            .of([]), .named(["a"]), .named(["a"], isRenewed: true),
        ]
        for (count, enrolment) in changes.enumerated() {
            _ = enclave.hear(.enrolled(enrolment), now: 0)
            #expect(enclave.contexts[context]?.proven.biometry == nil)
            #expect(states.insert(enclave.domainState(app: "app")).inserted, "change \(count)")
            #expect((enclave.state.database.identifier == identifier) == (count < 4))
        }
        let last = enclave.state.database.identifier
        _ = enclave.hear(.enrolled(.of([])), now: 0)
        #expect(enclave.domainState(app: "app") == nil && enclave.biometryObstacle(now: 0) == .biometryNotEnrolled)
        _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
        #expect(states.insert(enclave.domainState(app: "app")).inserted)
        #expect(enclave.state.database.identifier != last)
    }

    @Test("AC-53: templates that cannot be read any more leave the set as it was, and no finger counts until they can")
    func unreadable() throws {
        var enclave = try Enclave.withReader("a")
        let set = enclave.state.database
        // Also after a boot.
        for isRestarted in [false, true] {
            if isRestarted { enclave = try enclave.restarted() }
            _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
            try enclave.unlock("1234")
            let evaluation = try enclave.begin(.biometrics).evaluation
            let events = enclave.hear(.enrolled(.named(["a"])), now: 0)
            #expect(events.map(\.evaluation) == [evaluation] && events.map(\.code) == [.biometryNotAvailable])
            #expect(enclave.sensor.status?.problem == .templatesUnreadable && enclave.state.database == set)
            _ = enclave.lock(now: 0)
            _ = enclave.hear(.touched(isMatch: true, for: "lock screen"), now: 0)
            #expect(enclave.isLocked)
            _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
            #expect(enclave.sensor.status?.problem == nil && enclave.state.database == set)
        }
        _ = enclave.hear(.enrolled(.named(["a"])), now: 0)
        _ = enclave.hear(.enrolled(.of(["b"])), now: 0)
        #expect(enclave.state.database != set)
        // Nobody is enrolled, which needs no reading; whoever is then is known by name.
        _ = enclave.hear(.enrolled(.named([])), now: 0)
        #expect(enclave.sensor.status?.problem == nil && !enclave.isEnrolled)
        _ = enclave.hear(.enrolled(.named(["a"])), now: 0)
        #expect(enclave.sensor.status?.problem == nil && enclave.isEnrolled)
    }

    @Test("AC-50: an enrolment that cannot be kept is not forgotten: it is told again, and then is another set")
    func renewalIsNotLost() throws {
        let sensor = ScriptedSensor("a")
        let (host, storage) = try host(sensor)
        let set = host.read { enclave, _ in enclave.state.database }
        storage.plan([.refused])
        #expect(!host.hear(.enrolled(.of(["a"], isRenewed: true))))
        #expect(host.read { enclave, _ in enclave.state.database } == set)
        #expect(host.hear(.enrolled(.of(["a"], isRenewed: true))))
        #expect(host.read { enclave, _ in enclave.state.database } != set)
    }

    @Test("DEC-062: another reader is no other set: there is no biometry until the known one is back, or is forgotten")
    func anotherReader() throws {
        let other = SensorReader(name: "reader", scanType: "swipe")
        var enclave = try Enclave.withReader("a")
        let set = enclave.state.database
        for fingers in [[], ["a"], ["b"]] {
            let evaluation = try enclave.begin(.biometrics).evaluation
            var report = SensorEnrolment.of(fingers)
            report.reader = other
            #expect(enclave.hear(.enrolled(report), now: 0).map(\.code) == [.biometryNotAvailable])
            #expect(enclave.sensor.status?.problem == .otherReader && enclave.sensor.status?.name == "reader")
            #expect(enclave.state.database == set && enclave.knownReader == SensorReader(name: "reader"))
            #expect(enclave.touched(true, for: evaluation).isEmpty)
            // Also after a boot.
            enclave = try enclave.restarted()
            _ = enclave.hear(.enrolled(report), now: 0)
            #expect(enclave.biometryObstacle(now: 0) == .biometryNotAvailable && enclave.state.database == set)
            _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
            try enclave.unlock("1234")
            #expect(enclave.biometryObstacle(now: 0) == nil && enclave.state.database == set)
        }
        // Whose last finger is deleted has nothing to lose.
        _ = enclave.hear(.enrolled(.of([])), now: 0)
        #expect(enclave.knownReader == nil && enclave.state.database != set)
        var report = SensorEnrolment.of(["a"])
        report.reader = other
        _ = enclave.hear(.enrolled(report), now: 0)
        #expect(enclave.sensor.status?.problem == nil && enclave.knownReader == other)
    }

    @Test("DEC-062: a state from before readers were known takes the reader that has its set, and no changed set")
    func stateWithoutReader() throws {
        var enclave = try Enclave.withReader("a")
        let set = enclave.state.database
        enclave.state.reader = nil
        enclave = try enclave.restarted()
        _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
        #expect(enclave.knownReader == SensorReader(name: "reader") && enclave.state.database == set)
    }

    @Test("DEC-062: the passcode, and no wrong one, forgets the reader and what is of the current set")
    func forgetReader() throws {
        let other = SensorReader(name: "another")
        var enclave = try Enclave.withReader("a")
        let set = enclave.state.database
        var report = SensorEnrolment.named(["b"])
        report.reader = other
        #expect(try enclave.forgetReader("4321").map(\.outcome) == [.failed])
        #expect(enclave.knownReader != nil && enclave.state.database == set && enclave.isEnrolled)
        let evaluation = try enclave.begin(.biometrics).evaluation
        let events = try enclave.forgetReader("1234")
        #expect(events.map(\.outcome) == [.succeeded, .failed] && events.map(\.code) == [nil, .biometryNotEnrolled])
        #expect(events.last?.evaluation == evaluation)
        #expect(enclave.knownReader == nil && enclave.state.database != set && !enclave.isEnrolled)
        // The next one is taken as it is, also where its templates cannot be read.
        _ = enclave.hear(.enrolled(report), now: 0)
        #expect(enclave.sensor.status?.problem == nil && enclave.knownReader == other)
        #expect(enclave.biometryObstacle(now: 0) == nil)
    }

    @Test("a device without a reader has none to forget")
    func nothingToForget() throws {
        var enclave = try Enclave.device()
        #expect {
            _ = try enclave.forgetReader("1234")
        } throws: {
            ($0 as? Enclave.Refused)?.reason == .noSensor
        }
    }

    @Test("a sensor that goes leaves the passcode, or ends what only a finger helped")
    func unavailable() throws {
        for (problem, requirement) in [
            (SensorProblem.noReader, Requirement.biometrics), (.notAnswering, .deviceOwner),
        ] {
            var enclave = try Enclave.withReader("a")
            let evaluation = try enclave.begin(requirement).evaluation
            let set = enclave.state.database
            let events = enclave.hear(.unavailable(problem), now: 0)
            if requirement == .deviceOwner {
                #expect(events.map(\.progress?.phase) == [.passcode])
            } else {
                #expect(events.map(\.evaluation) == [evaluation] && events.map(\.code) == [.biometryNotAvailable])
            }
            #expect(enclave.facts(app: "", now: 0).sensor?.problem == problem)
            // Back, with the fingers that it had: the set is the one it was.
            _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
            #expect(enclave.biometryObstacle(now: 0) == nil && enclave.state.database == set)
        }
    }

    @Test("a hint is shown once, counts as no failure, and is gone with the next touch")
    func hint() throws {
        var enclave = try Enclave.withReader("a")
        let evaluation = try enclave.begin(.biometrics).evaluation
        let shown = enclave.hear(.hint(.swipeTooShort, for: evaluation), now: 0)
        #expect(shown.map(\.progress?.hint) == [.swipeTooShort] && shown[0].progress?.failures == 0)
        #expect(enclave.hear(.hint(.swipeTooShort, for: evaluation), now: 0).isEmpty)
        #expect(enclave.hear(.hint(.removeAndRetry, for: "another"), now: 0).isEmpty)
        #expect(enclave.state.biometryFailures == 0)
        let missed = enclave.touched(false, for: evaluation)
        #expect(missed.count == 1 && missed[0].progress?.hint == nil && missed[0].progress?.failures == 1)
        #expect(enclave.hear(.hint(.readerBusy, for: evaluation), now: 0).map(\.progress?.hint) == [.readerBusy])
        #expect(enclave.hear(.hint(nil, for: evaluation), now: 0).map(\.progress?.hint) == [nil])
    }

    @Test(
        "DEC-062: a reader that another program holds, or that fails, has the fallback offered, where the app does not hide it",
        arguments: [SensorHint.readerBusy, .readerFailed])
    func missedReader(hint: SensorHint) throws {
        var enclave = try Enclave.withReader("a")
        for (requirement, isHidden) in [(Requirement.deviceOwner, false), (.biometrics, false), (.deviceOwner, true)] {
            let evaluation = try enclave.begin(requirement, isFallbackHidden: isHidden).evaluation
            // What asks for another touch is no reason: the reader is there.
            _ = enclave.hear(.hint(.scanAgain, for: evaluation), now: 0)
            #expect(enclave.chooseFallback(now: 0).isEmpty)
            let missed = enclave.hear(.hint(hint, for: evaluation), now: 0)
            #expect(missed.map(\.progress?.isFallbackOffered) == [true] && missed[0].progress?.failures == 0)
            #expect(enclave.hear(.hint(nil, for: evaluation), now: 0).map(\.progress?.isFallbackOffered) == [true])
            let chosen = enclave.chooseFallback(now: 0)
            if isHidden {
                #expect(chosen.isEmpty && enclave.evaluation?.phase == .biometry)
            } else if requirement == .deviceOwner {
                #expect(chosen.map(\.progress?.phase) == [.passcode])
            } else {
                #expect(chosen.map(\.code) == [.userFallback])
            }
        }
    }

    @Test("PC-33: a finger opens the lock screen, which is told, until only the passcode does")
    func lockScreen() throws {
        var enclave = try Enclave.withReader("a")
        _ = enclave.lock(now: 0)
        let awaited = try #require(enclave.awaitedTouch(now: 0))
        #expect(enclave.touched(false, for: awaited).isEmpty && enclave.isLocked)
        #expect(enclave.touched(true, for: awaited).map(\.outcome) == [.unlocked])
        #expect(!enclave.isLocked && enclave.touched(true, for: awaited).isEmpty)
        _ = enclave.lock(requiresPasscode: true, now: 0)
        #expect(enclave.awaitedTouch(now: 0) == nil)
        #expect(enclave.touched(true, for: awaited).isEmpty && enclave.isLocked)
    }

    @Test("the lock screen has the reader for a minute, and for another where it is locked again")
    func lockScreenLeavesTheReader() throws {
        var enclave = try Enclave.withReader("a")
        _ = enclave.lock(now: 0)
        let awaited = try #require(enclave.awaitedTouch(now: 59))
        #expect(enclave.nextLimit(now: 0) == 60 && enclave.awaitedTouch(now: 60) == nil)
        _ = enclave.hear(.touched(isMatch: true, for: awaited), now: 60)
        #expect(enclave.isLocked && enclave.classKeyStates()[.whenUnlocked] == .heldForBiometry)
        #expect(enclave.nextLimit(now: 60) == 172_800.0)
        _ = enclave.lock(now: 1000)
        #expect(enclave.awaitedTouch(now: 1059) == awaited)
        #expect(enclave.hear(.touched(isMatch: true, for: awaited), now: 1059).map(\.outcome) == [.unlocked])
        // Nor does it begin before it is locked.
        _ = enclave.lock(requiresPasscode: true, now: 2000)
        #expect(enclave.awaitedTouch(now: 2000) == nil)
    }

    @Test("the sensor is told when the lock screen's minute is over")
    func lockScreenIsOver() throws {
        let sensor = ScriptedSensor("a")
        let (host, _) = try host(sensor)
        try host.change { ((), $0.lock(now: $1)) }
        let wakes = sensor.wakes
        try host.advanceClock(by: 59)
        #expect(host.awaitedTouch != nil && sensor.wakes == wakes)
        try host.advanceClock(by: 1)
        #expect(host.awaitedTouch == nil && sensor.wakes == wakes + 1)
        try host.change { ((), $0.lock(now: $1)) }
        #expect(host.awaitedTouch != nil && sensor.wakes == wakes + 2)
    }

    @Test(
        "PC-22, PC-33: a finger that is enrolled behind the lock screen does not open it, nor does another then; the same set does"
    )
    func enrolledBehindTheLockScreen() throws {
        for (fingers, opens) in [(["a"], true), (["a", "b"], false), (["b"], false)] {
            var enclave = try Enclave.withReader("a")
            _ = enclave.lock(now: 0)
            let awaited = try #require(enclave.awaitedTouch(now: 0))
            _ = enclave.hear(.enrolled(.of(fingers)), now: 0)
            #expect(enclave.awaitedTouch(now: 0) == (opens ? awaited : nil))
            _ = enclave.touched(true, for: awaited)
            #expect(enclave.isLocked == !opens && (enclave.keys[.whenUnlocked] != nil) == opens)
            try enclave.unlock("1234")
            #expect(!enclave.isLocked && enclave.biometryObstacle(now: 0) == nil)
        }
    }

    @Test("a device whose fingers are simulated hears of no sensor")
    func simulated() throws {
        var enclave = try Enclave.device()
        let before = enclave.state
        let evaluation = try enclave.begin(.biometrics).evaluation
        #expect(enclave.awaitedTouch(now: 0) == nil)
        #expect(enclave.touched(true, for: evaluation).isEmpty)
        #expect(enclave.hear(.enrolled(.of(["a"])), now: 0).isEmpty)
        #expect(enclave.hear(.unavailable(.noReader), now: 0).isEmpty)
        #expect(enclave.state == before && enclave.evaluation != nil)
    }

    @Test("PC-02: the sensor is the device's for good: a boot and an erasure leave it")
    func kept() throws {
        let root = TestRoot()
        var enclave = try Enclave.withReader("a")
        #expect(try enclave.restarted().state.sensor == .fprintd(bus: "/bus", templates: "/templates"))
        #expect(try Enclave(stateFile: enclave.stateFile(), root: root, now: 0).sensor.status?.problem == .starting)
        enclave.state.passcode?.erasesData = true
        enclave.state.passcodeFailures = 10
        _ = try enclave.eraseIfDue(now: 0)
        #expect(
            enclave.state.sensor == .fprintd(bus: "/bus", templates: "/templates")
                && enclave.sensor.status?.problem == nil)
        #expect(!enclave.isEnrolled && !enclave.isPasscodeSet)
    }

    @Test(
        "a weak sensor is as good as the passcode where either will do, and biometry only where the owner said so",
        arguments: [false, true])
    func weak(opensBiometryAny: Bool) throws {
        let source = SensorSource.pam(service: "camera", directory: nil, opensBiometryAny: opensBiometryAny)
        let root = TestRoot()
        let file = try Enclave.create(isSimulated: true, biometryType: .touchID, sensor: source, root: root)
        var enclave = try Enclave(stateFile: file, root: root, now: 0)
        try enclave.changePasscode(from: nil, to: "1234")
        _ = enclave.hear(.enrolled(.of(["camera"])), now: 0)
        #expect(enclave.facts(app: "", now: 0).sensor?.isWeak == true)
        func asked(_ proof: Proof) -> Enclave.Verdict {
            enclave.preflight(
                .init(context: nil, app: "app", requirement: Requirement(proofs: [proof]), reuseDuration: 0), now: 0)
        }
        #expect(asked(.presence) == .interactive && asked(.passcode) == .interactive)
        #expect(asked(.biometryAny).code == (opensBiometryAny ? nil : .biometryNotAvailable))
        #expect(asked(.biometryCurrentSet).code == .biometryNotAvailable)

        let context = try enclave.begin(.deviceOwner).context
        _ = enclave.touched(true, for: try #require(enclave.awaitedTouch(now: 0)))
        let proven = try #require(enclave.contexts[context]?.proven)
        #expect(enclave.isMet(.deviceOwner, by: proven) && !enclave.isMet(Requirement(proofs: [.passcode]), by: proven))
        #expect(enclave.isMet(.biometrics, by: proven) == opensBiometryAny)
        #expect(!enclave.isMet(Requirement(proofs: [.biometryCurrentSet]), by: proven))
        // An evaluation that names one of them beside the passcode asks for the passcode.
        let both = Requirement(proofs: [.biometryCurrentSet, .passcode], anyOne: true)
        _ = try enclave.begin(both)
        #expect(enclave.evaluation?.phase == .passcode && enclave.awaitedTouch(now: 0) == nil)
        for (flags, isBound) in [
            (AccessControl.Flags.userPresence, true), (.biometryAny, opensBiometryAny), (.biometryCurrentSet, false),
        ] {
            let control = try AccessControl(protection: .whenUnlocked, flags: flags)
            if isBound {
                try enclave.checkCanBind(control)
            } else {
                #expect(throws: Refusal(.authFailed, .sensorTooWeak, control)) { try enclave.checkCanBind(control) }
            }
        }
    }

    private func host(_ sensor: ScriptedSensor, clock: MovedClock = MovedClock()) throws -> (
        EnclaveHost, UnreliableStorage
    ) {
        let enclave = try Enclave.withReader("a")
        let storage = UnreliableStorage(try enclave.stateFile())
        let host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: clock, newPasscodeCost: { .minimum })
        host.start(sensor)
        try host.change { enclave, now in
            (try enclave.unlock("1234", now: now), [])
        }
        return (host, storage)
    }

    @Test("DS-03: who is enrolled is looked at before an answer counts with it, and written only where it is another")
    func looks() throws {
        let sensor = ScriptedSensor("a")
        let (host, storage) = try host(sensor)
        let service = VarlinkRouter(
            info: .init(product: "test", version: "1"), interfaces: [EnclaveService(host: host).interface])
        let endpoint = LoopbackEndpoint(
            router: service, peer: Peer(processID: getpid(), userID: getuid(), identify: { nil }))
        let client = VarlinkClient(try endpoint.connect())
        func state() throws -> Data? {
            try client.call(EnclaveInterface.GetFacts.self, .init(app: "app")).facts.domainState
        }
        let (old, written) = (try state(), storage.versions.count)
        #expect(try state() == old && storage.versions.count == written && old != nil)
        sensor.enroll("a", "b")
        #expect(try state() != old && storage.versions.count == written + 1)
        let looks = sensor.looks
        let requirement = Requirement.biometrics
        _ = try client.call(
            EnclaveInterface.Preflight.self,
            .init(context: nil, app: "app", requirement: requirement, reuseDuration: 0, isFaceIDDescribed: true))
        #expect(sensor.looks == looks + 1)
        // Nobody waits for the sensor where no finger counts.
        let passcode = Requirement(proofs: [.passcode])
        _ = try client.call(
            EnclaveInterface.Preflight.self,
            .init(context: nil, app: "app", requirement: passcode, reuseDuration: 0, isFaceIDDescribed: true))
        let context = try client.call(
            EnclaveInterface.CreateContext.self, .init(app: "app", accessGroups: ["app"])
        ).context
        for context in [nil, context] {
            _ = try client.call(EnclaveInterface.UnwrapKeys.self, .init(items: [], app: "app", context: context))
        }
        #expect(sensor.looks == looks + 1)
        try host.change { enclave, _ in
            enclave.contexts.prove(.init(biometry: enclave.state.database.hash), to: context)
            return ((), [])
        }
        _ = try client.call(EnclaveInterface.UnwrapKeys.self, .init(items: [], app: "app", context: context))
        #expect(sensor.looks == looks + 2)
    }

    @Test("the sensor is woken when something else is awaited, and not by each change")
    func wakes() throws {
        let sensor = ScriptedSensor("a")
        let (host, _) = try host(sensor)
        let before = sensor.wakes
        try host.change { enclave, _ in (enclave.freshNonce(), []) }
        #expect(sensor.wakes == before)
        let evaluation = try host.change { enclave, now in (try enclave.begin(.biometrics, now: now).evaluation, []) }
        #expect(sensor.wakes == before + 1 && host.awaitedTouch == evaluation)
        host.hear(.hint(.scanAgain, for: evaluation))
        host.hear(.touched(isMatch: false, for: evaluation))
        #expect(sensor.wakes == before + 1)
        host.hear(.touched(isMatch: true, for: evaluation))
        #expect(sensor.wakes == before + 2 && host.awaitedTouch == nil)
    }

    /// What is held for a finger, as the owner's inspector has it.
    private func isHeld(_ host: EnclaveHost) -> Bool {
        host.read { enclave, _ in enclave.classKeyStates()[.whenUnlocked] == .heldForBiometry }
    }

    @Test(
        "PC-20, PC-33: after 48 hours nothing is held for a finger, and the sensor is told at once; before, it is held")
    func heldKeysAreDropped() throws {
        let sensor = ScriptedSensor("a")
        let (host, _) = try host(sensor)
        try host.change { ((), $0.lock(now: $1)) }
        #expect(isHeld(host) && host.awaitedTouch != nil)
        try host.advanceClock(by: 48 * 3600)
        #expect(isHeld(host))
        try host.change { ((), $0.lock(now: $1)) }
        let wakes = sensor.wakes
        try host.advanceClock(by: 1)
        #expect(!isHeld(host) && host.awaitedTouch == nil && sensor.wakes == wakes + 1)
    }

    @Test("PC-33: the same where nothing happens but the time that goes by")
    func heldKeysAreDroppedByTimeAlone() async throws {
        let sensor = ScriptedSensor("a")
        let clock = MovedClock()
        let (host, _) = try host(sensor, clock: clock)
        clock.advance(by: 48 * 3600)
        try host.change { ((), $0.lock(now: $1)) }
        #expect(isHeld(host))
        clock.advance(by: 1)
        let limit = ContinuousClock.now + .seconds(300)
        while isHeld(host), .now < limit { try await Task.sleep(for: .milliseconds(1)) }
        #expect(!isHeld(host))
    }

    @Test("EV-26: a non-match that cannot be counted is the last")
    func notKept() throws {
        let sensor = ScriptedSensor("a")
        let (host, storage) = try host(sensor)
        let evaluation = try host.change { enclave, now in (try enclave.begin(.biometrics, now: now).evaluation, []) }
        storage.plan([.refused])
        host.hear(.touched(isMatch: false, for: evaluation))
        #expect(host.read { enclave, now in enclave.isBiometryLockedOut(now: now) } && host.awaitedTouch == nil)
        host.hear(.touched(isMatch: true, for: evaluation))
        #expect(
            host.read { enclave, _ in enclave.contexts.byIdentifier.values.allSatisfy { $0.proven.biometry == nil } })
    }
}
