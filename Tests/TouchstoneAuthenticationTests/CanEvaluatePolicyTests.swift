import Foundation
import LocalAuthentication
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct CanEvaluatePolicyTests {
    /// One state of a device, and the answers for the policies 1 to 4.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var biometry = SimulatedDevice.Biometry.touchID
        var isPasscodeSet = true
        var isEnrolled = true
        var isLockedOut = false
        var answers: [LAError.Code?]
    }

    static let rows: [Row] = [
        Row(
            testDescription: "row 1: no sensor", biometry: .none, isEnrolled: false,
            answers: [.biometryNotAvailable, nil, .companionNotAvailable, .biometryNotAvailable]),
        Row(
            testDescription: "rows 1, 7: no sensor, no passcode", biometry: .none, isPasscodeSet: false,
            isEnrolled: false,
            answers: [.biometryNotAvailable, .passcodeNotSet, .companionNotAvailable, .biometryNotAvailable]),
        Row(
            testDescription: "row 3: no finger enrolled", isEnrolled: false,
            answers: [.biometryNotEnrolled, nil, .companionNotAvailable, .biometryNotEnrolled]),
        Row(
            testDescription: "rows 3, 7: no finger, no passcode", isPasscodeSet: false, isEnrolled: false,
            answers: [.biometryNotEnrolled, .passcodeNotSet, .companionNotAvailable, .biometryNotEnrolled]),
        Row(
            testDescription: "row 4: locked out", isLockedOut: true,
            answers: [.biometryLockout, nil, .companionNotAvailable, .biometryLockout]),
        Row(
            testDescription: "row 5: finger, no passcode", isPasscodeSet: false,
            answers: [.passcodeNotSet, .passcodeNotSet, .companionNotAvailable, .passcodeNotSet]),
        Row(testDescription: "row 6: ready", answers: [nil, nil, .companionNotAvailable, nil]),
        Row(
            testDescription: "row 3: no face enrolled", biometry: .faceID, isEnrolled: false,
            answers: [.biometryNotEnrolled, nil, .companionNotAvailable, .biometryNotEnrolled]),
        Row(
            testDescription: "row 4: face locked out", biometry: .faceID, isLockedOut: true,
            answers: [.biometryLockout, nil, .companionNotAvailable, .biometryLockout]),
        Row(
            testDescription: "row 5: face, no passcode", biometry: .faceID, isPasscodeSet: false,
            answers: [.passcodeNotSet, .passcodeNotSet, .companionNotAvailable, .passcodeNotSet]),
        Row(testDescription: "row 6: face ready", biometry: .faceID, answers: [nil, nil, .companionNotAvailable, nil]),
    ]

    @Test("CE-01, CE-02, CE-03, CE-04, CE-05: every policy gets the answer of the first row that fits", arguments: rows)
    func decisionTable(row: Row) async throws {
        let device = try SimulatedDevice(biometry: row.biometry, passcode: "1234", fingers: row.isEnrolled ? 1 : 0)
        try await device.run {
            if row.isLockedOut { await device.lockOutBiometry(row.biometry) }
            // CE-03: enrolment outlives the passcode here.
            if !row.isPasscodeSet { try device.removePasscode("1234") }
            let asked = device.prompts.count
            for (policy, answer) in zip([biometrics, deviceOwner, companion, biometricsOrCompanion], row.answers) {
                #expect(canEvaluate(policy) == answer, "policy \(policy.rawValue)")
            }
            #expect(device.prompts.count == asked, "CE-10: asks nobody")
        }
    }

    @Test("CE-03: each obstacle that is removed uncovers the next of the table, and the last a yes")
    func precedence() async throws {
        let device = try SimulatedDevice(biometry: .touchID)
        try await device.run {
            #expect(canEvaluate(biometrics) == .biometryNotEnrolled)
            try device.setPasscode("1234")
            try device.enrollFinger()
            await device.lockOutBiometry()
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.lockAndUnlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
            try device.removePasscode("1234")
            #expect(canEvaluate(biometrics) == .passcodeNotSet)
            try device.removeFinger(1)
            #expect(canEvaluate(biometrics) == .biometryNotEnrolled)
        }
    }

    @Test("CE-04: lockout refuses biometrics and leaves the device owner's policy true")
    func lockoutLeavesTheDeviceOwner() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            await device.lockOutBiometry()
            #expect(canEvaluate(biometrics) == .biometryLockout)
            #expect(canEvaluate(deviceOwner) == nil)
        }
    }

    @Test(
        "CE-06: the type tells the hardware, whatever the answer",
        arguments: [
            (SimulatedDevice.Biometry.touchID, LABiometryType.touchID), (.faceID, .faceID), (.none, .none),
        ])
    func biometryTypeAfterARefusal(biometry: SimulatedDevice.Biometry, type: LABiometryType) throws {
        let device = try SimulatedDevice(biometry: biometry)
        device.run {
            let context = LAContext()
            #expect(canEvaluate(biometrics, on: context) != nil)
            #expect(context.biometryType == type)
        }
    }

    @Test("CE-06, CE-18: enrolled, locked out or without passcode, the type stays")
    func biometryTypeStays() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        try await device.run {
            func type(_ expected: LAError.Code?) -> LABiometryType {
                let context = LAContext()
                #expect(canEvaluate(biometrics, on: context) == expected)
                return context.biometryType
            }
            #expect(type(nil) == .faceID)
            await device.lockOutBiometry(.faceID)
            #expect(type(.biometryLockout) == .faceID)
            try device.removePasscode("1234")
            #expect(type(.passcodeNotSet) == .faceID)
        }
    }

    @Test("CE-07: the type can be read before any call")
    func biometryTypeBeforeACall() throws {
        let device = try SimulatedDevice(biometry: .faceID)
        device.run { #expect(LAContext().biometryType == .faceID) }
    }

    @Test("CE-08: no sensor is a case of its own, called none, and not the absence of an answer")
    func noneIsACase() throws {
        #expect(LABiometryType.none.rawValue == 0)
        #expect(LABiometryType.LABiometryNone == LABiometryType.none)
        let device = try SimulatedDevice(biometry: .none, passcode: "1234")
        device.run { #expect(LAContext().biometryType == LABiometryType.none) }
    }

    @Test("CE-15: asked inside a reply it says so on standard error, once; outside it says nothing")
    func askingInsideAReplyIsTold() async throws {
        let inside = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) { try await CanEvaluatePolicyTests.askTwice(isInside: true) }
        let words = String(decoding: inside.standardErrorContent, as: UTF8.self)
        #expect(words.components(separatedBy: "inside a reply").count == 2, "\(words)")
        let outside = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) { try await CanEvaluatePolicyTests.askTwice(isInside: false) }
        #expect(!String(decoding: outside.standardErrorContent, as: UTF8.self).contains("inside a reply"))
    }

    fileprivate static func askTwice(isInside: Bool) async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let context = LAContext()
            device.present(.finger(1))
            await withCheckedContinuation { continuation in
                context.evaluatePolicy(biometrics, localizedReason: "test") { _, _ in
                    if isInside { for _ in 0..<2 { #expect(canEvaluate(biometrics) == nil) } }
                    continuation.resume()
                }
            }
            if !isInside { #expect(canEvaluate(biometrics) == nil) }
        }
    }

    @Test("CE-13: a yes to a biometric policy sets the domain state, a no does not")
    func domainStateNeedsAYes() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            let context = LAContext()
            #expect(canEvaluate(biometrics, on: context) == .biometryNotEnrolled)
            #expect(context.evaluatedPolicyDomainState == nil)
            try device.enrollFinger()
            #expect(canEvaluate(biometrics, on: context) == nil)
            #expect(context.evaluatedPolicyDomainState != nil)
        }
    }

    @Test("CE-14, CE-16: asking first is optional, and may be done on another context")
    func askingFirstIsOptional() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            let asking = LAContext()
            #expect(canEvaluate(biometrics, on: asking) == nil)
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            #expect(device.prompts.count == 2)
        }
    }

    @Test("CE-15, AT-09: asked inside a reply it answers")
    func askingInsideAReply() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.finger(1))
            let answers = AsyncStream<LAError.Code?>.makeStream()
            let context = LAContext()
            context.evaluatePolicy(biometrics, localizedReason: "test") { _, _ in
                answers.continuation.yield(canEvaluate(biometrics))
                answers.continuation.finish()
            }
            var answered: [LAError.Code?] = []
            for await answer in answers.stream { answered.append(answer) }
            #expect(answered == [nil])
        }
    }

    @Test("CE-17: locked out is still enrolled: the code is -8, not -7")
    func lockedOutIsEnrolled() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            await device.lockOutBiometry()
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.removeFinger(1)
            #expect(canEvaluate(biometrics) == .biometryNotEnrolled)
        }
    }

    @Test("CE-00, EV-50: an invalidated context gets -10 for every policy, another does not")
    func invalidatedContext() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.run {
            let context = LAContext()
            #expect(canEvaluate(biometrics, on: context) == nil)
            context.invalidate()
            for policy in [biometrics, deviceOwner, companion, biometricsOrCompanion] {
                #expect(canEvaluate(policy, on: context) == .invalidContext)
            }
            #expect(canEvaluate(biometrics) == nil)
        }
    }
}
