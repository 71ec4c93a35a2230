import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

/// A prompt about which nothing is done fails the test that is to blame, and no other.
@Suite(.timeLimit(.minutes(20))) struct ForgottenPromptTests {
    private static let soon = SimulatedDevice.Unanswered.fails(after: .milliseconds(200))

    @Test(
        "Nothing was presented: the test fails with the prompt's words and the line to add, and the prompt is cancelled"
    )
    func aPromptThatIsLeftAloneFailsTheTest() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        let begin = ContinuousClock.now
        let failure = failing {
            device.run { #expect(read(behind: .userPresence, "open the safe") == errSecUserCanceled) }
        }
        #expect(begin.duration(to: .now) >= .seconds(2))
        #expect(
            failure == """
                Nothing was presented for a prompt: \(ProcessInfo.processInfo.processName) asks for a finger, \
                for "open the safe". It was cancelled after 2.0 s.
                Add before the call that asks: device.present(.match)
                Where somebody answers later, make the device with unanswered: .waits
                """)
    }

    @Test("A context's threads are no test's, and still it is this test that fails")
    func anEvaluationThatIsLeftAloneFailsTheTest() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: Self.soon)
        let failure = await failing {
            await device.run {
                #expect(await evaluate("open the safe") == .userCancel)
            }
        }
        #expect(failure?.contains("device.present(.match)") == true)
        #expect(Test.current?.name == "anEvaluationThatIsLeftAloneFailsTheTest()", "the test goes on as itself")
    }

    @Test func aPromptThatIsAnsweredInTimeFailsNothing() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .fails(after: .seconds(300)))
        await device.run {
            async let code = evaluate("test")
            await eventually { device.prompts.count == 1 }
            device.advance(by: .hours(1))
            device.present(.nonMatch)
            await eventually { device.prompts.last?.failures == 1 }
            device.present(.match)
            #expect(await code == nil)
        }
    }

    @Test("A device that waits outlives one that does not")
    func aPromptOfADeviceThatWaitsFailsNothing() async throws {
        let patient = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let hasty = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: Self.soon)
        let context = patient.run { LAContext() }
        async let isOwner = context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        await eventually { patient.prompts.count == 1 }
        let failure = failing { hasty.run { #expect(read(behind: .userPresence) == errSecUserCanceled) } }
        #expect(failure != nil)
        patient.present(.match)
        #expect(try await isOwner)
    }

    @Test func aDeviceThatHasWaitedLongEnoughCanBeTold() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        #expect(device.unanswered == .waits)
        let failure = await failing {
            await device.run {
                async let code = evaluate("test")
                await eventually { device.prompts.count == 1 }
                device.unanswered = Self.soon
                #expect(await code == .userCancel)
            }
        }
        #expect(failure != nil)
    }

    @Test("What a prompt has no use for is not an answer; the line to add is the one for what it asks")
    func aUselessAnswerFailsTheTest() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: Self.soon)
        let failure = failing {
            device.run {
                device.present(.match)
                #expect(read(behind: .devicePasscode) == errSecUserCanceled)
            }
        }
        #expect(failure?.hasPrefix("Nothing came of what was presented for a prompt: ") == true)
        #expect(failure?.contains("asks for the passcode") == true)
        #expect(failure?.contains(#"device.present(.passcode("…"))"#) == true)
    }

    @Test("A button that is not there yet leads nowhere, and hangs nobody")
    func anActionThatChangesNothingFailsTheTest() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: Self.soon)
        let failure = failing {
            device.run {
                device.present(.fallback)
                #expect(read(behind: .biometryAny) == errSecUserCanceled)
            }
        }
        #expect(failure?.contains("device.present(.match)") == true)
    }

    @Test(
        "Each thing that Face ID asks has its line",
        arguments: [
            ([], "asks whether it may use Face ID", "device.present(.allowFaceID)"),
            ([.allowFaceID], "asks for a face", "device.present(.match)"),
            ([.allowFaceID, .nonMatch], "offers to look once more", "device.present(.tryAgain)"),
            (
                [.allowFaceID, .nonMatch, .tryAgain, .nonMatch], "has no more use for a face",
                "device.present(.fallback)"
            ),
        ] as [([SimulatedDevice.Action], String, String)])
    func everyPhaseHasItsLine(_ done: [SimulatedDevice.Action], _ question: String, _ line: String) async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1, unanswered: Self.soon)
        try device.setFaceIDPermission(nil)
        for action in done { device.present(action) }
        let failure = await failing {
            await device.run {
                _ = await evaluate("test", .deviceOwnerAuthenticationWithBiometrics)
            }
        }
        #expect(failure?.contains(question) == true && failure?.contains(line) == true, "\(failure ?? "nothing")")
    }

    @Test func anApplicationPasswordHasItsLine() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.unanswered = Self.soon
        let failure = failing {
            device.run { _ = read(behind: .applicationPassword) }
        }
        #expect(failure?.contains(#"device.present(.applicationPassword("…"))"#) == true, "\(failure ?? "nothing")")
    }
}

