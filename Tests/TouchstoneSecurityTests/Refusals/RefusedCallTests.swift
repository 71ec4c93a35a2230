import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

@testable import TouchstoneSecurity
@testable import TouchstoneTesting
@testable import TouchstoneTransport

/// A refused call says why: in one line for whoever runs the app, and in the log.
@Suite(.timeLimit(.minutes(10))) struct RefusedCallTests {
    @Test("One line for each cause, word for word, and an entry of the log", arguments: Refused.all)
    func isExplained(refused: Refused) async throws {
        let device = try refused.device()
        try await device.run { try await refused.happen(device) }
        #expect(device.refusals.last == refused.line)
        // Counts of what came before it may stand behind it.
        let logged = try device.refusedInLog()
        #expect(refused.logged.isEmpty ? logged.isEmpty : logged.contains(refused.logged))
    }

    /// What -25293 and -25308 stand for is told apart: no two causes here have one line.
    @Test func everyCauseHasALineOfItsOwn() {
        let texts = RefusalCause.allCases.map(\.explanation)
        #expect(Set(texts).count == texts.count)
        #expect(RefusalCause.allCases.allSatisfy { !$0.step.isEmpty && !$0.stepInTest.isEmpty })
    }

    @Test("AC-20, EV-30: what succeeds prints nothing, and is no refusal in the log") func successIsSilent()
        async throws
    {
        let device = try Refused.withFinger()
        try await device.run {
            try #require(try App.add(.biometryCurrentSet) == errSecSuccess)
            device.present(.finger(1), .finger(1), .finger(1))
            #expect(App.read() == errSecSuccess)
            try signature(of: try enclaveKey([.biometryAny, .privateKeyUsage]))
            let context = LAContext()
            #expect(
                try await context.evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: App.canary))
            #expect(SecItemDelete(App.item() as CFDictionary) == errSecSuccess)
        }
        #expect(device.refusals == [])
        #expect(try device.refusedInLog() == [])
    }

    @Test("KC-30, KC-35: not found, a duplicate, a wrong query and the owner's cancel are no refusals")
    func whatIsNone() throws {
        let device = try Refused.withFinger()
        try device.run {
            #expect(App.read() == errSecItemNotFound)
            try #require(try App.add(.biometryAny) == errSecSuccess)
            #expect(try App.add(.biometryAny) == errSecDuplicateItem)
            device.present(.cancel)
            #expect(App.read() == errSecUserCanceled)
        }
        #expect(device.refusals == [])
        // The cancel is in the log as it was before, once.
        #expect(try device.refusedInLog() == ["evaluation-ended biometryAny userCancel"])
    }

    @Test("DEC-022: no secret, account, service, label, group or reason is in a line or in the log") func canary()
        async throws
    {
        for refused in Refused.all {
            let device = try refused.device()
            try await device.run { try await refused.happen(device) }
            _ = try device.refusalEntries()
            let told = (device.refusals + device.log.lines).joined(separator: "\n")
            #expect(!told.contains(App.canary), "\(refused.name)")
        }
    }

    private static let refusedDictionaries: [(String, @Sendable () -> OSStatus)] = [
        (
            "SecItemCopyMatching -50: the call does not take kSecMatchLimit, or not with this value. Try: another value, or the call without it",
            { App.read([kSecMatchLimit: App.canary]) }
        ),
        // Found on this side, before the device is asked.
        (
            "SecItemCopyMatching -50: the call does not take kSecValueRef, or not with this value. Try: another value, or the call without it",
            { App.read([kSecValueRef: App.canary]) }
        ),
        (
            "SecItemCopyMatching -50: Security has no constant for one of the keys. Try: the call without it",
            { App.read([App.canary as NSString: 1]) }
        ),
        (
            "SecItemCopyMatching -25303: kSecAttrServer is not an attribute of this class. Try: the call without it",
            { App.read([kSecAttrServer: App.canary]) }
        ),
        (
            "SecItemUpdate -25303: kSecUseAuthenticationContext is not an attribute of this class. Try: the call without it",
            { SecItemUpdate(App.item() as CFDictionary, [kSecUseAuthenticationContext: LAContext()] as CFDictionary) }
        ),
        (
            "SecItemUpdate -25303: kSecReturnData is not an attribute of this class. Try: the call without it",
            { SecItemUpdate(App.item() as CFDictionary, [kSecReturnData: true] as CFDictionary) }
        ),
        (
            "SecItemDelete -50: two keys contradict each other, or the call does not take one of them. Try: the call with fewer keys",
            { SecItemDelete(App.item([kSecMatchCaseInsensitive: true]) as CFDictionary) }
        ),
    ]

    @Test("KC-34: a dictionary that is refused has a line, which names the key", arguments: refusedDictionaries)
    func dictionary(_ line: String, _ call: @Sendable () -> OSStatus) throws {
        let device = try Refused.withFinger()
        let status = device.run { call() }
        #expect(device.refusals == ["touchstone: \(line)"])
        #expect(line.contains(" \(status): "))
        #expect(try device.refusedInLog() == [])
    }

    @Test("A line is printed once on a test's device; the log counts each call, by the app's name") func repeated()
        throws
    {
        let device = try Refused.withFinger()
        let silent: Entries = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
        try device.run(as: "org.example.app") {
            try App.add(.userPresence)
            for _ in 0..<300 { #expect(App.read(silent) == errSecInteractionNotAllowed) }
        }
        #expect(device.refusals.count == 1)
        let entries = try device.refusalEntries()
        #expect(entries.allSatisfy { $0.app == "org.example.app" && $0.author == .touchstoned })
        #expect(entries.reduce(0) { $0 + ($1.count ?? 1) } == 300)
        #expect(entries.count <= 10)
    }

    @Test("AC-40: a device that is never content ends the call, and the line says so") func tooManyRounds() {
        let call = RefusedCall(
            "SecItemCopyMatching(_:_:)",
            AuthenticationInterface.Failed(.authenticationFailed, "", .tooManyRounds) as any Error,
            wanted: ScriptedDevice.State.userPresence)
        #expect(
            call?.line(inTest: false)
                == "touchstone: SecItemCopyMatching -25293: userPresence, and the owner was asked 20 times, and it was never enough. Try: touchstone log --refused"
        )
    }

    @Test("AC-40, AC-45: a proof that was not given has its own code for a key, and a status for an item")
    func notGiven() throws {
        let failed = AuthenticationInterface.Failed(.biometryLockout, "Biometry is locked out.", .biometryLockedOut)
        let control = ScriptedDevice.State.userPresence
        func line(_ function: String, _ error: some VarlinkError) throws -> String? {
            let remote = RemoteError(name: type(of: error).name, parameters: try JSONOutput.encode(error))
            return RefusedCall(function, remote as any Error, wanted: nil)?.line(inTest: false)
        }
        let item = try #require(try line("SecItemCopyMatching", KeychainInterface.Failed(failed, control)))
        #expect(item.hasPrefix("touchstone: SecItemCopyMatching -25293: userPresence, and "))
        let key = try #require(try line("SecKeyCreateSignature", KeyInterface.Failed(failed, control)))
        #expect(key.hasPrefix("touchstone: SecKeyCreateSignature -8: userPresence, and "))
    }

    @Test("A process with too many contexts is told so") func tooManyContexts() throws {
        let device = try Refused.withFinger()
        let client = try device.booted.withLock { try $0.client() }
        for _ in 0..<256 { _ = try client.call(AuthenticationInterface.CreateContext.self, .init()) }
        #expect {
            _ = try client.call(AuthenticationInterface.CreateContext.self, .init())
        } throws: { error in
            let failed = (error as? RemoteError)?.as(AuthenticationInterface.Failed.self)
            return failed?.code == .invalidContext && failed?.reason == RefusalCause.tooManyContexts.rawValue
        }
        #expect(try device.refusedInLog() == ["call-refused - tooManyContexts"])
    }

    // MARK: commands

    @Test("With a device that is driven by the command, the advice is a command") func commands() {
        func line(_ cause: RefusalCause) -> String? {
            RefusedCall(
                "SecItemAdd", AuthenticationInterface.Failed(cause.failure, "", cause), wanted: "biometryCurrentSet"
            )
            .line(inTest: false)
        }
        #expect(
            line(.notEnrolled)
                == "touchstone: SecItemAdd -7: biometryCurrentSet, and no finger is enrolled. Try: touchstone device enroll right-index"
        )
        #expect(
            line(.deviceLocked)
                == "touchstone: SecItemAdd -1004: biometryCurrentSet, and the device is locked. Try: touchstone device unlock"
        )
    }

    // MARK: old and new together

    @Test("An older device gives no reason, and a newer one a word that is not known here") func otherVersions() throws
    {
        func line(_ parameters: String) -> String? {
            let error = RemoteError(name: KeychainInterface.Failed.name, parameters: Data(parameters.utf8))
            return RefusedCall("SecItemAdd", error as any Error, wanted: nil)?.line(inTest: false)
        }
        #expect(
            line(#"{"status":-25293}"#)
                == "touchstone: SecItemAdd -25293: the device does not say why. Try: touchstone log --refused")
        #expect(
            line(#"{"status":-25293,"reason":"moonPhase"}"#)
                == "touchstone: SecItemAdd -25293: the device says \"moonPhase\". Try: touchstone log --refused")
        #expect(line(#"{"status":-25300}"#) == nil)
    }
}
