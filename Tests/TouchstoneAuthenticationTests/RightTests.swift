import Foundation
import LocalAuthentication
import Synchronization
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct RightTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
    }

    private func authorize(_ right: LARight) async -> LAError.Code? {
        do {
            try await right.authorize(localizedReason: "open the safe")
            return nil
        } catch {
            return code(of: error)
        }
    }

    private func obstacle(_ right: LARight) async -> LAError.Code? {
        do {
            try await right.checkCanAuthorize()
            return nil
        } catch {
            return code(of: error)
        }
    }

    @Test("EV-64: unknown, authorizing while the prompt is up, authorized after the finger")
    func states() async {
        await device.run {
            let right = LARight()
            #expect(right.state == .unknown && right.tag == 0)
            right.tag = 7
            #expect(right.tag == 7)
            let granted = Mutex<Int>(0)
            right.authorize(localizedReason: "open the safe") { error in
                #expect(error == nil && !Thread.isMainThread)
                granted.withLock { $0 += 1 }
            }
            await eventually { device.prompts.count == 1 }
            #expect(right.state == .authorizing)
            #expect(device.prompts.first?.reason == "open the safe")
            device.present(.finger(1))
            await eventually { granted.withLock { $0 == 1 } }
            #expect(right.state == .authorized)
        }
    }

    @Test("EV-64: a refusal makes it notAuthorized, whatever the reason, and it can be asked for again")
    func refused() async {
        await device.run {
            let right = LARight(requirement: .biometry)
            device.present(.cancel)
            #expect(await authorize(right) == .userCancel)
            #expect(right.state == .notAuthorized)
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await authorize(right) == .authenticationFailed)
            #expect(right.state == .notAuthorized)
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(right.state == .authorized)
        }
    }

    @Test(
        "EV-64: the passcode is enough where the requirement says so, and never where it does not",
        arguments: zip(
            ["default", "fallback", "passcode", "biometry", "current set"], [true, true, true, false, false]))
    func requirements(name: String, takesPasscode: Bool) async {
        await device.run {
            let requirement: LAAuthenticationRequirement =
                switch name {
                case "default": .default
                case "fallback": .biometry(fallback: .default)
                case "passcode": .biometry(fallback: .devicePasscode)
                case "biometry": .biometry
                default: .biometryCurrentSet
                }
            let right = LARight(requirement: requirement)
            device.present(.nonMatch, .fallback)
            if takesPasscode { device.present(.passcode("1234")) }
            let answer = await authorize(right)
            #expect(answer == (takesPasscode ? nil : .userFallback))
            #expect(right.state == (takesPasscode ? .authorized : .notAuthorized))
        }
    }

    @Test("EV-30, EV-33: a right that is authorised asks nobody again, until the device locks")
    func authorizedAgain() async throws {
        try await device.run {
            let right = LARight()
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(await authorize(right) == nil)
            #expect(device.prompts.count == 1)
            try device.lockAndUnlock(finger: 1)
            device.present(.cancel)
            #expect(await authorize(right) == .userCancel)
            #expect(device.prompts.count == 2 && right.state == .notAuthorized)
        }
    }

    @Test("EV-64: deauthorize takes it back: the next authorisation asks again")
    func deauthorize() async {
        await device.run {
            let right = LARight()
            await right.deauthorize()
            #expect(right.state == .notAuthorized)
            device.present(.finger(1), .finger(1))
            #expect(await authorize(right) == nil)
            await right.deauthorize()
            #expect(right.state == .notAuthorized)
            #expect(await authorize(right) == nil)
            #expect(device.prompts.count == 2)
        }
    }

    @Test("EV-64: one right's proof is not another's")
    func apart() async {
        await device.run {
            let (right, other) = (LARight(), LARight())
            device.present(.finger(1), .cancel)
            #expect(await authorize(right) == nil)
            #expect(await authorize(other) == .userCancel)
            #expect(right.state == .authorized && other.state == .notAuthorized)
        }
    }

    @Test("EV-64: who asks while it is being authorised gets the same answer from the same prompt")
    func together() async {
        await device.run {
            let right = LARight()
            let answers = Mutex<[LAError.Code?]>([])
            for _ in 0..<8 {
                right.authorize(localizedReason: "open the safe") { error in
                    answers.withLock { $0.append((error as? LAError)?.code) }
                }
            }
            await eventually { device.prompts.count == 1 }
            device.present(.cancel)
            await eventually { answers.withLock { $0.count == 8 } }
            #expect(answers.withLock { $0.allSatisfy { $0 == .userCancel } })
            #expect(device.prompts.count == 1 && right.state == .notAuthorized)
        }
    }

    @Test("EV-50: deauthorize ends the authorisation that runs with -9 and takes the prompt down")
    func deauthorizeWhileAsking() async {
        await device.run {
            let right = LARight()
            let answer = Mutex<LAError.Code?>(nil)
            right.authorize(localizedReason: "open the safe") { error in
                answer.withLock { $0 = (error as? LAError)?.code }
            }
            await eventually { device.prompts.count == 1 }
            await right.deauthorize()
            #expect(right.state == .notAuthorized)
            await eventually { answer.withLock { $0 == .appCancel } }
            #expect(right.state == .notAuthorized)
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(right.state == .authorized)
        }
    }

    @Test(
        "EV-04: a right that is let go while it is authorised lives until the completion has run, and cancels nothing")
    func deallocation() async {
        await device.run {
            let answers = Mutex<[LAError.Code?]>([])
            weak var released: LARight?
            do {
                let right = LARight()
                released = right
                nonisolated(unsafe) weak let kept = right
                right.authorize(localizedReason: "open the safe") { error in
                    #expect(kept?.state == .authorized, "while the completion runs")
                    answers.withLock { $0.append((error as? LAError)?.code) }
                }
                await eventually { device.prompts.count == 1 }
            }
            #expect(released?.state == .authorizing)
            device.present(.finger(1))
            await eventually { answers.withLock { $0 == [nil] } && released == nil }
        }
    }

    @Test("EV-64: whether it can be authorised is found out without asking, and changes no state")
    func checkCanAuthorize() async throws {
        try await device.run {
            let (right, biometric) = (LARight(), LARight(requirement: .biometryCurrentSet))
            let either = LARight(requirement: .biometry(fallback: .devicePasscode))
            for right in [right, biometric, either] { #expect(await obstacle(right) == nil) }
            await device.lockOutBiometry()
            let prompts = device.prompts.count
            #expect(await obstacle(biometric) == .biometryLockout)
            #expect(await obstacle(right) == nil)
            #expect(await obstacle(either) == nil)
            try device.removeFinger(1)
            #expect(await obstacle(biometric) == .biometryNotEnrolled)
            try device.removePasscode("1234")
            for right in [right, either] { #expect(await obstacle(right) == .passcodeNotSet) }
            for right in [right, biometric, either] { #expect(right.state == .unknown) }
            #expect(device.prompts.count == prompts)
        }
    }

    @Test("EV-02: an empty reason is a programming error")
    func emptyReasonTraps() async {
        await #expect(processExitsWith: .failure) {
            LARight().authorize(localizedReason: "") { _ in }
        }
    }
}