/// Fingers by their numbers and names; one that is not enrolled fails the test where it is presented.
@Suite(.timeLimit(.minutes(20))) struct FingerTests {
    @Test(
        "A finger that is not enrolled fails the test at once, and the list says who is",
        arguments: [.finger(0), .finger(3), .finger("finger 1"), .finger(.leftLittle)] as [SimulatedDevice.Action])
    func aFingerThatIsNotEnrolledFailsTheTest(_ finger: SimulatedDevice.Action) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 2, unanswered: .waits)
        let failure = failing { device.present(finger) }
        #expect(failure?.contains("is not enrolled. Enrolled: right-index (number 1), left-index (number 2).") == true)
        // And where it was to be laid on Cancel is tapped, however patient the device is.
        device.run { #expect(read(behind: .userPresence) == errSecUserCanceled) }
    }

    @Test(
        "Numbers, names and .match lay an enrolled finger on",
        arguments: [.match, .finger(1), .finger(2), .finger("right-index"), .finger(.leftIndex)]
            as [SimulatedDevice.Action])
    func anEnrolledFingerMatches(_ finger: SimulatedDevice.Action) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 2)
        device.present(finger)
        device.run { #expect(read(behind: .biometryAny) == errSecSuccess) }
    }

    @Test func aFaceMatchesByItsNumberItsNameAndAsWhatThereIs() throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 2)
        device.present(.finger(2), .finger("my-face"), .match)
        device.run { for _ in 0..<3 { #expect(read(behind: .biometryAny) == errSecSuccess) } }
        let failure = failing { device.present(.finger(.rightIndex)) }
        #expect(failure?.contains("Enrolled: my-face (number 1), other-face (number 2).") == true)
    }

    @Test func withoutAFingerThereIsNoMatch() throws {
        let device = try SimulatedDevice(passcode: "1234")
        let failure = failing { device.present(.match) }
        #expect(failure?.contains("No finger is enrolled. Enrol one with device.enrollFinger()") == true)
        device.run { #expect(read(behind: .devicePasscode) == errSecUserCanceled) }
        try device.enrollFinger("thumb of my own")
        device.present(.match)
        device.run { #expect(read(behind: .biometryAny) == errSecSuccess) }
    }

    @Test func fingersComeAndGoByNumberAndName() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.enrollFinger(.leftIndex)
        #expect(try device.enrollFinger() == 3, "left-index is number 2")
        try device.removeFinger(2)
        try device.lock()
        #expect(try device.unlock(finger: .rightThumb))
        #expect(throws: SimulatedDeviceError.self) { try device.unlock(finger: 2) }
        let error = #expect(throws: SimulatedDeviceError.self) { try device.removeFinger(.leftIndex) }
        #expect(
            error?.description.contains(
                "left-index is not enrolled. Enrolled: right-index (number 1), right-thumb (number 3)")
                == true)
    }
}

