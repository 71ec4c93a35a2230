import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

/// Whatever an evaluation waits for, everything that can end it does (2.1, EV-04, EV-50 to EV-53).
@Suite(.timeLimit(.minutes(10))) struct EndingsTests {
    /// What an evaluation waits for, and how it is brought there.
    enum Phase: CaseIterable, Sendable {
        case finger, passcodeAfterFinger, permission, face, retry, fallback, passcodeAfterFace
        case password, passwordAfterFinger

        var biometry: SimulatedDevice.Biometry {
            switch self {
            case .finger, .passcodeAfterFinger, .password, .passwordAfterFinger: .touchID
            case .permission, .face, .retry, .fallback, .passcodeAfterFace: .faceID
            }
        }

        /// The fallback alone is what only biometrics come to.
        var policy: LAPolicy { self == .fallback ? biometrics : deviceOwner }

        /// No policy wants an application password.
        var isOfPolicies: Bool { self != .password && self != .passwordAfterFinger }

        var control: SecAccessControlCreateFlags {
            switch self {
            case .fallback: .biometryAny
            case .password: .applicationPassword
            case .passwordAfterFinger: [.biometryAny, .applicationPassword]
            default: .userPresence
            }
        }

        func bringAbout(_ device: SimulatedDevice) {
            switch self {
            case .finger, .permission, .face, .password: break
            case .passwordAfterFinger: device.present(.finger(1))
            case .passcodeAfterFinger: device.present(.nonMatch, .fallback)
            case .retry: device.present(.nonMatch)
            case .fallback, .passcodeAfterFace: device.present(.nonMatch, .tryAgain, .nonMatch)
            }
        }

        func isReached(by prompt: SimulatedDevice.Prompt?) -> Bool {
            guard let prompt else { return false }
            return switch self {
            case .finger, .face: prompt.failures == 0 && !prompt.asksForPermission
            case .permission: prompt.asksForPermission
            case .retry: prompt.offersToTryAgain
            case .fallback: prompt.failures == 2 && prompt.fallbackTitle != nil
            case .passcodeAfterFinger, .passcodeAfterFace: prompt.asksForPasscode
            case .password, .passwordAfterFinger: prompt.asksForApplicationPassword
            }
        }
    }

    enum Ending: CaseIterable, Sendable {
        case cancel, invalidate, background, lock, newer, agentGone, reboot, passcodeChange
        /// Which ends nothing; the owner's cancel does.
        case letGoAndCancel

        var code: LAError.Code {
            switch self {
            case .cancel, .letGoAndCancel: .userCancel
            case .invalidate: .appCancel
            default: .systemCancel
            }
        }
    }

    @Test(
        "EV-04, EV-50, EV-51, EV-52, EV-53: in every phase every ending ends it once, with its code, and leaves the device free",
        arguments: Phase.allCases, Ending.allCases)
    func ends(phase: Phase, ending: Ending) async throws {
        for isPolicy in phase.isOfPolicies ? [true, false] : [false] { try await end(phase, ending, isPolicy) }
    }

    private func end(_ phase: Phase, _ ending: Ending, _ isPolicy: Bool) async throws {
        let device = try SimulatedDevice(biometry: phase.biometry, passcode: "1234", fingers: 1, unanswered: .waits)
        if phase == .permission { try device.setFaceIDPermission(nil) }
        try await device.run {
            let (replies, newer) = (Replies(), Replies())
            var context: LAContext? = LAContext()
            let other = LAContext()
            phase.bringAbout(device)
            if isPolicy {
                replies.collect(phase.policy, on: try #require(context))
            } else {
                let control = try #require(
                    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, phase.control, nil))
                replies.collect(control, on: try #require(context))
            }
            await eventually("\(phase)") { phase.isReached(by: device.prompts.last) && !device.isPersonActing }
            #expect(replies.codes.isEmpty)
            switch ending {
            case .cancel: device.present(.cancel)
            case .invalidate: context?.invalidate()
            case .letGoAndCancel:
                context = nil
                device.present(.cancel)
            case .background: try device.setForeground(false)
            case .lock: try device.lock()
            case .newer: newer.collect(deviceOwner, on: other)
            case .agentGone: device.setAttended(false)
            case .reboot: device.reboot()
            case .passcodeChange: try device.changePasscode(from: "1234", to: "5678")
            }
            #expect(await replies.only() == ending.code, "\(phase), \(ending)")
            // What was left of it must not stand in the way of the next, on the same context where there still is one.
            switch ending {
            case .background: try device.setForeground(true)
            case .lock, .reboot: try device.unlock(passcode: "1234")
            case .agentGone: device.setAttended(true)
            default: break
            }
            if ending == .invalidate {
                #expect(await evaluate(phase.policy, on: try #require(context)) == .invalidContext)
            }
            if phase == .permission { try device.setFaceIDPermission(true) }
            if ending == .newer {
                await eventually { device.prompts.count == 2 && newer.codes.isEmpty }
                other.invalidate()
                #expect(await newer.only() == .appCancel)
            }
            device.present(.finger(1))
            let next = ending == .invalidate ? LAContext() : context ?? LAContext()
            #expect(await evaluate(biometrics, on: next) == nil, "\(phase), \(ending)")
            #expect(replies.codes.count == 1)
        }
    }

    @Test(
        "EV-33, PC-02: an erasure takes down the entry of an application password, of which the enclave knows nothing")
    func erasureEndsTheEntry() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try device.setEraseData(true, passcode: "1234")
        try await device.run {
            let replies = Replies()
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
            let context = LAContext()
            replies.collect(control, on: context)
            await eventually { device.prompts.last?.asksForApplicationPassword == true }
            for number in 0..<10 {
                #expect(replies.codes.isEmpty)
                #expect(throws: SimulatedDeviceError.self) {
                    try device.changePasscode(from: "wrong \(number)", to: "5678")
                }
                device.advance(by: .seconds(8 * 3600))
            }
            #expect(await replies.only() == .systemCancel)
        }
    }

    @Test(
        "EV-52: Home while the alert is up is the owner's cancel (-2); the app that is then in the background is not told twice"
    )
    func home() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await device.run {
            let context = LAContext()
            let replies = Replies()
            device.present(.cancel)
            replies.collect(biometrics, on: context)
            #expect(await replies.only() == .userCancel)
            try device.setForeground(false)
            #expect(await evaluate(biometrics, on: context) == .notInteractive, "EV-05")
            try device.setForeground(true)
            #expect(replies.codes == [.userCancel])
        }
    }

    @Test(
        "EV-20, AT-16: a prompt does not send its app to the background: the app may ask, and what needs nobody succeeds"
    )
    func promptLeavesTheForeground() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        await device.run {
            let (proven, asking) = (LAContext(), LAContext())
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: proven) == nil)
            let replies = Replies()
            replies.collect(biometrics, on: asking)
            await eventually { device.prompts.count == 2 }
            #expect(canEvaluate(biometrics) == nil)
            #expect(await evaluate(biometrics, on: proven) == nil)
            #expect(replies.codes.isEmpty, "and that prompt stays")
            device.present(.finger(1))
            #expect(await replies.only() == nil)
        }
    }

    @Test("EV-50: a context invalidated before its first use, and inside a reply, is invalid for everything")
    func invalidatedEarlyAndInside() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let control = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
        await device.run {
            let early = LAContext()
            early.invalidate()
            #expect(await evaluate(deviceOwner, on: early) == .invalidContext)
            let replies = Replies()
            replies.collect(control, on: early)
            #expect(await replies.only() == .invalidContext)
            let inside = Mutex(LAContext())
            device.present(.finger(1))
            await withCheckedContinuation { continuation in
                inside.withLock { context in
                    context.evaluatePolicy(deviceOwner, localizedReason: "test") { _, _ in
                        inside.withLock { $0.invalidate() }
                        continuation.resume()
                    }
                }
            }
            let afterwards = Replies()
            inside.withLock { afterwards.collect(deviceOwner, on: $0) }
            #expect(await afterwards.only() == .invalidContext)
            #expect(device.prompts.count == 1)
        }
    }

    @Test(
        "EV-33: what was proven ends with the context, whether it was invalidated or let go", arguments: [true, false])
    func proofsEndWithTheContext(isInvalidated: Bool) async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        await device.run {
            var context: LAContext? = LAContext()
            device.present(.finger(1))
            if let context { #expect(await evaluate(biometrics, on: context) == nil) }
            if isInvalidated { context?.invalidate() }
            context = nil
            let next = LAContext()
            next.interactionNotAllowed = true
            #expect(await evaluate(biometrics, on: next) == .notInteractive)
        }
    }

    @Test("EV-30, EV-31: one app's proof is nothing to another's context")
    func proofsAreOneAppsOwn() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let contexts = ["org.example.one", "org.example.two"].map { app in device.run(as: app) { LAContext() } }
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: contexts[0]) == nil)
        for context in contexts { context.interactionNotAllowed = true }
        #expect(await evaluate(biometrics, on: contexts[0]) == nil)
        #expect(await evaluate(biometrics, on: contexts[1]) == .notInteractive)
    }

    @Test("EV-12: the alert of Touch ID has two buttons, cancel and, after a miss, the fallback")
    func buttons() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        await device.run {
            device.present(.nonMatch, .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            let prompt = device.prompts.last
            #expect(prompt?.cancelTitle == "Cancel")
            #expect(prompt?.fallbackTitle == "Enter Password")
            #expect(prompt?.offersToTryAgain == false)
        }
    }

    @Test("EV-70: a success opens nothing by itself: the keychain asks again, unless it is given the context")
    func successOpensNothing() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            var item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecAttrAccessControl as String: control, kSecValueData as String: Data("secret".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let context = LAContext()
            device.present(.finger(1))
            #expect(await evaluate(deviceOwner, on: context) == nil)
            item = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecReturnData as String: true,
            ]
            var result: CFTypeRef?
            device.present(.cancel)
            #expect(SecItemCopyMatching(item as CFDictionary, &result) == errSecUserCanceled)
            #expect(device.prompts.count == 2)
            item[kSecUseAuthenticationContext as String] = context
            #expect(SecItemCopyMatching(item as CFDictionary, &result) == errSecSuccess, "EV-32")
            #expect(device.prompts.count == 2)
        }
    }
}

extension Replies {
    /// Begins the evaluation of an access control and returns at once.
    fileprivate func collect(_ control: SecAccessControl, on context: LAContext) {
        context.evaluateAccessControl(control, operation: .useItem, localizedReason: "test") {
            [self] isSuccess, error in
            take(isSuccess, error)
        }
    }
}
