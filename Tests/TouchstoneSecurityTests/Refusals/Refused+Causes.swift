import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore

@testable import TouchstoneTesting

/// Every cause that can come about on a simulated device.
extension Refused {
    // MARK: -25293, before anybody is asked

    static let notSetUp: [Refused] = [
        Refused(
            "no passcode, for a biometric constraint (AC-15)",
            #"touchstone: SecItemAdd -25293: biometryAny, and no passcode is set. Try: device.setPasscode("1234")"#,
            logged: "call-refused biometryAny passcodeNotSet", on: fresh
        ) { _ in
            let status = try App.add(.biometryAny)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "no passcode, for a class that wants one (KC-24)",
            #"touchstone: SecItemAdd -25293: whenPasscodeSetThisDeviceOnly, and no passcode is set. Try: device.setPasscode("1234")"#,
            logged: "call-refused - passcodeNotSet", on: fresh
        ) { _ in
            let status = try App.add(nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "no sensor (AC-15)",
            #"touchstone: SecItemAdd -25293: biometryAny, and the device has no sensor. Try: SimulatedDevice(biometry: .touchID, passcode: "1234", fingers: 1)"#,
            logged: "call-refused biometryAny noSensor", on: withoutSensor
        ) { _ in
            let status = try App.add(.biometryAny)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "nothing enrolled (AC-15)",
            "touchstone: SecItemAdd -25293: biometryCurrentSet, and no finger is enrolled. Try: device.enrollFinger()",
            logged: "call-refused biometryCurrentSet notEnrolled", on: withPasscode
        ) { _ in
            let status = try App.add(.biometryCurrentSet)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "no face enrolled (AC-15)",
            "touchstone: SecItemAdd -25293: biometryCurrentSet, and no face is enrolled. Try: device.enrollFinger()",
            logged: "call-refused biometryCurrentSet noFaceEnrolled", on: withoutFace
        ) { _ in
            let status = try App.add(.biometryCurrentSet)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "a companion (AC-15)",
            "touchstone: SecItemAdd -25293: companion, and there are no companions on Linux. Try: another flag or policy",
            logged: "call-refused companion noCompanion"
        ) { _ in
            let status = try App.add(.companion)
            #expect(status == errSecAuthFailed)
        },
        Refused(
            "nothing enrolled, for a key (AC-15, SE-15)",
            "touchstone: SecKeyCreateRandomKey -25293: biometryAny, and no finger is enrolled. Try: device.enrollFinger()",
            logged: "call-refused biometryAny notEnrolled", on: withPasscode
        ) { _ in #expect(status { _ = try enclaveKey([.biometryAny, .privateKeyUsage]) } == errSecAuthFailed) },
        Refused(
            "a key's control without privateKeyUsage (AC-20, SE-13)",
            "touchstone: SecKeyCreateSignature -1009: biometryAny, and the access control does not grant this operation. Try: a key made with privateKeyUsage",
            logged: "call-refused biometryAny operationNotGranted"
        ) { _ in
            let key = try enclaveKey(.biometryAny)
            #expect(throws: (any Error).self) { try signature(of: key) }
        },
    ]

    // MARK: -25293, of what the owner was to prove

    static let notProven: [Refused] = [
        Refused(
            "the sensor is unplugged (CE-02)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the sensor does not answer. Try: device.setSensorConnected(true)",
            logged: "evaluation-ended biometryAny biometryNotAvailable"
        ) { device in
            try App.add(.biometryAny)
            try device.setSensorConnected(false)
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "biometry is locked out (EV-26)",
            #"touchstone: SecItemCopyMatching -25293: biometryAny, and five misses in a row locked biometry out. Try: device.unlock(passcode: "1234")"#,
            logged: "evaluation-ended biometryAny biometryLockout"
        ) { device in
            try App.add(.biometryAny)
            device.present(.nonMatch, .nonMatch, .nonMatch, .nonMatch, .nonMatch)
            #expect([App.read(), App.read(), App.read()] == [errSecAuthFailed, errSecAuthFailed, errSecAuthFailed])
        },
        Refused(
            "the passcode is due (PC-20)",
            #"touchstone: SecItemCopyMatching -25293: biometryAny, and no finger or face counts until the passcode is entered. Try: device.unlock(passcode: "1234")"#,
            logged: "evaluation-ended biometryAny biometryLockout"
        ) { device in
            try App.add(.biometryAny)
            device.advance(by: .hours(49))
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "the app does not say why it uses Face ID (CE-11)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the app does not say why it uses Face ID. Try: device.run(as:faceIDUsageDescription:)",
            logged: "evaluation-ended biometryAny biometryNotAvailable", on: withFace
        ) { device in
            try device.run(as: "org.example.silent", faceIDUsageDescription: nil) {
                try App.add(.biometryAny)
                #expect(App.read() == errSecAuthFailed)
            }
        },
        Refused(
            "the owner does not let the app use Face ID (CE-09)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the owner does not let the app use Face ID. Try: device.setFaceIDPermission(true)",
            logged: "evaluation-ended biometryAny biometryNotAvailable", on: withFace
        ) { device in
            try App.add(.biometryAny)
            try device.setFaceIDPermission(false)
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "three misses (EV-25)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the finger or face did not match too often. Try: device.present(.match)",
            logged: "evaluation-ended biometryAny authenticationFailed"
        ) { device in
            try App.add(.biometryAny)
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "the fallback (EV-17, AC-44)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the owner chose the fallback, which the app has to offer itself. Try: device.present(.match)",
            logged: "evaluation-ended biometryAny userFallback"
        ) { device in
            try App.add(.biometryAny)
            device.present(.nonMatch, .fallback)
            #expect(App.read() == errSecAuthFailed)
        },
    ]

    // MARK: -25293, of how a prompt ended

    static let interrupted: [Refused] = [
        Refused(
            "the app left the foreground (EV-52)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the app went to the background. Try: device.setForeground(true)",
            logged: "evaluation-ended biometryAny systemCancel"
        ) { device in
            try App.add(.biometryAny)
            device.present(.leaveApp)
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "another prompt (EV-53)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and another prompt took its place. Try: one prompt after the other",
            logged: "evaluation-ended biometryAny systemCancel"
        ) { device in
            try App.add(.biometryAny)
            try await App.read(before: device) {
                let other = LAContext()
                async let isOwner = other.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: App.canary)
                while device.prompts.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
                device.present(.finger(1))
                #expect(try await isOwner)
            }
        },
        Refused(
            "the agent went",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the agent that showed the prompt disconnected. Try: device.setAttended(true)",
            logged: "evaluation-ended biometryAny systemCancel"
        ) { device in
            try App.add(.biometryAny)
            try await App.read(before: device) { device.setAttended(false) }
        },
        Refused(
            "the device locked (EV-52)",
            #"touchstone: SecItemCopyMatching -25293: biometryAny, and the device was locked while it asked. Try: device.unlock(passcode: "1234")"#,
            logged: "evaluation-ended biometryAny systemCancel"
        ) { device in
            try App.add(.biometryAny)
            try await App.read(before: device) { try device.lock() }
        },
        Refused(
            "another passcode (EV-33)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the passcode was changed while the device asked. Try: the call again",
            logged: "evaluation-ended biometryAny systemCancel"
        ) { device in
            try App.add(.biometryAny)
            try await App.read(before: device) { try device.changePasscode(from: "1234", to: "5678") }
        },
        Refused(
            "the context was ended (EV-50)",
            "touchstone: SecItemCopyMatching -25293: biometryAny, and the app ended the context while the device asked. Try: a context that is kept",
            logged: "evaluation-ended biometryAny appCancel"
        ) { device in
            try App.add(.biometryAny)
            let context = LAContext()
            try await App.read(before: device, context: context) { context.invalidate() }
        },
        Refused(
            "the context was ended before (EV-50, AC-47)",
            "touchstone: SecItemCopyMatching -25293: the context was invalidated. Try: a new LAContext", logged: ""
        ) { _ in
            try App.add(.biometryAny)
            let context = LAContext()
            context.invalidate()
            #expect(App.read([kSecUseAuthenticationContext: context]) == errSecAuthFailed)
        },
    ]

    // MARK: -25293, of application passwords

    static let applicationPasswords: [Refused] = [
        Refused(
            "none, and nobody to ask (EV-61)",
            "touchstone: SecItemCopyMatching -25293: applicationPassword, and no application password is set, and nobody can be asked for it. Try: LAContext.setCredential(_:type:), or device.setAttended(true)",
            logged: "call-refused - noApplicationPassword"
        ) { device in
            try addWithPassword()
            device.setAttended(false)
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "a wrong one of the app's (AC-46)",
            "touchstone: SecItemCopyMatching -25293: applicationPassword, and the application password is wrong. Try: LAContext.setCredential(_:type:) with the right one",
            logged: "call-refused - wrongApplicationPassword"
        ) { _ in
            try addWithPassword()
            let context = App.context(password: "wrong")
            #expect(App.read([kSecUseAuthenticationContext: context]) == errSecAuthFailed)
        },
        Refused(
            "three wrong ones of the owner's (EV-61)",
            "touchstone: SecItemCopyMatching -25293: applicationPassword, and the owner typed three wrong application passwords. Try: device.present(.applicationPassword(…)) with the right one",
            logged: "call-refused - tooManyApplicationPasswords"
        ) { device in
            try addWithPassword()
            device.present(.applicationPassword("1"), .applicationPassword("2"), .applicationPassword("3"))
            #expect(App.read() == errSecAuthFailed)
        },
        Refused(
            "so many wrong ones that the next has to wait (PC-01)",
            "touchstone: SecItemCopyMatching -25293: applicationPassword, and the next application password has to wait after so many wrong ones. Try: device.advance(by: .minutes(60))",
            logged: "call-refused - applicationPasswordDelayed"
        ) { _ in
            try addWithPassword()
            for number in 0..<4 {
                let context = App.context(password: "wrong \(number)")
                #expect(App.read([kSecUseAuthenticationContext: context]) == errSecAuthFailed)
            }
            #expect(App.read() == errSecAuthFailed)
        },
    ]

    private static func addWithPassword() throws {
        let context = App.context(password: App.canary)
        let more: Entries = [kSecUseAuthenticationContext: context]
        try #require(try App.add(.applicationPassword, kSecAttrAccessibleWhenUnlocked, more) == errSecSuccess)
    }

    // MARK: -25308

    static let nobodyToAsk: [Refused] = [
        Refused(
            "the device is locked (KC-20)",
            #"touchstone: SecItemCopyMatching -25308: the device is locked. Try: device.unlock(passcode: "1234")"#,
            logged: "call-refused - deviceLocked"
        ) { device in
            try App.add(nil)
            try device.lock()
            #expect(App.read() == errSecInteractionNotAllowed)
        },
        Refused(
            "the device is locked, for a new item (KC-15)",
            #"touchstone: SecItemAdd -25308: userPresence, and the device is locked. Try: device.unlock(passcode: "1234")"#,
            logged: "call-refused presence deviceLocked"
        ) { device in
            try device.lock()
            #expect(try App.add(.userPresence) == errSecInteractionNotAllowed)
        },
        Refused(
            "nobody can be asked behind the lock screen (EV-05)",
            #"touchstone: SecItemCopyMatching -25308: userPresence, and the device is locked. Try: device.unlock(passcode: "1234")"#,
            logged: "evaluation-ended presence notInteractive"
        ) { device in
            try App.add(.userPresence, kSecAttrAccessibleAfterFirstUnlock)
            try device.lock()
            #expect(App.read() == errSecInteractionNotAllowed)
        },
        Refused(
            "not unlocked since it booted (KC-20)",
            #"touchstone: SecItemCopyMatching -25308: the device was not unlocked since it was booted. Try: device.unlock(passcode: "1234")"#,
            logged: "call-refused - beforeFirstUnlock"
        ) { device in
            try App.add(nil, kSecAttrAccessibleAfterFirstUnlock)
            device.reboot()
            #expect(App.read() == errSecInteractionNotAllowed)
        },
        Refused(
            "the query forbids to ask (AC-41)",
            "touchstone: SecItemCopyMatching -25308: userPresence, and the call forbids to ask the owner. Try: the call without kSecUseAuthenticationUIFail and interactionNotAllowed",
            logged: "call-refused presence interactionForbidden"
        ) { _ in
            try App.add(.userPresence)
            let silent: Entries = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
            #expect(App.read(silent) == errSecInteractionNotAllowed)
        },
        Refused(
            "the context forbids to ask (EV-54)",
            "touchstone: SecItemCopyMatching -25308: userPresence, and the call forbids to ask the owner. Try: the call without kSecUseAuthenticationUIFail and interactionNotAllowed",
            logged: "call-refused presence interactionForbidden"
        ) { _ in
            try App.add(.userPresence)
            let context = LAContext()
            context.interactionNotAllowed = true
            #expect(App.read([kSecUseAuthenticationContext: context]) == errSecInteractionNotAllowed)
        },
        Refused(
            "the query of a key forbids to ask (SE-04, AC-41)",
            "touchstone: SecKeyCreateSignature -1004: userPresence, and the call forbids to ask the owner. Try: the call without kSecUseAuthenticationUIFail and interactionNotAllowed",
            logged: "call-refused presence interactionForbidden"
        ) { _ in
            let silent: Entries = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
            let key = try enclaveKey(
                [.userPresence, .privateKeyUsage], kSecAttrAccessibleWhenUnlocked, silent)
            #expect(throws: (any Error).self) { try signature(of: key) }
        },
        Refused(
            "no agent (EV-05)",
            "touchstone: SecItemCopyMatching -25308: userPresence, and no agent is connected to show the prompt. Try: device.setAttended(true)",
            logged: "call-refused presence noAgent"
        ) { device in
            try App.add(.userPresence)
            device.setAttended(false)
            #expect(App.read() == errSecInteractionNotAllowed)
        },
        Refused(
            "the app is in the background (EV-05)",
            "touchstone: SecItemCopyMatching -25308: userPresence, and the app is in the background. Try: device.setForeground(true)",
            logged: "call-refused presence appInBackground"
        ) { device in
            try App.add(.userPresence)
            try device.setForeground(false)
            #expect(App.read() == errSecInteractionNotAllowed)
        },
    ]

    // MARK: others

    static let others: [Refused] = [
        Refused(
            "a group that is not the app's (KC-42)",
            "touchstone: SecItemAdd -34018: the access group does not belong to the app. Try: device.run(as:keychainAccessGroups:)",
            logged: "call-refused - foreignAccessGroup"
        ) { _ in
            let foreign: Entries = [kSecAttrAccessGroup: App.canary]
            let status = try App.add(nil, kSecAttrAccessibleWhenUnlocked, foreign)
            #expect(status == errSecMissingEntitlement)
        },
        Refused(
            "an item beyond the app's quota",
            "touchstone: SecItemAdd -34: the app has reached its limit. Try: device.setQuota(items: 20_000, bytes: 128 << 20)",
            logged: "call-refused - quotaReached"
        ) { device in
            #expect(try App.add(nil) == errSecSuccess)
            try device.setQuota(items: 1)
            let other: Entries = [kSecAttrAccount: "another"]
            let status = try App.add(nil, kSecAttrAccessibleWhenUnlocked, other)
            #expect(status == errSecDiskFull)
        },
        Refused(
            "a key of another set of fingers (AC-52)",
            "touchstone: SecKeyCreateSignature -3: the key was bound to a set of fingers or faces that has changed. Try: a new key",
            logged: "key-used sign invalidated"
        ) { device in
            let key = try enclaveKey([.biometryCurrentSet, .privateKeyUsage])
            try device.enrollFinger()
            #expect(throws: (any Error).self) { try signature(of: key) }
        },
        Refused(
            "a key whose passcode was removed (AC-52, KC-23)",
            "touchstone: SecKeyCreateSignature -3: the passcode that the key was bound to was removed. Try: a new key",
            logged: "key-used sign invalidated"
        ) { device in
            let key = try enclaveKey(
                [.userPresence, .privateKeyUsage], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            try device.removePasscode("1234")
            #expect(throws: (any Error).self) { try signature(of: key) }
        },
        Refused(
            "a policy, and nothing enrolled (CE-02)",
            "touchstone: evaluatePolicy -7: deviceOwnerAuthenticationWithBiometrics, and no finger is enrolled. Try: device.enrollFinger()",
            logged: "evaluation-ended biometryAny biometryNotEnrolled", on: withPasscode
        ) { _ in
            let context = LAContext()
            await #expect(throws: LAError.self) {
                try await context.evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: App.canary)
            }
        },
        Refused(
            "an access control, and no agent (EV-05, EV-62)",
            "touchstone: evaluateAccessControl -1004: devicePasscode or biometryAny, and no agent is connected to show the prompt. Try: device.setAttended(true)",
            logged: "call-refused passcode or biometryAny noAgent"
        ) { device in
            device.setAttended(false)
            let context = LAContext()
            let either = try control([.biometryAny, .or, .devicePasscode])
            await #expect(throws: LAError.self) {
                try await context.evaluateAccessControl(
                    either, operation: .useItem, localizedReason: App.canary)
            }
        },
    ]

    static let all = notSetUp + notProven + interrupted + applicationPasswords + nobodyToAsk + others
}
