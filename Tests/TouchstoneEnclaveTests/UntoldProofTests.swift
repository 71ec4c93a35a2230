import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave

/// What the owner proves in an evaluation is the context's once the app may hear of a success, and not otherwise.
@Suite struct UntoldProofTests {
    private let both = Requirement(proofs: [.biometryAny, .passcode])

    private func opens(_ enclave: Enclave, _ context: String, _ requirement: Requirement = .biometrics) -> Bool {
        enclave.preflight(.init(context: context, app: "app", requirement: requirement, reuseDuration: 0), now: 0)
            == .satisfied
    }

    @Test("EV-31, EV-55: the touch, then the end from outside: the proof that nobody heard of is taken back")
    func touchedThenCancelled() throws {
        var enclave = try Enclave.device()
        let (evaluation, context, _) = try enclave.begin(.biometrics)
        #expect(enclave.touch(.finger(1), now: 0).1.last?.outcome == .succeeded)
        #expect(opens(enclave, context))
        enclave.endEvaluation(evaluation, .userCancel)
        #expect(!opens(enclave, context))
        // Twice is harmless, and so is the end of one that never was.
        enclave.endEvaluation(evaluation, .userCancel)
        enclave.endEvaluation("none", .userCancel)
        #expect(!opens(enclave, context))
    }

    @Test("EV-31: the end from outside, then the touch: it counts for nothing") func cancelledThenTouched() throws {
        var enclave = try Enclave.device()
        let (evaluation, context, _) = try enclave.begin(.biometrics)
        enclave.endEvaluation(evaluation, .userCancel)
        #expect(enclave.touch(.finger(1), now: 0).0 == .notWaiting)
        #expect(!opens(enclave, context))
    }

    @Test("EV-30: what an earlier evaluation proved, of which the app heard, stays") func earlierProofStays() throws {
        var enclave = try Enclave.device()
        let (_, context, _) = try enclave.begin(.biometrics)
        _ = enclave.touch(.finger(1), now: 0)
        let (evaluation, _, _) = try enclave.begin(both, context: context)
        enclave.endEvaluation(evaluation, .userCancel)
        #expect(opens(enclave, context))
    }

    @Test("EV-31, AC-12: of two proofs the first is worth nothing where the second never comes") func halfProven()
        throws
    {
        var enclave = try Enclave.device()
        let (evaluation, context, _) = try enclave.begin(both)
        #expect(enclave.touch(.finger(1), now: 0).1.last?.progress?.phase == .passcode)
        #expect(!opens(enclave, context))
        enclave.endEvaluation(evaluation, .userCancel)
        #expect(!opens(enclave, context))
        // The twin: with both of them the context has both.
        let proven = try enclave.proven(.deviceOwner, passcode: "1234")
        let (second, _, _) = try enclave.begin(both, context: proven)
        _ = enclave.touch(.finger(1), now: 0)
        #expect(enclave.evaluation == nil)
        #expect(opens(enclave, proven, both))
        // The passcode was reported earlier; only the finger goes.
        enclave.endEvaluation(second, .userCancel)
        #expect(!opens(enclave, proven, both))
        #expect(opens(enclave, proven, Requirement(proofs: [.passcode])))
    }

    @Test("EV-53: one that takes the place of another leaves it nothing") func replaced() throws {
        var enclave = try Enclave.device()
        let (evaluation, context, _) = try enclave.begin(.biometrics)
        _ = enclave.touch(.finger(1), now: 0)
        let other = enclave.createContext(app: "app", accessGroups: ["app"])
        _ = enclave.beginEvaluation(
            .init(
                context: other, app: "app", requirement: .biometrics, isFallbackHidden: false, replaces: evaluation),
            now: 0)
        #expect(!opens(enclave, context))
    }

    @Test("EV-33, DS-03: a finger that is enrolled before the second proof leaves nothing of the first")
    func enrolledInBetween() throws {
        var enclave = try Enclave.device()
        let (_, context, _) = try enclave.begin(both)
        _ = enclave.touch(.finger(1), now: 0)
        try enclave.enroll("finger 2", sample: .finger(2))
        _ = enclave.passcodeMatched(now: 0)
        #expect(!opens(enclave, context))
        #expect(enclave.evaluation?.phase == .biometry)
    }

    // MARK: when the sensor counts

    @Test("The sensor counts half a second after the prompt was shown, and a touch before that changes nothing")
    func touchesBeforeThePromptIsSeen() throws {
        var enclave = try Enclave.device()
        let (evaluation, context, _) = try enclave.begin(.biometrics, isShown: false)
        // Nobody has said that it is shown, however long that takes.
        for sample in [Sample.finger(1), .stranger] {
            let (touch, events) = enclave.touch(sample, now: 10)
            #expect(touch == .notWaiting && events.isEmpty)
        }
        #expect(enclave.setShown(true, evaluation, now: 10) == 0.5)
        // The same again does not begin again.
        #expect(enclave.setShown(true, evaluation, now: 10.25) == 0.25)
        #expect(enclave.nextLimit(now: 10.25) == 10.5)
        #expect(enclave.touch(.stranger, now: 10.49).0 == .notWaiting)
        #expect(enclave.state.biometryFailures == 0 && enclave.evaluation?.failures == 0)
        #expect(!opens(enclave, context))
        #expect(enclave.touch(.finger(1), now: 10.5).0 == .matched)
        #expect(opens(enclave, context))
    }

    @Test("A prompt that nobody shows any more has the sensor wait for whoever shows it next") func shownByAnother()
        throws
    {
        var enclave = try Enclave.device()
        let (evaluation, _, _) = try enclave.begin(.biometrics)
        #expect(enclave.setShown(false, evaluation, now: 0) == 0)
        #expect(enclave.touch(.finger(1), now: 5).0 == .notWaiting)
        #expect(enclave.setShown(true, evaluation, now: 5) == 0.5)
        #expect(enclave.touch(.finger(1), now: 6).0 == .matched)
        #expect(enclave.setShown(true, evaluation, now: 6) == nil)
    }

    @Test("The passcode of a prompt needs no wait: it is sealed for that prompt") func passcodeBeforeTheSensor() throws
    {
        var enclave = try Enclave.device(fingers: 0)
        let (evaluation, _, _) = try enclave.begin(.deviceOwner, isShown: false)
        let nonce = try #require(enclave.evaluation?.nonce)
        let job = try enclave.submitPasscode(
            seal("1234", to: enclave.passcodePublicKey(), nonce: nonce, for: .prompt(app: "app")),
            evaluation: evaluation, now: 0)
        let events = enclave.finishEvaluation(evaluation, key: try #require(job.current).run(), now: 0)
        #expect(events.last?.outcome == .succeeded)
    }
}
