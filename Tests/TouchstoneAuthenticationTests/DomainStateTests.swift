import Foundation
import LocalAuthentication
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct DomainStateTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    /// As an app asks for it (DS-08).
    private func state() -> Data? {
        let context = LAContext()
        _ = canEvaluate(biometrics, on: context)
        return context.evaluatedPolicyDomainState
    }

    @Test(
        "DS-01: nil on a fresh context and after policy 2; there after a yes to policy 1 or 4",
        arguments: [biometrics, biometricsOrCompanion])
    func onlyBiometricPolicies(policy: LAPolicy) {
        device.run {
            let context = LAContext()
            #expect(context.evaluatedPolicyDomainState == nil)
            #expect(canEvaluate(deviceOwner, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState == nil)
            #expect(canEvaluate(policy, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState != nil)
        }
    }

    @Test("DS-01: a biometric evaluation sets it when it succeeds, not when it fails, and policy 2 never")
    func evaluations() async {
        await device.run {
            let context = LAContext()
            device.present(.cancel)
            #expect(await evaluate(biometrics, on: context) == .userCancel)
            #expect(context.evaluatedPolicyDomainState == nil)
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState == nil)
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState == state())
        }
    }

    @Test("DS-02: nil where nothing is enrolled, where there is no sensor, and in lockout")
    func refusals() async throws {
        try await device.run {
            let context = LAContext()
            #expect(canEvaluate(biometrics, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState != nil)
            await device.lockOutBiometry()
            #expect(canEvaluate(biometrics, on: context) == .biometryLockout)
            #expect(context.evaluatedPolicyDomainState == nil)
            try device.lockAndUnlock(passcode: "1234")
            try device.removeFinger(1)
            #expect(state() == nil)
        }
        let without = try SimulatedDevice(biometry: .none, passcode: "1234")
        without.run { #expect(state() == nil) }
    }

    @Test("DS-03, DS-04: every finger added and every finger removed gives a new one, and none comes back")
    func everyChange() throws {
        try device.run {
            var seen = [try #require(state())]
            for _ in 0..<3 {
                try device.enrollFinger()
                seen.append(try #require(state()))
                try device.removeFinger(2)
                seen.append(try #require(state()))
            }
            #expect(Set(seen).count == seen.count)
        }
    }

    @Test("DS-03: the same finger removed and enrolled again is another enrolment")
    func sameFingerAgain() throws {
        try device.run {
            let before = try #require(state())
            try device.removeFinger(1)
            #expect(try device.enrollFinger() == 1)
            #expect(try #require(state()) != before)
        }
    }

    @Test("DS-03: nothing else changes it: not a match, a miss, a lock, a new passcode, a restart")
    func nothingElseChangesIt() async throws {
        try await device.run {
            let before = try #require(state())
            device.present(.nonMatch, .finger(1))
            #expect(await evaluate(biometrics) == nil)
            #expect(state() == before)
            try device.lockAndUnlock(finger: 1)
            #expect(state() == before)
            try device.changePasscode(from: "1234", to: "5678")
            #expect(state() == before)
            device.reboot()
            try device.unlock(passcode: "5678")
            #expect(state() == before)
        }
    }

    @Test("DS-07, DS-10, DS-11: it is compared as bytes, 32 of them today, and only advises: biometrics stay usable")
    func advice() async throws {
        try await device.run {
            let kept = try #require(state())
            #expect(kept.count == 32)
            #expect(Data(Array(kept)) == state())
            try device.enrollFinger()
            #expect(state() != kept)
            device.present(.finger(2))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("DS-05: another app has another one, and always the same; another device too")
    func perApp() throws {
        let own = try #require(device.run { state() })
        let other = try #require(device.run(as: "org.example.other") { state() })
        #expect(own != other)
        #expect(device.run(as: "org.example.other") { state() } == other)
        let twin = try SimulatedDevice(passcode: "1234", fingers: 1)
        #expect(twin.run { state() } != own)
    }

    @Test("DS-08: kept after a success, it tells a later enrolment before anybody is asked")
    func correctUse() async throws {
        try await device.run {
            let first = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: first) == nil)
            let kept = try #require(first.evaluatedPolicyDomainState)
            #expect(state() == kept)
            try device.enrollFinger()
            #expect(state() != kept)
            #expect(device.prompts.count == 1)
        }
    }
}
