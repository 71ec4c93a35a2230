import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// PC-02: Erase Data, whatever happens in the middle of it.
@Suite(.timeLimit(.minutes(10))) struct ErasureTests {
    /// The class keys and templates that the device began with are nowhere, and it can be set up as a new one.
    private func expectErased(_ enclave: RunningEnclave, before: ClassKeys) throws {
        let facts = enclave.facts
        #expect(facts.wasErased && !facts.isPasscodeSet && !facts.isEnrolled && !facts.isLocked)
        #expect(facts.passcodeFailures == 0 && facts.passcodeRetryAfterSeconds == nil && !facts.isPasscodeDisabled)
        #expect(facts.domainState == nil && !facts.erasesData && facts.passcodeKind == nil)
        enclave.host.read { now, _ in
            for protection in Accessibility.withDevice + Accessibility.untilLocked {
                #expect(now.keys[protection]?.unprotectedCopy != before[protection]?.unprotectedCopy)
            }
            #expect(now.keys[.whenPasscodeSetThisDeviceOnly] == nil)
        }
        #expect(try enclave.change(from: "", to: "5678") == .right)
        #expect(!enclave.facts.wasErased || enclave.host.read { now, _ in now.state.erasure == .pending })
    }

    private func keys(_ enclave: RunningEnclave) -> ClassKeys { enclave.host.read { now, _ in now.keys } }

    @Test(
        "PC-02: with Erase Data on, the tenth wrong passcode makes the device as new, simulated or real",
        arguments: [true, false])
    func tenth(isSimulated: Bool) throws {
        let enclave = try RunningEnclave(erasesData: true, isSimulated: isSimulated)
        #expect(try enclave.unlock("1234") == .right)
        let before = keys(enclave)
        try enclave.fail(9)
        #expect(enclave.facts.isPasscodeSet, "nine are too few")
        try enclave.fail(1, beginningAt: 9)
        #expect(enclave.outcomes.suffix(2) == [.erased, .failed], "told before the verdict")
        #expect(enclave.facts.isSimulated == isSimulated && enclave.facts.biometryType == .touchID)
        let kept = try Enclave(stateFile: enclave.storage.versions.last, root: enclave.root, now: 0)
        #expect(kept.state == enclave.host.read { now, _ in now.state })
        try expectErased(enclave, before: before)
    }

    @Test("PC-01, PC-02: without it nothing is erased, and the tenth and every later wrong one costs eight hours")
    func withoutIt() throws {
        let enclave = try RunningEnclave()
        try enclave.fail(12)
        #expect(!enclave.facts.isPasscodeDisabled && enclave.facts.isPasscodeSet && enclave.facts.isEnrolled)
        #expect(!enclave.outcomes.contains(.erased))
        #expect(enclave.failures == 12 && enclave.retryAfter == 28_800)
        #expect(try enclave.unlock("1234") == .refused(.busy))
        try enclave.reboot()
        #expect(enclave.retryAfter == 28_800, "PC-03")
        enclave.clock.advance(by: 28_800)
        #expect(try enclave.unlock("1234") == .right)
        #expect(!enclave.facts.wasErased && enclave.failures == 0)
    }

    @Test(
        "PC-02: an older device that had stopped taking passcodes takes them again; with Erase Data on it is erased",
        arguments: [false, true])
    func disabledBefore(erasesData: Bool) throws {
        let enclave = try RunningEnclave(erasesData: erasesData)
        // As its file said then: ten, and no eleventh.
        try enclave.host.change { now, _ in
            now.state.passcodeFailures = 10
            return ((), [])
        }
        try enclave.reboot()
        #expect(enclave.facts.wasErased == erasesData)
        guard !erasesData else { return }
        #expect(enclave.retryAfter == 28_800)
        enclave.clock.advance(by: 28_800)
        #expect(try enclave.unlock("wrong") == .wrong(retryAfter: 28_800))
        enclave.clock.advance(by: 28_800)
        #expect(try enclave.unlock("1234") == .right)
    }

    @Test("PC-02: consecutive: the right one in between begins the count anew, and the same wrong one is one")
    func consecutive() throws {
        let enclave = try RunningEnclave(erasesData: true)
        try enclave.fail(9)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        #expect(try enclave.unlock("wrong 8") == .wrong(retryAfter: nil), "was wrong already: not the tenth")
        #expect(try enclave.unlock("1234") == .right)
        try enclave.fail(9)
        #expect(enclave.facts.isPasscodeSet)
    }

    @Test("PC-02: ended after the tenth was counted and before it was judged, the device is erased at boot")
    func endedBeforeTheVerdict() throws {
        let enclave = try RunningEnclave(erasesData: true)
        let before = keys(enclave)
        try enclave.fail(9)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        // The right one, for all anybody knows.
        try enclave.unlockAndEnd("1234")
        try expectErased(enclave, before: before)
    }

    @Test("PC-02: from whatever was ever on the disk the device boots: with its passcode, or erased, never neither")
    func everyVersion() throws {
        let enclave = try RunningEnclave(erasesData: true)
        try enclave.fail(10)
        for version in enclave.storage.versions {
            let other = UnreliableStorage(version)
            let host = try EnclaveHost(
                storage: other, root: enclave.root, clock: enclave.clock, newPasscodeCost: { .minimum })
            let facts = host.read { $0.facts(app: "", now: $1) }
            #expect(facts.isPasscodeSet != facts.wasErased)
            #expect(facts.isPasscodeSet == (facts.passcodeFailures > 0 || version == enclave.storage.versions.first))
            #expect(facts.passcodeFailures < 10, "ten are an erasure")
        }
    }

    @Test("PC-02: a disk that does not take the erasure gives no other try, and the next boot erases")
    func fullDisk() throws {
        let enclave = try RunningEnclave(erasesData: true)
        let before = keys(enclave)
        try enclave.fail(9)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        enclave.storage.plan([.kept, .refused, .refused, .refused])
        #expect(try enclave.unlock("wrong 9") == .refused(.notKept))
        #expect(enclave.failures == 10)
        #expect(try enclave.unlock("1234") == .refused(.passcodeDisabled))
        // The first boot finds the disk as bad as it was.
        try enclave.reboot()
        #expect(enclave.facts.isPasscodeDisabled && enclave.facts.isPasscodeSet)
        #expect(try enclave.unlock("1234") == .refused(.passcodeDisabled))
        enclave.storage.plan([])
        try enclave.reboot()
        try expectErased(enclave, before: before)
    }

    @Test("PC-02: the right one as the tenth, on a disk that fails once, erases nothing")
    func rightOnABadDisk() throws {
        let enclave = try RunningEnclave(erasesData: true)
        try enclave.fail(9)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        enclave.storage.plan([.kept, .refused])
        #expect(try enclave.unlock("1234") == .refused(.notKept))
        try enclave.reboot()
        #expect(enclave.failures == 9 && !enclave.facts.wasErased)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        #expect(try enclave.unlock("1234") == .right)
    }

    @Test("PC-02: what contexts had, a running evaluation and a backup end with it")
    func everythingElse() throws {
        let enclave = try RunningEnclave(erasesData: true)
        #expect(try enclave.unlock("1234") == .right)
        let context = try enclave.host.change { enclave, now in (try enclave.proven(.deviceOwner, app: "app"), []) }
        let evaluation = try enclave.host.change { enclave, now in
            (try enclave.begin(.deviceOwner, now: now).evaluation, [])
        }
        try enclave.fail(10)
        enclave.host.read { now, time in
            #expect(
                now.contexts.byIdentifier.isEmpty && now.evaluation == nil && now.backup == nil && now.nonces.isEmpty)
            let verdict = now.preflight(
                .init(context: context, app: "app", requirement: .deviceOwner, reuseDuration: 0), now: time)
            #expect(verdict.code == .invalidContext)
        }
        #expect(!evaluation.isEmpty)
        #expect(enclave.outcomes.contains(.erased))
    }

    @Test("PC-02: in a prompt the tenth ends the evaluation with -1, and the device is erased")
    func inAPrompt() throws {
        let enclave = try RunningEnclave(erasesData: true)
        #expect(try enclave.unlock("1234") == .right)
        try enclave.fail(9)
        enclave.clock.advance(by: enclave.retryAfter ?? 0)
        let events = try enclave.host.change { now, time -> ([EnclaveEvent], [EnclaveEvent]) in
            let begun = try now.begin(Requirement(proofs: [.passcode]), now: time)
            let nonce = try #require(now.evaluation?.nonce)
            let job = try now.submitPasscode(
                seal("wrong 9", to: now.passcodePublicKey(), nonce: nonce, for: .prompt(app: "app")),
                evaluation: begun.evaluation, now: time)
            let verdict = now.finishEvaluation(
                begun.evaluation, key: try #require(job.current).run(), now: time)
            return (try now.eraseIfDue(before: verdict, now: time), [])
        }
        #expect(events.map(\.outcome) == [.erased, .failed])
        #expect(events.last?.code == .authenticationFailed)
        #expect(enclave.facts.wasErased)
    }

    @Test(
        "PC-22: turning Erase Data on or off wants the passcode, sealed for that value; a wrong one counts and changes nothing"
    )
    func setting() throws {
        let enclave = try RunningEnclave()
        #expect(try enclave.unlock("1234") == .right)
        #expect(try enclave.setEraseData(true, passcode: "9999") == .wrong(retryAfter: nil))
        #expect(!enclave.facts.erasesData && enclave.failures == 1)
        #expect(try enclave.setEraseData(true, passcode: "1234", sealedFor: false) == .refused(.staleNonce))
        #expect(!enclave.facts.erasesData && enclave.failures == 1, "nothing was looked at")
        #expect(try enclave.setEraseData(true, passcode: "1234") == .right)
        #expect(enclave.facts.erasesData && enclave.failures == 0)
        try enclave.reboot()
        #expect(enclave.facts.erasesData, "kept")
        #expect(try enclave.change(from: "1234", to: "5678") == .right)
        #expect(enclave.facts.erasesData, "a new passcode does not turn it off")
        #expect(try enclave.setEraseData(false, passcode: "5678") == .right)
        #expect(!enclave.facts.erasesData)
        #expect(try enclave.setEraseData(true, passcode: "5678") == .right)
        #expect(try enclave.change(from: "5678", to: "") == .right)
        #expect(try enclave.setEraseData(true, passcode: "5678") == .refused(.passcodeNotSet))
        #expect(try enclave.change(from: "", to: "1234") == .right)
        #expect(!enclave.facts.erasesData, "it went with the passcode")
    }

    @Test("PC-02: that the items are gone is waited for over restarts, and said once")
    func confirmation() throws {
        let enclave = try RunningEnclave(erasesData: true)
        try enclave.fail(10)
        func isPending() -> Bool { enclave.host.read { now, _ in now.metadataKeys().isErasurePending } }
        #expect(isPending())
        try enclave.reboot()
        #expect(isPending())
        try enclave.host.change { now, _ in (now.confirmErasure(), []) }
        #expect(!isPending() && enclave.facts.wasErased)
        #expect(try enclave.change(from: "", to: "1234") == .right)
        #expect(!enclave.facts.wasErased)
        try enclave.host.change { now, _ in (now.confirmErasure(), []) }
        #expect(enclave.host.read { now, _ in now.state.erasure } == nil)
    }
}
