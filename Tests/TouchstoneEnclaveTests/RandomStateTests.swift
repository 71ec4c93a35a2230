import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave

/// Random calls in any order, sensible or not, against what must hold after each.
@Suite(.timeLimit(.minutes(10))) struct RandomStateTests {
    /// The same for the same seed, everywhere.
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private struct Run {
        var enclave: Enclave
        var now = 0.0
        var begun: [String: Requirement] = [:]
        var contexts: [String] = []
        var ended: [String: Int] = [:]
        var wasProven = false
        var missesInARow = 0

        mutating func take(_ events: [EnclaveEvent], isEndedByUs: String? = nil) {
            for event in events {
                guard let evaluation = event.evaluation else { continue }
                if event.outcome == .progress {
                    #expect(enclave.evaluation?.identifier == evaluation, "only what runs makes progress")
                    continue
                }
                ended[evaluation, default: 0] += 1
                if event.outcome == .succeeded { #expect(wasProven, "no success without a proof") }
            }
        }
    }

    @Test("EV-01, EV-26, EV-53: no order of calls breaks what must hold", arguments: 0..<250)
    func invariants(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let type: BiometryType = Bool.random(using: &random) ? .touchID : .faceID
        var run = Run(enclave: try Enclave.device(type))
        for _ in 0..<30 {
            let before = run.enclave.state.biometryFailures
            run.wasProven = false
            let mayReset = try step(&run, &random)
            let after = run.enclave.state.biometryFailures
            #expect(after >= before || mayReset, "a match or the passcode alone lowers the count")
            #expect(after <= 5)
            if run.missesInARow >= 5 {
                #expect(run.enclave.isBiometryLockedOut(now: run.now), "EV-26: five in a row always lock out")
            }
            #expect(run.ended.values.allSatisfy { $0 == 1 }, "one end for each evaluation")
            let running = run.begun.keys.filter { run.ended[$0] == nil }
            #expect(running == (run.enclave.evaluation.map { [$0.identifier] } ?? []), "at most one runs")
            if run.enclave.isLocked {
                #expect(run.enclave.keys[.whenUnlocked] == nil)
                #expect(run.enclave.evaluation == nil)
            }
            #expect(!run.enclave.isPasscodeBusy)
        }
    }

    /// - Returns: Whether the count of non-matches may be lower afterwards.
    private func step(_ run: inout Run, _ random: inout SplitMix) throws -> Bool {
        switch Int.random(in: 0..<14, using: &random) {
        case 0, 1, 2:
            guard !run.enclave.isLocked else { return false }
            let requirement = Bool.random(using: &random) ? Requirement.biometrics : .deviceOwner
            let context = Bool.random(using: &random) ? run.contexts.randomElement(using: &random) : nil
            let verdict = run.enclave.preflight(
                .init(context: context, app: "app", requirement: requirement, reuseDuration: 0), now: run.now
            ).verdict
            guard verdict == .interactive else { return false }
            let (evaluation, made, events) = try run.enclave.begin(requirement, context: context, now: run.now)
            run.begun[evaluation] = requirement
            run.contexts.append(made)
            run.take(events)
        case 3, 4, 5:
            let (touch, events) = run.enclave.touch(.stranger, now: run.now)
            if touch == .notMatched { run.missesInARow += 1 }
            run.take(events)
        case 6:
            let (touch, events) = run.enclave.touch(.finger(1), now: run.now)
            let isMatch = touch == .matched || touch == .unlocked
            if isMatch {
                #expect(run.missesInARow < 5)
                run.missesInARow = 0
                run.wasProven = true
            }
            run.take(events)
            return isMatch
        case 7: run.take(run.enclave.chooseFallback(now: run.now))
        case 8, 9:
            guard let evaluation = run.enclave.evaluation else { return false }
            let isRight = Bool.random(using: &random)
            let entry = try seal(
                isRight ? "1234" : "9999", to: run.enclave.passcodePublicKey(), nonce: evaluation.nonce,
                for: .prompt(app: "app"))
            guard
                let job = try? run.enclave.submitPasscode(entry, evaluation: evaluation.identifier, now: run.now)
            else { return false }
            run.wasProven = isRight
            if isRight { run.missesInARow = 0 }
            run.take(
                run.enclave.finishEvaluation(
                    evaluation.identifier, key: try #require(job.current).run(), now: run.now))
            return isRight
        case 10: run.take(run.enclave.lock(now: run.now))
        case 11:
            let isRight = Bool.random(using: &random)
            #expect(try run.enclave.unlock(isRight ? "1234" : "9999", now: run.now) == isRight)
            if isRight { run.missesInARow = 0 }
            return isRight
        case 12:
            guard let context = run.contexts.randomElement(using: &random) else { return false }
            run.take(run.enclave.invalidateContext(context))
            run.contexts.removeAll { $0 == context }
        default:
            run.now += Double.random(in: 0..<200_000, using: &random)
        }
        return false
    }
}
