import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// What is on disk before anybody hears of it, and what happens where it cannot be written.
@Suite(.timeLimit(.minutes(10))) struct EnclaveHostTests {
    private final class Events: Sendable {
        private let received = Mutex<[EnclaveEvent]>([])
        var all: [EnclaveEvent] { received.withLock { $0 } }
        func add(_ event: EnclaveEvent) { received.withLock { $0.append(event) } }
    }

    private let storage: TestStorage
    private let host: EnclaveHost
    private let events = Events()

    init() throws {
        storage = TestStorage(try Enclave.device().stateFile())
        host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: StandingClock(), newPasscodeCost: { .minimum })
        host.watch { [events] in events.add($0) }
    }

    private func eventually(_ condition: () -> Bool) async {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(300)
        while !condition(), clock.now < end { try? await Task.sleep(for: .milliseconds(1)) }
        #expect(condition())
    }

    private func unlock(_ passcode: String, ticket: String) async throws -> EnclaveEvent {
        let entry = try host.change { enclave, _ in (try enclave.sealed(passcode), []) }
        try host.derive(ticket: ticket) { (enclave, now) throws(Enclave.Refused) in
            try enclave.unlock(entry, now: now)
        }
        await eventually { events.all.contains { $0.ticket == ticket } }
        return try #require(events.all.last { $0.ticket == ticket })
    }

    private func failures(_ file: Data) throws -> Int {
        try Enclave(stateFile: file, root: TestRoot(), now: 0).state.passcodeFailures
    }

    @Test("The login session locks the device, also where the disk is full; whoever keeps keys hears of it, once")
    func lockedWithTheSession() async throws {
        for (count, isFull) in [(1, false), (2, true)] {
            #expect(try await unlock("1234", ticket: "\(count)").outcome == .succeeded)
            #expect(!host.read { enclave, _ in enclave.isLocked })
            storage.isFull = isFull
            host.lockWithSession()
            host.lockWithSession()
            #expect(host.read { enclave, _ in enclave.isLocked })
            storage.isFull = false
            await eventually { events.all.filter { $0.outcome == .locked }.count == count }
        }
        #expect(try await unlock("9999", ticket: "wrong").outcome == .failed)
        #expect(events.all.filter { $0.outcome == .locked }.count == 2)
    }

    @Test("The watcher is called as directly after many events as after the first")
    func depthOfTheWatcher() async throws {
        let depths = Mutex<[Int]>([])
        host.watch { _ in depths.withLock { $0.append(Thread.callStackReturnAddresses.count) } }
        for _ in 0..<40 { try host.change { _, _ in ((), [.environmentChanged]) } }
        await eventually { depths.withLock { $0.count } == 40 }
        let (first, last) = depths.withLock { ($0.first ?? 0, $0.last ?? 0) }
        // The queue may call from one place or another; a closure that is wrapped at each look is 80 frames deeper by now.
        #expect(first > 0 && abs(last - first) < 20)
    }

    @Test("A guess is on disk before it is looked at: ending the process in between gives none for free")
    func countedBeforeTheCheck() async throws {
        #expect(try await unlock("9999", ticket: "a").outcome == .failed)
        #expect(try storage.versions.map(failures) == [0, 1])
        #expect(try await unlock("1234", ticket: "b").outcome == .succeeded)
        // Counted, then right: whoever had ended the process after the third write would have begun with two failures.
        #expect(try storage.versions.map(failures) == [0, 1, 2, 0])
    }

    @Test("The same wrong guess again is counted before the check too, and given back after it")
    func sameGuessIsGivenBack() async throws {
        for ticket in ["a", "b"] { #expect(try await unlock("9999", ticket: ticket).outcome == .failed) }
        #expect(try storage.versions.map(failures) == [0, 1, 2, 1])
    }

    @Test("A non-match is on disk before anybody hears of it")
    func nonMatchIsKept() async throws {
        #expect(try host.touch(.stranger) == .passcodeRequired, "locked: the lock screen asks for the passcode")
        let refused = Enclave.NotBegun(beginning: .refused(.deviceLocked))
        #expect(throws: refused, "EV-05: nothing is evaluated behind the lock screen") {
            try host.change { enclave, _ in (try enclave.begin(.deviceOwner).evaluation, []) }
        }
        #expect(try await unlock("1234", ticket: "a").outcome == .succeeded)
        _ = try host.change { enclave, _ in (try enclave.begin(.biometrics).evaluation, []) }
        #expect(try host.touch(.stranger) == .notMatched)
        let kept = try #require(storage.versions.last)
        #expect(try Enclave(stateFile: kept, root: TestRoot(), now: 0).state.biometryFailures == 1)
    }

    @Test("Where the storage is full a guess is not looked at, and the enclave is as it was")
    func fullBeforeTheGuess() async throws {
        let entry = try host.change { enclave, _ in (try enclave.sealed("1234"), []) }
        storage.isFull = true
        #expect(throws: EnclaveHost.NotKept.self) {
            try host.derive(ticket: "a") { (enclave, now) throws(Enclave.Refused) in
                try enclave.unlock(entry, now: now)
            }
        }
        host.read { enclave, _ in
            #expect(enclave.state.passcodeFailures == 0)
            #expect(!enclave.passcodeGuesses.isBusy)
            #expect(enclave.isLocked)
        }
        storage.isFull = false
        try host.derive(ticket: "b") { (enclave, now) throws(Enclave.Refused) in
            try enclave.unlock(entry, now: now)
        }
        await eventually { events.all.contains { $0.ticket == "b" && $0.outcome == .succeeded } }
    }

    @Test("Where the storage is full a finger is not enrolled and a non-match does not go uncounted")
    func fullWhileEnrolling() async throws {
        #expect(try await unlock("1234", ticket: "a").outcome == .succeeded)
        storage.isFull = true
        #expect(throws: EnclaveHost.NotKept.self) {
            try host.change { enclave, _ in
                try enclave.enroll("finger 2", sample: .finger(2))
                return ((), [])
            }
        }
        #expect(host.read { enclave, _ in enclave.state.templates.count } == 1)
        _ = try host.change { enclave, now in (try enclave.begin(.biometrics, now: now).evaluation, []) }
        // Without the count there would be no limit to tries: there are none, until the passcode.
        #expect(throws: EnclaveHost.NotKept.self) { try host.touch(.stranger) }
        #expect(host.read { enclave, _ in enclave.evaluation == nil })
        #expect(host.read { $0.isBiometryLockedOut(now: $1) })
        storage.isFull = false
        #expect(try host.touch(.finger(1)) == .notWaiting)
        #expect(host.read { $0.biometryObstacle(now: $1) } == .biometryLockout)
        #expect(host.read { $0.biometryRefusal(now: $1) } == .biometrySuspended)
        _ = try host.change { ((), $0.lock(now: $1)) }
        #expect(try await unlock("1234", ticket: "b").outcome == .succeeded)
        #expect(host.read { $0.biometryObstacle(now: $1) } == nil)
    }

    @Test("Where the storage fills up during the check, nothing is proven and the next guess is taken")
    func fullDuringTheCheck() async throws {
        let entry = try host.change { enclave, _ in (try enclave.sealed("1234"), []) }
        try host.derive(ticket: "a") { (enclave, now) throws(Enclave.Refused) in
            // This turn's write is made when the closure has returned; the next one's is not.
            let job = try enclave.unlock(entry, now: now)
            return PasscodeJob(
                purpose: job.purpose,
                current: job.current.map { [storage] in
                    PasscodeDerivation(
                        passcode: $0.passcode, salt: $0.salt, cost: $0.cost, root: FillingRoot(storage: storage))
                })
        }
        await eventually { events.all.contains { $0.ticket == "a" } }
        #expect(events.all.last?.outcome == .failed)
        #expect(events.all.last?.refusal == .notKept)
        #expect(host.read { enclave, _ in enclave.isLocked })
        #expect(host.read { enclave, _ in enclave.keys[.whenUnlocked] == nil })
        storage.isFull = false
        #expect(try await unlock("1234", ticket: "b").outcome == .succeeded)
    }

    @Test(
        "PC-04: once the root of trust has said whether a guess is right, a failure before the verdict gives none back",
        arguments: [false, true])
    func noMemoryAfterTheAnswer(isGated: Bool) async throws {
        let host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: StandingClock(),
            // Less than there can be: no memory for the new passcode.
            newPasscodeCost: { PasscodeCost(operations: 1, memoryBytes: 1) })
        host.watch { [events] in events.add($0) }
        let entry = try host.change { enclave, _ in
            let nonce = enclave.freshNonce()
            return (try seal("9999", "5678", to: enclave.passcodePublicKey(), nonce: nonce, for: .change), [])
        }
        try host.derive(ticket: "a") { (enclave, now) throws(Enclave.Refused) in
            var job = try enclave.changePasscode(entry, now: now)
            job.current = job.current.map {
                PasscodeDerivation(
                    passcode: $0.passcode, salt: $0.salt, cost: $0.cost, root: AnsweringRoot(),
                    gate: isGated ? PasscodeGate(closed: Data()) : nil)
            }
            return job
        }
        await eventually { events.all.contains { $0.ticket == "a" } }
        #expect(events.all.last { $0.ticket == "a" }?.refusal == .busy)
        #expect(host.read { enclave, _ in enclave.state.passcodeFailures } == (isGated ? 1 : 0))
        #expect(host.read { enclave, _ in !enclave.passcodeGuesses.isBusy })
    }

    @Test(
        "DEC-060: an earlier passcode's gate is destroyed once the new state is on the disk, and not while nobody can say"
    )
    func gatesAreKept() async throws {
        let root = GatedRoot()
        let disk = UnreliableStorage(try Enclave.create(isSimulated: true, biometryType: .touchID, root: root))
        let host = try EnclaveHost(
            storage: disk, root: root, clock: StandingClock(), counter: TestCounter(), newPasscodeCost: { .minimum })
        host.watch { [events] in events.add($0) }
        func change(_ current: String, _ new: String, ticket: String) async throws -> EnclaveEvent? {
            let entry = try host.change { enclave, _ in
                let nonce = enclave.freshNonce()
                return (try seal(current, new, to: enclave.passcodePublicKey(), nonce: nonce, for: .change), [])
            }
            try host.derive(ticket: ticket) { (enclave, now) throws(Enclave.Refused) in
                try enclave.changePasscode(entry, now: now)
            }
            await eventually { events.all.contains { $0.ticket == ticket } }
            return events.all.last { $0.ticket == ticket }
        }
        #expect(root.kept.last == .some(nil))
        #expect(try await change("", "1234", ticket: "a")?.outcome == .succeeded)
        #expect(root.kept.last == Data([1]))
        // The guess is kept; the verdict may be or may not; its refund is not.
        disk.plan([.kept, .keptAndFailed, .refused])
        #expect(try await change("1234", "5678", ticket: "b")?.refusal == .notKept)
        #expect(root.kept.last == Data([1]) && root.kept.count == 2, "either gate may be the one on the disk")
        #expect(try await change("1234", "5678", ticket: "c")?.outcome == .succeeded)
        #expect(root.kept.last == Data([3]) && root.kept.count == 3)
    }

    @Test("A passcode is set after a write that failed, whose number the counter never hears of")
    func passcodeAfterAFailedWrite() async throws {
        let root = TestRoot()
        let disk = UnreliableStorage(try Enclave.create(isSimulated: true, biometryType: .touchID, root: root))
        let host = try EnclaveHost(
            storage: disk, root: root, clock: StandingClock(), counter: TestCounter(), newPasscodeCost: { .minimum })
        host.watch { [events] in events.add($0) }
        disk.plan([.refused])
        #expect(throws: EnclaveHost.NotKept.self) {
            try host.change { enclave, _ in
                enclave.state.biometryFailures += 1
                return ((), [])
            }
        }
        let entry = try host.change { enclave, _ in
            let nonce = enclave.freshNonce()
            return (try seal("", "1234", to: enclave.passcodePublicKey(), nonce: nonce, for: .change), [])
        }
        try host.derive(ticket: "a") { (enclave, now) throws(Enclave.Refused) in
            try enclave.changePasscode(entry, now: now)
        }
        await eventually { events.all.contains { $0.ticket == "a" } }
        #expect(events.all.last { $0.ticket == "a" }?.outcome == .succeeded)
    }

    /// Numbers what it closes, opens all of it, and remembers what it was told to keep.
    private final class GatedRoot: RootOfTrust, PasscodeGuard {
        let kind = "tpm2"
        private let state = Mutex((closed: [SecretBytes](), kept: [Data?]()))
        var kept: [Data?] { state.withLock { $0.kept } }
        var passcodeGuard: (any PasscodeGuard)? { self }
        func derive(_ label: String, _ input: Data) throws -> SecretBytes { try TestRoot().derive(label, input) }
        func close(_ secret: SecretBytes, with value: SecretBytes) throws(PasscodeGuardError) -> Data {
            state.withLock { state in
                state.closed.append(secret)
                return Data([UInt8(state.closed.count)])
            }
        }
        func open(_ closed: Data, with value: SecretBytes) throws(PasscodeGuardError) -> SecretBytes? {
            state.withLock { $0.closed[Int(closed[0]) - 1] }
        }
        func keep(_ closed: Data?) throws(PasscodeGuardError) { state.withLock { $0.kept.append(closed) } }
    }

    /// Says of every guess that it is wrong.
    private struct AnsweringRoot: RootOfTrust, PasscodeGuard {
        let kind = "tpm2"
        var passcodeGuard: (any PasscodeGuard)? { self }
        func derive(_ label: String, _ input: Data) throws -> SecretBytes { try TestRoot().derive(label, input) }
        func close(_ secret: SecretBytes, with value: SecretBytes) throws(PasscodeGuardError) -> Data { Data() }
        func open(_ closed: Data, with value: SecretBytes) throws(PasscodeGuardError) -> SecretBytes? { nil }
        func keep(_ closed: Data?) throws(PasscodeGuardError) {}
    }

    private struct FillingRoot: RootOfTrust {
        let storage: TestStorage
        let kind = "software"
        func derive(_ label: String, _ input: Data) throws -> SecretBytes {
            storage.isFull = true
            return try TestRoot().derive(label, input)
        }
    }

    @Test("PC-01: a passcode refused in a prompt, for the delay or its nonce, leaves a prompt that takes the next")
    func refusedEntryLeavesThePromptAlive() async throws {
        #expect(try await unlock("1234", ticket: "a").outcome == .succeeded)
        let evaluation = try host.change { enclave, now in
            enclave.state.templates = []
            return (try enclave.begin(.deviceOwner, now: now).evaluation, [])
        }
        func submit() throws {
            let (key, shown) = try host.read { enclave, _ in (try enclave.passcodePublicKey(), enclave.evaluation) }
            // As an agent has it: from the last event, or from the beginning.
            let nonce = events.all.last { $0.evaluation == evaluation }?.progress?.nonce ?? shown?.nonce
            let entry = try seal("1234", to: key, nonce: #require(nonce), for: .prompt(app: "app"))
            try host.derive(ticket: evaluation) { (enclave, now) throws(Enclave.Refused) in
                try enclave.submitPasscode(entry, evaluation: evaluation, now: now)
            }
        }
        try host.change { enclave, now in
            enclave.passcodeGuesses.delayNext(by: 60, now: now)
            return ((), [])
        }
        #expect(throws: Enclave.Refused.self) { try submit() }
        await eventually { events.all.last?.evaluation == evaluation }
        #expect(events.all.last?.outcome == .progress)
        #expect(events.all.last?.progress?.retryAfterSeconds == 60)
        try host.change { enclave, now in
            enclave.passcodeGuesses.delayNext(by: 0, now: now)
            return ((), [])
        }
        try submit()
        await eventually { events.all.last?.outcome == .succeeded }
    }
}