/// What a person does whenever nothing else is planned.
@Suite(.timeLimit(.minutes(20))) struct StandingAnswerTests {
    @Test func aStandingAnswerIsGivenEveryTime() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.always(.match, .passcode("1234"))
        device.run {
            for _ in 0..<3 { #expect(read(behind: .biometryAny) == errSecSuccess) }
            #expect(read(behind: .devicePasscode) == errSecSuccess, "a prompt takes what it has a use for")
            device.present(.cancel)
            #expect(read(behind: .biometryAny) == errSecUserCanceled, "what is presented goes first")
            #expect(read(behind: .biometryAny) == errSecSuccess)
        }
    }

    @Test("Three misses end an evaluation, by a standing stranger too")
    func aStandingMissIsRepeated() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.always(.nonMatch)
        device.run { #expect(read(behind: .biometryAny) == errSecAuthFailed) }
        #expect(device.prompts.last?.failures == 2)
    }

    @Test func aStandingAnswerThatWasTakenBackIsGivenNoMore() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .fails(after: .seconds(2)))
        device.always(.match)
        device.run { #expect(read(behind: .biometryAny) == errSecSuccess) }
        device.always()
        let failure = failing { device.run { #expect(read(behind: .biometryAny) == errSecUserCanceled) } }
        #expect(failure != nil)
    }

    @Test("A wrong passcode is typed once, and then the test fails")
    func aStandingAnswerThatIsWrongIsNotRepeated() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .fails(after: .seconds(2)))
        device.always(.passcode("9999"))
        let failure = failing { device.run { #expect(read(behind: .devicePasscode) == errSecUserCanceled) } }
        #expect(failure?.contains("asks for the passcode") == true)
        #expect(device.prompts.last?.isWrong == true)
        #expect(failure?.contains("9999") == false && failure?.contains("1234") == false)
    }
}

/// Runs what has to fail the test that calls, once.
///
/// - Returns: What the failure says.
private func failing(_ body: () -> Void) -> String? {
    let said = Mutex<String?>(nil)
    withKnownIssue {
        body()
    } matching: {
        note($0, said)
    }
    return said.withLock { $0 }
}

private func failing(_ body: () async -> Void) async -> String? {
    let said = Mutex<String?>(nil)
    await withKnownIssue {
        await body()
    } matching: {
        note($0, said)
    }
    return said.withLock { $0 }
}

private func note(_ issue: Issue, _ said: borrowing Mutex<String?>) -> Bool {
    guard case .unconditional = issue.kind else { return false }
    return said.withLock { said in
        defer { said = issue.comments.first?.rawValue }
        return said == nil
    }
}

/// - Returns: Why the owner was not recognised; nil if that did not fail.
private func evaluate(_ reason: String, _ policy: LAPolicy = .deviceOwnerAuthentication) async -> LAError.Code? {
    do {
        _ = try await LAContext().evaluatePolicy(policy, localizedReason: reason)
        return nil
    } catch {
        return (error as? LAError)?.code
    }
}

/// Adds an item behind an access control, and reads it.
private func read(behind flags: SecAccessControlCreateFlags, _ reason: String = "test") -> OSStatus {
    let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: UUID().uuidString,
    ]
    let control = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil)
    let item = query.merging([
        kSecAttrAccessControl as String: control as Any, kSecValueData as String: Data("secret".utf8),
    ]) { mine, _ in mine }
    let added = SecItemAdd(item as CFDictionary, nil)
    guard added == errSecSuccess else { return added }
    let context = LAContext()
    context.localizedReason = reason
    let search = query.merging([kSecReturnData as String: true, kSecUseAuthenticationContext as String: context]) {
        mine, _ in mine
    }
    var found: CFTypeRef?
    return SecItemCopyMatching(search as CFDictionary, &found)
}
