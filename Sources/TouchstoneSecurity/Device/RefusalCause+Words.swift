internal import TouchstoneCore

/// What a developer reads of each cause, and one thing to do next.
extension RefusalCause {
    var explanation: String { words.what }
    /// With a device that `touchstone` drives.
    var step: String { words.step }
    /// With a device of `TouchstoneTesting`.
    var stepInTest: String { words.stepInTest ?? words.step }

    private struct Words {
        var what: String
        var step: String
        /// nil: the same.
        var stepInTest: String?

        init(_ what: String, _ step: String, inTest: String? = nil) {
            self.what = what
            self.step = step
            stepInTest = inTest
        }
    }

    private var words: Words {
        switch self {
        case .passcodeNotSet:
            .init("no passcode is set", "touchstone device passcode set", inTest: #"device.setPasscode("1234")"#)
        case .noSensor:
            .init(
                "the device has no sensor", "touchstone device create second --biometry touchid",
                inTest: #"SimulatedDevice(biometry: .touchID, passcode: "1234", fingers: 1)"#)
        case .sensorUnavailable:
            .init("the sensor does not answer", "touchstone doctor", inTest: "device.setSensorConnected(true)")
        case .sensorTooWeak: .init("the device's sensor is too weak for it", "touchstone doctor")
        case .notEnrolled:
            .init(
                "no finger is enrolled", "touchstone device enroll right-index", inTest: "device.enrollFinger()")
        case .noFaceEnrolled:
            .init("no face is enrolled", "touchstone device enroll face", inTest: "device.enrollFinger()")
        case .noCompanion: .init("there are no companions on Linux", "another flag or policy")
        case .biometryLockedOut:
            .init(
                "five misses in a row locked biometry out", "touchstone device unlock",
                inTest: #"device.unlock(passcode: "1234")"#)
        case .biometrySuspended:
            .init(
                "a miss could not be written to the disk, so only the passcode helps", "touchstone device unlock",
                inTest: #"device.unlock(passcode: "1234")"#)
        case .passcodeRequired:
            .init(
                "no finger or face counts until the passcode is entered", "touchstone device unlock",
                inTest: #"device.unlock(passcode: "1234")"#)
        case .passcodeDisabled:
            .init(
                "ten wrong passcodes were entered, but the disk could not be written to erase the device",
                "touchstone device erase",
                inTest: "a new SimulatedDevice")
        case .faceIDNotDescribed:
            .init(
                "the app does not say why it uses Face ID", "NSFaceIDUsageDescription in the app's manifest",
                inTest: "device.run(as:faceIDUsageDescription:)")
        case .faceIDDenied:
            .init(
                "the owner does not let the app use Face ID", "touchstone device face-id-permission reset APP",
                inTest: "device.setFaceIDPermission(true)")
        case .faceIDNotAnswerable:
            .init("no answer about Face ID can be kept for an app with this name", "another name for the app")
        case .operationNotGranted:
            .init("the access control does not grant this operation", "a key made with privateKeyUsage")
        case .enrolmentChanged: .init("the key was bound to a set of fingers or faces that has changed", "a new key")
        case .passcodeRemoved: .init("the passcode that the key was bound to was removed", "a new key")
        case .keyLost: .init("the TPM no longer has the key", "a new key")
        case .noApplicationPassword:
            .init(
                "no application password is set, and nobody can be asked for it",
                "LAContext.setCredential(_:type:), or touchstone agent",
                inTest: "LAContext.setCredential(_:type:), or device.setAttended(true)")
        case .wrongApplicationPassword:
            .init("the application password is wrong", "LAContext.setCredential(_:type:) with the right one")
        case .tooManyApplicationPasswords:
            .init(
                "the owner typed three wrong application passwords", "the call again",
                inTest: "device.present(.applicationPassword(…)) with the right one")
        case .applicationPasswordDelayed:
            .init(
                "the next application password has to wait after so many wrong ones", "the call again in a minute",
                inTest: "device.advance(by: .minutes(60))")
        case .interactionForbidden:
            .init(
                "the call forbids to ask the owner",
                "the call without kSecUseAuthenticationUIFail and interactionNotAllowed")
        case .noAgent:
            .init(
                "no agent is connected to show the prompt", "touchstone agent", inTest: "device.setAttended(true)")
        case .appInBackground:
            .init(
                "the app is in the background", "touchstone device foreground APP",
                inTest: "device.setForeground(true)")
        case .deviceLocked:
            .init("the device is locked", "touchstone device unlock", inTest: #"device.unlock(passcode: "1234")"#)
        case .beforeFirstUnlock:
            .init(
                "the device was not unlocked since it was booted", "touchstone device unlock",
                inTest: #"device.unlock(passcode: "1234")"#)
        case .waitedTooLong:
            .init(
                "the prompt of another app was up for two minutes", "the call again", inTest: "device.present(.cancel)")
        case .lockedTooOften:
            .init("programs locked the device three times within two minutes", "the call again in five minutes")
        case .cancelledTooOften:
            .init("the owner cancelled three prompts of this app within two minutes", "the call again in five minutes")
        case .tooManyWait: .init("too many apps wait for the owner", "the call again")
        case .missedTooOften:
            .init(
                "the finger or face did not match too often", "touchstone device match right-index",
                inTest: "device.present(.match)")
        case .fallbackChosen:
            .init(
                "the owner chose the fallback, which the app has to offer itself",
                "userPresence, if the passcode is good enough", inTest: "device.present(.match)")
        case .ownerCancelled: .init("the owner cancelled", "the call again", inTest: "device.present(.match)")
        case .cancelledByAnother: .init("another prompt took its place", "one prompt after the other")
        case .appLeftForeground:
            .init(
                "the app went to the background", "touchstone device foreground APP",
                inTest: "device.setForeground(true)")
        case .agentLost:
            .init(
                "the agent that showed the prompt disconnected", "touchstone agent", inTest: "device.setAttended(true)")
        case .lockedMeanwhile:
            .init(
                "the device was locked while it asked", "touchstone device unlock",
                inTest: #"device.unlock(passcode: "1234")"#)
        case .passcodeChanged: .init("the passcode was changed while the device asked", "the call again")
        case .deviceErased:
            .init(
                "the device was erased while it asked", "touchstone device passcode set",
                inTest: #"device.setPasscode("1234")"#)
        case .deviceStopped:
            .init("the device stopped while it asked", "touchstone device status", inTest: "the call again")
        case .cancelledByApp: .init("the app ended the context while the device asked", "a context that is kept")
        case .contextInvalidated: .init("the context was invalidated", "a new LAContext")
        case .tooManyContexts: .init("the process has too many contexts", "fewer LAContexts at a time")
        case .tooManyRounds:
            .init("the owner was asked 20 times, and it was never enough", "touchstone log --refused")
        case .foreignAccessGroup:
            .init(
                "the access group does not belong to the app", "keychain-access-groups in the app's manifest",
                inTest: "device.run(as:keychainAccessGroups:)")
        case .keychainAltered:
            .init("the keychain's file was altered by another program", "touchstone keychain check")
        case .quotaReached:
            .init(
                "the app has reached its limit", "touchstone keychain quota",
                inTest: "device.setQuota(items: 20_000, bytes: 128 << 20)")
        case .unknownApp: .init("the device cannot tell which app this is", "touchstone doctor")
        case .noDevice: .init("no device answers", "touchstone doctor", inTest: "device.run { … }")
        case .connectionLost:
            .init("the connection to the device was lost", "touchstone device status", inTest: "the call again")
        case .deviceNotWorking: .init("the device does not work now", "touchstone doctor", inTest: "the call again")
        case .requestTooLarge: .init("the request is too large", "a shorter reason")
        case .notUnderstood: .init("the device did not understand the request", "touchstone doctor")
        }
    }
}
