import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave

/// One call looks and begins: what it leaves where the owner is asked, where nobody has to be, and where nobody can be.
@Suite struct BeginningTests {
    private let finger = Requirement.biometrics

    private func start(
        _ requirement: Requirement, context: String? = nil, app: AppIdentifier = "app", reuseDuration: Double = 0
    ) -> Enclave.EvaluationStart {
        .init(
            context: context, accessGroups: ["group"], app: app, requirement: requirement,
            reuseDuration: reuseDuration)
    }

    @Test("AC-25, KC-42: where the app named no context one is made, of its groups") func contextIsMade() throws {
        var enclave = try Enclave.device()
        guard case .begun(let evaluation, let context, _) = enclave.beginEvaluation(start(finger), now: 0).0 else {
            Issue.record("nobody is asked")
            return
        }
        #expect(enclave.evaluation?.identifier == evaluation && enclave.evaluation?.context == context)
        #expect(enclave.contexts[context]?.app == "app")
        #expect(enclave.contexts[context]?.accessGroups == ["group"])
    }

    @Test("AC-25: one that is named is used, and none is made") func contextIsNamed() throws {
        var enclave = try Enclave.device()
        let context = enclave.createContext(app: "app", accessGroups: ["group"])
        _ = enclave.beginEvaluation(start(finger, context: context), now: 0)
        #expect(enclave.evaluation?.context == context && enclave.contexts.byIdentifier.count == 1)
    }

    @Test("EV-50: a context that is gone, or another app's, is refused", arguments: ["none", "other"])
    func contextIsUnknown(_ name: String) throws {
        var enclave = try Enclave.device()
        let other = enclave.createContext(app: "other", accessGroups: ["group"])
        let context = name == "other" ? other : name
        let (beginning, events) = enclave.beginEvaluation(start(finger, context: context), now: 0)
        #expect(beginning == .refused(.contextInvalidated) && events.isEmpty && enclave.evaluation == nil)
    }

    @Test("CE-05: what cannot be proven is refused, and leaves no context") func refused() throws {
        var enclave = try Enclave.device(fingers: 0)
        #expect(enclave.beginEvaluation(start(finger), now: 0).0 == .refused(.notEnrolled))
        #expect(enclave.contexts.byIdentifier.isEmpty && enclave.evaluation == nil)
    }

    @Test("EV-05: behind the lock screen nothing begins") func locked() throws {
        var enclave = try Enclave.device()
        _ = enclave.lock(now: 0)
        #expect(enclave.beginEvaluation(start(.deviceOwner), now: 0).0 == .refused(.deviceLocked))
        #expect(enclave.contexts.byIdentifier.isEmpty)
    }

    @Test(
        "EV-40: within the window nobody is asked, and the context that is made has the proof; without it somebody is")
    func reused() throws {
        var enclave = try Enclave.device()
        // Once with the passcode since the boot: then a finger opens the lock screen.
        _ = enclave.lock(now: 0)
        try enclave.unlock("1234")
        _ = enclave.lock(now: 0)
        #expect(enclave.touch(.finger(1), now: 0).0 == .unlocked)
        guard case .satisfied(let context) = enclave.beginEvaluation(start(finger, reuseDuration: 10), now: 5).0 else {
            Issue.record("the owner is asked")
            return
        }
        #expect(enclave.contexts[context]?.proven.biometry == enclave.state.database.hash)
        guard case .begun = enclave.beginEvaluation(start(finger), now: 5).0 else {
            Issue.record("nobody is asked")
            return
        }
    }

    @Test("EV-53: one that is refused, or needs nobody, leaves the one before as it is; one that begins ends it")
    func theOneBefore() throws {
        var enclave = try Enclave.device()
        let proven = try enclave.proven(finger)
        let (evaluation, _, _) = try enclave.begin(.deviceOwner)
        let (unknown, none) = enclave.beginEvaluation(start(finger, context: "none"), now: 0)
        #expect(unknown == .refused(.contextInvalidated) && none.isEmpty)
        let (satisfied, alsoNone) = enclave.beginEvaluation(start(finger, context: proven), now: 0)
        #expect(satisfied == .satisfied(context: proven) && alsoNone.isEmpty)
        #expect(enclave.evaluation?.identifier == evaluation)
        let (_, events) = enclave.beginEvaluation(start(finger), now: 0)
        #expect(events.contains(.evaluationEnded(evaluation, .refused(.cancelledByAnother))))
        #expect(enclave.evaluation?.identifier != evaluation)
    }
}
