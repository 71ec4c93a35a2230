import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct EvaluatePolicyTests {
    // MARK: the call

    @Test("EV-01, EV-03, AT-09: returns at once, replies once, and not on the main thread")
    func repliesOnce() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let context = LAContext()
            let replies = Replies()
            let onMain = Mutex<Bool?>(nil)
            context.evaluatePolicy(biometrics, localizedReason: "test") { _, _ in
                onMain.withLock { $0 = Thread.isMainThread }
            }
            // It has returned, and nobody has touched anything yet.
            #expect(onMain.withLock { $0 } == nil)
            device.present(.finger(1))
            await eventually { onMain.withLock { $0 } != nil }
            #expect(onMain.withLock { $0 } == false)
            replies.collect(biometrics, on: context)
            #expect(await replies.only() == nil)
        }
    }

    @Test("EV-03: success comes without an error, failure with one")
    func successHasNoError() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.finger(1), .cancel)
            let (first, second) = (Replies(), Replies())
            // `collect` checks that the error is there exactly where there is no success.
            let contexts = [LAContext(), LAContext()]
            first.collect(biometrics, on: contexts[0])
            #expect(await first.only() == nil)
            second.collect(biometrics, on: contexts[1])
            #expect(await second.only() == .userCancel)
        }
    }

    @Test("EV-05: an app in the background gets -1004 and no prompt; in the foreground it gets one")
    func backgroundApp() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            try device.setForeground(false)
            #expect(await evaluate(deviceOwner) == .notInteractive)
            #expect(device.prompts.isEmpty)
            try device.setForeground(true)
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner) == nil)
        }
    }

    @Test("EV-06: asked right after a push or an unlock an app is not in front yet; once it is, the same context asks")
    func justWoken() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            try device.setForeground(false)
            try device.lock()
            let context = LAContext()
            #expect(await evaluate(deviceOwner, on: context) == .notInteractive, "a push behind the lock screen")
            try device.unlock(finger: 1)
            #expect(await evaluate(deviceOwner, on: context) == .notInteractive, "unlocked, and not in front")
            #expect(device.prompts.isEmpty)
            try device.setForeground(true)
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner, on: context) == nil)
            #expect(device.prompts.count == 1)
        }
    }

    @Test("EV-05: behind the lock screen no app is in the foreground")
    func lockedDevice() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            try device.lock()
            #expect(await evaluate(deviceOwner) == .notInteractive)
            try device.unlock(finger: 1)
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner) == nil)
        }
    }

    @Test("EV-07, EV-30, AT-10: the same context succeeds again without a prompt, a new one asks")
    func sameContextAsksOnce() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let context = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(device.prompts.count == 1)
            device.present(.cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            #expect(device.prompts.count == 2)
        }
    }

    // MARK: the order before the prompt (2.1)

    @Test("2.1: an invalid context is told before anything else that is wrong")
    func invalidContextComesFirst() async throws {
        let device = try SimulatedDevice(biometry: .none)
        try await device.run {
            let context = LAContext()
            context.interactionNotAllowed = true
            try device.setForeground(false)
            #expect(await evaluate(biometrics, on: context) == .biometryNotAvailable)
            context.invalidate()
            #expect(await evaluate(biometrics, on: context) == .invalidContext)
        }
    }

    @Test("2.1: what was proven counts before lockout, interaction and foreground are looked at")
    func provenComesBeforeTheRest() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            let context = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
            await device.lockOutBiometry()
            context.interactionNotAllowed = true
            try device.setForeground(false)
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(await evaluate(biometrics) == .biometryLockout)
        }
    }

    @Test("2.1: what the policy lacks is told before interaction, and that before the foreground")
    func obstaclesComeBeforeInteraction() async throws {
        let device = try SimulatedDevice(passcode: "1234")
        try await device.run {
            let context = LAContext()
            context.interactionNotAllowed = true
            try device.setForeground(false)
            #expect(await evaluate(biometrics, on: context) == .biometryNotEnrolled)
            #expect(await evaluate(companion, on: context) == .companionNotAvailable)
            let error = await #expect(throws: LAError.self) {
                try await context.evaluatePolicy(deviceOwner, localizedReason: "test")
            }
            #expect(debugText(error) == "User interaction required.")
            let inBackground = await #expect(throws: LAError.self) {
                try await LAContext().evaluatePolicy(deviceOwner, localizedReason: "test")
            }
            #expect(debugText(inBackground) == "Caller is not running foreground.")
        }
    }

    private func debugText(_ error: LAError?) -> String? {
        (error as NSError?)?.userInfo[NSDebugDescriptionErrorKey] as? String
    }

    // MARK: fallback

    @Test("EV-17: the fallback of policy 1 ends with -3 and takes the prompt down")
    func fallbackOfPolicyOne() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .fallback)
            #expect(await evaluate(biometrics) == .userFallback)
            #expect(device.prompts.map(\.asksForPasscode) == [false])
        }
    }

    @Test("EV-18: the fallback of policy 2 asks for the passcode, and -3 never comes")
    func fallbackOfPolicyTwo() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .fallback, .fallback, .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            device.present(.nonMatch, .fallback, .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(device.prompts.map(\.asksForPasscode) == [true, true])
            #expect(device.prompts.count == 2, "the passcode replaces biometry in the same prompt")
        }
    }

    @Test("EV-18: once the passcode is asked for, a finger does nothing")
    func aFingerDoesNotReplaceThePasscode() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .fallback, .finger(1), .passcode("9999"), .finger(1), .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
        }
    }

    @Test(
        "EV-19: policy 2 goes straight to the passcode where biometry cannot be used",
        arguments: ["no sensor", "not enrolled", "locked out"])
    func straightToThePasscode(state: String) async throws {
        let device = try SimulatedDevice(
            biometry: state == "no sensor" ? .none : .touchID, passcode: "1234", fingers: state == "locked out" ? 1 : 0)
        await device.run {
            if state == "locked out" { await device.lockOutBiometry() }
            device.present(.cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(device.prompts.last?.asksForPasscode == true)
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
        }
    }

    @Test("EV-19: policy 2 begins with biometry where it can be used")
    func beginsWithBiometry() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(device.prompts.last?.asksForPasscode == false)
        }
    }

    @Test(
        "2.1: the limit of non-matches turns policy 2 to the passcode",
        arguments: [
            (SimulatedDevice.Biometry.touchID, 3), (.faceID, 2),
        ])
    func limitInPolicyTwo(biometry: SimulatedDevice.Biometry, limit: Int) async throws {
        let device = try SimulatedDevice(biometry: biometry, passcode: "1234", fingers: 1)
        await device.run {
            for _ in 1..<limit { device.present(.nonMatch, .tryAgain) }
            device.present(.cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(device.prompts.last?.asksForPasscode == false)
            device.present(.passcode("1234"), .finger(1))
            #expect(await evaluate(deviceOwner) == nil)
            for _ in 1...limit { device.present(.nonMatch, .tryAgain) }
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.last?.asksForPasscode == true)
        }
    }

    // MARK: Face ID

    @Test("EV-16: after two misses Face ID offers the fallback and looks no more")
    func faceStopsAfterTwo() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .tryAgain, .nonMatch, .finger(1), .tryAgain, .finger(1), .fallback)
            #expect(await evaluate(biometrics) == .userFallback)
            device.present(.nonMatch, .tryAgain, .finger(1))
            #expect(await evaluate(biometrics) == nil, "once may be tried again")
        }
    }

    @Test("EV-22: with the fallback hidden, Face ID ends with -1 after two misses")
    func faceWithoutFallback() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        await device.run {
            let context = LAContext()
            context.localizedFallbackTitle = ""
            device.present(.nonMatch, .tryAgain, .nonMatch)
            #expect(await evaluate(biometrics, on: context) == .authenticationFailed)
        }
    }

    // MARK: what a context has

    @Test("EV-31: a finger satisfies the policies 1, 2 and 4, the passcode policy 2 alone")
    func whatSatisfiesWhat() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let byFinger = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner, on: byFinger) == nil)
            let byPasscode = LAContext()
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(await evaluate(deviceOwner, on: byPasscode) == nil)
            for context in [byFinger, byPasscode] { context.interactionNotAllowed = true }
            for policy in [biometrics, deviceOwner, biometricsOrCompanion] {
                #expect(await evaluate(policy, on: byFinger) == nil)
            }
            #expect(await evaluate(companion, on: byFinger) == .companionNotAvailable)
            #expect(await evaluate(deviceOwner, on: byPasscode) == nil)
            #expect(await evaluate(biometrics, on: byPasscode) == .notInteractive)
            #expect(await evaluate(biometricsOrCompanion, on: byPasscode) == .notInteractive)
        }
    }

    static let ends: [(String, @Sendable (SimulatedDevice) throws -> Void)] = [
        ("lock", { try $0.lockAndUnlock(passcode: "1234") }),
        ("enrolment", { try $0.enrollFinger() }),
        ("removal", { try $0.removeFinger(2) }),
        ("passcode change", { try $0.changePasscode(from: "1234", to: "5678") }),
        (
            "restart",
            {
                $0.reboot(); try $0.unlock(passcode: "1234")
            }
        ),
    ]

    @Test(
        "EV-33: what was proven ends with a lock, an enrolment, a passcode change, a restart",
        arguments: ends.indices)
    func proofsEnd(index: Int) async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 2)
        try await device.run {
            let context = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
            context.interactionNotAllowed = true
            #expect(await evaluate(biometrics, on: context) == nil)
            try Self.ends[index].1(device)
            #expect(await evaluate(biometrics, on: context) == .notInteractive, "\(Self.ends[index].0)")
        }
    }

    @Test("EV-33: a proven passcode outlives an enrolment, and no passcode change")
    func passcodeProofEnds() async throws {
        let device = try SimulatedDevice(passcode: "1234")
        try await device.run {
            let context = LAContext()
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner, on: context) == nil)
            context.interactionNotAllowed = true
            try device.enrollFinger()
            #expect(await evaluate(deviceOwner, on: context) == nil)
            try device.changePasscode(from: "1234", to: "5678")
            #expect(await evaluate(deviceOwner, on: context) == .notInteractive)
        }
    }
}
