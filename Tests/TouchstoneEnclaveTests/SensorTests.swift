import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneTransport

@testable import TouchstoneEnclave

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
    fileprivate static func of(_ fingers: [String], isRenewed: Bool = false) -> SensorEnrolment {
        SensorEnrolment(
            reader: "reader", fingers: fingers.map { .init(name: $0, identity: Data($0.utf8)) }, areTemplatesRead: true,
            isRenewed: isRenewed)
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
        #expect(enclave.sensor?.problem == .starting)
        #expect(enclave.biometryObstacle(now: 0) == .biometryNotAvailable)
        #expect(heard.biometryObstacle(now: 0) == nil)
        #expect(
            heard.sensor == .init(kind: .fprintd, name: "reader", problem: nil, isWeak: false, areTemplatesRead: true))
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
            .init(reader: "", fingers: [.init(name: "a", identity: Data([1]))], areTemplatesRead: true),
            .init(
                reader: "", fingers: [.init(name: "a", identity: Data([1]))], areTemplatesRead: false, isRenewed: true),
        ]
        for (count, enrolment) in changes.enumerated() {
            _ = enclave.hear(.enrolled(enrolment), now: 0)
            #expect(enclave.contexts[context]?.proven.biometry == nil)
            #expect(states.insert(enclave.domainState(app: "app")).inserted, "change \(count)")
        }
        #expect(enclave.state.database.identifier == identifier)
        _ = enclave.hear(.enrolled(.of([])), now: 0)
        #expect(enclave.domainState(app: "app") == nil && enclave.biometryObstacle(now: 0) == .biometryNotEnrolled)
        _ = enclave.hear(.enrolled(.of(["a"])), now: 0)
        #expect(states.insert(enclave.domainState(app: "app")).inserted)
        #expect(enclave.state.database.identifier != identifier)
    }

    @Test("a sensor that goes leaves the passcode, or ends what only a finger helped")
    func unavailable() throws {
        for (problem, requirement) in [
            (DeviceInterface.SensorProblem.noReader, Requirement.biometrics), (.notAnswering, .deviceOwner),
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
        #expect(try Enclave(stateFile: enclave.stateFile(), root: root, now: 0).sensor?.problem == .starting)
        enclave.state.passcode?.erasesData = true
        enclave.state.passcodeFailures = 10
        _ = try enclave.eraseIfDue(now: 0)
        #expect(
            enclave.state.sensor == .fprintd(bus: "/bus", templates: "/templates") && enclave.sensor?.problem == nil)
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
        func asked(_ proof: Proof) -> EnclaveInterface.Preflight.Reply {
            enclave.preflight(
                .init(context: nil, app: "app", requirement: Requirement(proofs: [proof]), reuseDuration: 0), now: 0)
        }
        #expect(asked(.presence).verdict == .interactive && asked(.passcode).verdict == .interactive)
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
                #expect(throws: Status.authFailed) { try enclave.checkCanBind(control) }
            }
        }
    }

    private func host(_ sensor: ScriptedSensor) throws -> (EnclaveHost, UnreliableStorage) {
        let enclave = try Enclave.withReader("a")
        let storage = UnreliableStorage(try enclave.stateFile())
        let host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: MovedClock(), newPasscodeCost: { .minimum })
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
            EnclaveInterface.Preflight.self, .init(context: nil, app: "app", requirement: requirement, reuseDuration: 0)
        )
        #expect(sensor.looks == looks + 1)
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

    @Test("EV-26: a non-match that cannot be counted is the last")
    func notKept() throws {
        let sensor = ScriptedSensor("a")
        let (host, storage) = try host(sensor)
        let evaluation = try host.change { enclave, now in (try enclave.begin(.biometrics, now: now).evaluation, []) }
        storage.plan([.refused])
        host.hear(.touched(isMatch: false, for: evaluation))
        #expect(host.read { enclave, now in enclave.isBiometryLockedOut(now: now) } && host.awaitedTouch == nil)
        host.hear(.touched(isMatch: true, for: evaluation))
        #expect(host.read { enclave, _ in enclave.contexts.values.allSatisfy { $0.proven.biometry == nil } })
    }
}
