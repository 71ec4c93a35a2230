import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave

/// Random calls in any order, sensible or not, against what must hold after each.
@Suite(.timeLimit(.minutes(10))) struct RandomStateTests {
    private static let apps: [AppIdentifier] = ["app", "other"]

    private struct Run {
        enum Proof { case finger, passcode }

        var enclave: Enclave
        var now = 0.0
        var begun: [String: Requirement] = [:]
        var contexts: [(identifier: String, app: AppIdentifier)] = []
        var ended: [String: Int] = [:]
        /// What the owner proved in this step.
        var proof: Proof?
        var missesInARow = 0
        /// What has happened, for whoever has to find out why.
        var history: [String] = []
        var wrongs: [String] = []

        mutating func check(_ holds: Bool, _ rule: String) {
            if !holds { wrongs.append(rule) }
        }

        mutating func take(_ events: [EnclaveEvent]) {
            for event in events {
                guard let evaluation = event.evaluation, let requirement = begun[evaluation] else { continue }
                if event.outcome == .progress {
                    check(enclave.evaluation?.identifier == evaluation, "only what runs makes progress")
                    continue
                }
                ended[evaluation, default: 0] += 1
                if event.outcome == .succeeded {
                    check(proof != nil, "EV-72: no success without a proof")
                    check(
                        requirement == .deviceOwner || proof == .finger, "EV-31: biometrics are not met by the passcode"
                    )
                }
                if requirement == .deviceOwner {
                    check(event.code != .userFallback, "EV-18: -3 never for policy 2")
                    check(event.code != .biometryNotAvailable, "EV-19: -6 never for policy 2")
                    check(event.code != .biometryLockout, "EV-19: -8 never for policy 2")
                }
            }
        }
    }

    @Test("EV-01, EV-18, EV-26, EV-53, CE-09: no order of calls breaks what must hold", arguments: 0..<400)
    func invariants(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let type: BiometryType = Bool.random(using: &random) ? .touchID : .faceID
        var run = Run(enclave: try Enclave.device(type, random: SeededRandomness(seed)))
        for _ in 0..<50 where run.wrongs.isEmpty {
            let before = run.enclave.state
            run.proof = nil
            let isAdministered = try step(&run, &random)
            let after = run.enclave.state
            run.check(
                after.biometryFailures >= before.biometryFailures || run.proof != nil,
                "EV-27: a match or the passcode alone lowers the count of non-matches")
            run.check(after.biometryFailures <= 5, "EV-26: no more than five are counted")
            run.check(
                after.passcodeFailures >= before.passcodeFailures || run.proof == .passcode,
                "PC-02: the right passcode alone lowers the count of wrong ones")
            run.check(
                after.database.changes >= before.database.changes
                    && (after.database == before.database || isAdministered), "DS-04: the enrolment never goes back")
            if run.missesInARow >= 5 {
                run.check(run.enclave.isBiometryLockedOut(now: run.now), "EV-26: five in a row always lock out")
            }
            run.check(run.ended.values.allSatisfy { $0 == 1 }, "EV-01: one end for each evaluation")
            let running = run.begun.keys.filter { run.ended[$0] == nil }
            run.check(running == (run.enclave.evaluation.map { [$0.identifier] } ?? []), "EV-53: at most one runs")
            if run.enclave.isLocked {
                run.check(run.enclave.keys[.whenUnlocked] == nil, "KC-20: locked, class A is gone")
                run.check(run.enclave.evaluation == nil, "EV-52: nothing is asked behind the lock screen")
                run.check(
                    run.enclave.contexts.byIdentifier.values.allSatisfy {
                        $0.proven.biometry == nil && !$0.proven.passcode
                    },
                    "EV-33: locked, nothing is proven")
            }
            for context in run.enclave.contexts.byIdentifier.values
            where run.enclave.faceIDPermission(of: context.app) == false {
                run.check(context.proven.biometry == nil, "CE-09: a face has proven nothing to who was denied it")
            }
            run.check(!run.enclave.passcodeGuesses.isBusy, "PC-07: no passcode is looked at for ever")
        }
        #expect(run.wrongs.isEmpty, "seed \(seed), \(type), after\n\(run.history.joined(separator: "\n"))")
    }

    /// - Returns: Whether the enrolment may be another afterwards.
    private func step(_ run: inout Run, _ random: inout SplitMix) throws -> Bool {
        let app = Self.apps.randomElement(using: &random) ?? "app"
        let kind = Int.random(in: 0..<22, using: &random)
        switch kind {
        case 0..<4:
            guard !run.enclave.isLocked else { return false }
            let requirement = Bool.random(using: &random) ? Requirement.biometrics : .deviceOwner
            let context =
                Bool.random(using: &random) ? run.contexts.filter { $0.app == app }.randomElement(using: &random) : nil
            let request = Enclave.EvaluationRequest(
                context: context?.identifier, app: app, requirement: requirement, reuseDuration: 0)
            let verdict = run.enclave.preflight(request, now: run.now)
            if verdict == .satisfied, let proven = context.flatMap({ run.enclave.contexts[$0.identifier]?.proven }) {
                let isRecognised = proven.biometry == run.enclave.state.database.hash && run.enclave.isEnrolled
                run.check(
                    isRecognised || (requirement == .deviceOwner && proven.passcode),
                    "EV-31: the passcode satisfies the device owner's policy alone")
            }
            guard verdict == .interactive else { return false }
            let (evaluation, made, events) = try run.enclave.begin(
                requirement, app: app, context: context?.identifier, now: run.now)
            run.history.append(
                "\(app) begins \(requirement.proofs) in \(String(describing: run.enclave.evaluation?.phase))")
            run.begun[evaluation] = requirement
            run.contexts.append((made, app))
            run.take(events)
        case 4..<8:
            let (touch, events) = run.enclave.touch(.stranger, now: run.now)
            run.history.append("no match: \(touch)")
            if touch == .notMatched { run.missesInARow += 1 }
            run.take(events)
        case 8:
            let evaluation = run.enclave.evaluation
            let isEnrolled = run.enclave.isEnrolled
            let (touch, events) = run.enclave.touch(.finger(1), now: run.now)
            run.history.append("finger 1: \(touch)")
            guard touch == .matched || touch == .unlocked else {
                if touch == .notMatched { run.missesInARow += 1 }
                run.take(events)
                return false
            }
            run.check(isEnrolled, "DS-03: nobody enrolled is nobody recognised")
            run.check(run.missesInARow < 5, "EV-26: after five non-matches none matches")
            if touch == .matched, let evaluation {
                run.check(evaluation.phase == .biometry, "CE-10, EV-16: the sensor is judged only while it waits")
            }
            run.missesInARow = 0
            run.proof = .finger
            run.take(events)
        case 9:
            run.history.append("fallback")
            run.take(run.enclave.chooseFallback(now: run.now))
        case 10, 11:
            run.history.append("try again")
            run.take(run.enclave.tryAgain(now: run.now))
        case 12, 13:
            guard let evaluation = run.enclave.evaluation,
                let app = run.enclave.contexts[evaluation.context]?.app
            else { return false }
            let isRight = Bool.random(using: &random)
            run.history.append(isRight ? "passcode" : "wrong passcode")
            let entry = try seal(
                isRight ? "1234" : "9999", to: run.enclave.passcodePublicKey(), nonce: evaluation.nonce,
                for: .prompt(app: app))
            guard
                let job = try? run.enclave.submitPasscode(entry, evaluation: evaluation.identifier, now: run.now)
            else { return false }
            if isRight { (run.proof, run.missesInARow) = (.passcode, 0) }
            run.take(
                run.enclave.finishEvaluation(
                    evaluation.identifier, key: try #require(job.current).run(), now: run.now))
        case 14:
            run.history.append("lock")
            run.take(run.enclave.lock(now: run.now))
        case 15, 16:
            let isRight = Int.random(in: 0..<3, using: &random) > 0
            run.history.append("unlock with the \(isRight ? "right" : "wrong") passcode")
            let isUnlocked = try run.enclave.unlock(isRight ? "1234" : "9999", now: run.now)
            run.check(isUnlocked == isRight, "PC-01: the passcode alone unlocks")
            if isRight { (run.proof, run.missesInARow) = (.passcode, 0) }
        case 17:
            guard let context = run.contexts.randomElement(using: &random) else { return false }
            run.history.append("\(context.app) invalidates a context")
            run.take(run.enclave.invalidateContext(context.identifier))
            run.contexts.removeAll { $0.identifier == context.identifier }
        case 18, 19:
            guard run.enclave.hasFaceID else { return false }
            let isAllowed = [true, true, false, nil].randomElement(using: &random) ?? nil
            run.history.append("\(app): Face ID \(String(describing: isAllowed))")
            run.take(try run.enclave.setFaceIDPermission(isAllowed, of: app, now: run.now))
        case 20:
            run.history.append(run.enclave.isEnrolled ? "finger 1 is removed" : "finger 1 is enrolled")
            if run.enclave.isEnrolled {
                try run.enclave.removeFinger("finger 1")
            } else {
                try run.enclave.enroll("finger 1", sample: .finger(1))
            }
            return true
        default:
            let seconds = Double.random(in: 0..<200_000, using: &random)
            run.history.append("\(seconds) s")
            run.now += seconds
        }
        return false
    }
}
