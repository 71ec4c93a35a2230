import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSecurity
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

/// What is asked of the owner where a key of the enclave is used.
@Suite(.timeLimit(.minutes(10))) struct EnclaveKeyContextTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private static let present: SecAccessControlCreateFlags = [.userPresence, .privateKeyUsage]
    private static let finger: SecAccessControlCreateFlags = [.biometryAny, .privateKeyUsage]

    // MARK: how often

    @Test("SE-16: with one context, a hundred signatures are one prompt") func oneContext() throws {
        try device.run(prompts: 1) {
            let key = try enclaveKey(Self.present, context: LAContext())
            device.present(.finger(1))
            for number in 0..<100 {
                let nonce = Data("nonce \(number)".utf8)
                #expect(try isValid(signature(of: key, nonce), by: key, nonce))
            }
        }
    }

    @Test("SE-05: with a context that was authenticated before, they are none, and its text is not shown")
    func authenticatedBefore() async throws {
        try await device.run {
            let context = LAContext()
            device.present(.finger(1))
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "log in"))
            let key = try enclaveKey(Self.finger, context: context)
            for _ in 0..<100 { #expect(try isValid(signature(of: key), by: key)) }
            #expect(device.prompts.map(\.reason) == ["log in"])
        }
    }

    @Test("AC-49: evaluating the key's own access control serves its use")
    func evaluateAccessControl() async throws {
        try await device.run {
            let flags: SecAccessControlCreateFlags = [.biometryAny, .devicePasscode, .privateKeyUsage]
            let context = LAContext()
            let key = try enclaveKey(flags, context: context)
            device.present(.finger(1), .passcode("1234"))
            #expect(
                try await context.evaluateAccessControl(control(flags), operation: .useKeySign, localizedReason: "r"))
            #expect(try isValid(signature(of: key), by: key))
            #expect(device.prompts.count == 1)
            #expect(device.prompts[0].keyOperation == .sign)
        }
    }

    @Test("EV-63: evaluating the key's control for decrypting serves decrypting, with one prompt")
    func evaluateForDecrypting() async throws {
        try await device.run {
            let context = LAContext()
            let key = try enclaveKey(Self.finger, context: context)
            device.present(.finger(1))
            #expect(
                try await context.evaluateAccessControl(
                    control(Self.finger), operation: .useKeyDecrypt, localizedReason: "r"))
            for _ in 0..<2 { #expect(try decryption(with: key) == Data("note".utf8)) }
            #expect(device.prompts.map(\.keyOperation) == [.decrypt])
            // The twin: another key's context has heard nothing of it.
            device.present(.cancel)
            let other = try enclaveKey(Self.finger, context: LAContext())
            #expect(refusal { _ = try decryption(with: other) } == .userCancel)
            #expect(device.prompts.count == 2)
        }
    }

    @Test("SE-16: without a context, a hundred signatures are a hundred prompts") func noContext() throws {
        try device.run(prompts: 100) {
            let key = try enclaveKey(Self.present)
            for _ in 0..<100 {
                device.present(.finger(1))
                #expect(try isValid(signature(of: key), by: key))
            }
        }
    }

    @Test("SE-16: each kind of use is asked for, and a shared context serves them all") func everyUse() throws {
        try device.run(prompts: 4) {
            let alone = try enclaveKey(Self.present)
            let other = try softwareKey()
            for use in [
                { _ = try signature(of: alone) }, { _ = try decryption(with: alone) },
                { try exchange(alone, other) },
            ] as [() throws -> Void] {
                device.present(.finger(1))
                try use()
            }
            #expect(device.prompts.map(\.keyOperation) == [.sign, .decrypt, .exchangeKeys])
            let shared = try enclaveKey(Self.present, context: LAContext())
            device.present(.finger(1))
            try signature(of: shared)
            #expect(try decryption(with: shared) == Data("note".utf8))
            try exchange(shared, other)
        }
    }

    // MARK: whose context

    @Test("SE-05: the context is that of the query that fetched the reference") func contextOfTheQuery() async throws {
        try await device.run {
            _ = try randomKey(
                parameters([
                    kSecAttrApplicationTag: Data("t".utf8), kSecAttrAccessControl: try control(Self.finger),
                    kSecUseAuthenticationContext: LAContext(),
                ]))
            let context = LAContext()
            device.present(.finger(1))
            #expect(
                try await context.evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: "r"))
            let key = try stored("t", [kSecUseAuthenticationContext: context])
            #expect(try isValid(signature(of: key), by: key))
            #expect(device.prompts.count == 1)
            device.present(.finger(1))
            #expect(try isValid(signature(of: stored("t")), by: key))
            #expect(device.prompts.count == 2)
            let fresh = try stored("t", [kSecUseAuthenticationContext: LAContext()])
            device.present(.cancel)
            #expect(refusal { try signature(of: fresh) } == .userCancel)
            #expect(device.prompts.count == 3)
        }
    }

    @Test("SE-05: the context of another app is worth nothing, even where both share the key's group")
    func foreignContext()
        async throws
    {
        func asOther<R>(_ body: () async throws -> R) async rethrows -> R {
            try await device.run(as: "other", keychainAccessGroups: ["shared"], body)
        }
        func sign(_ key: Data, _ context: LAContext) throws {
            _ = try DeviceEndpoint.current().call(
                KeyInterface.Sign.self,
                .init(key: key, data: Data(count: 32), context: try context.deviceContext.identifier()))
        }
        let made = try device.run(as: "this", keychainAccessGroups: ["shared"]) {
            try DeviceEndpoint.current().call(
                KeyInterface.Create.self,
                .init(kind: .p256, accessControl: control(Self.finger).value, accessGroup: nil, context: nil))
        }
        let context = await asOther { LAContext() }
        device.present(.finger(1))
        try await asOther {
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            try sign(made.key, context)
        }
        device.run(as: "this", keychainAccessGroups: ["shared"]) {
            let error = #expect(throws: RemoteError.self) { try sign(made.key, context) }
            let failed = error?.as(KeyInterface.Failed.self)
            #expect(failed?.status == errSecInteractionNotAllowed)
            #expect(failed?.reason == RefusalCause.interactionForbidden.rawValue)
        }
        #expect(device.prompts.count == 1)
    }

    @Test("AC-45, AC-47: an invalidated context is -10, without a prompt, for using, and -25293 where a status is said")
    func invalidated() throws {
        try device.runUnprompted {
            let context = LAContext()
            let key = try enclaveKey(Self.present, context: context)
            context.invalidate()
            #expect(refusal { try signature(of: key) } == .invalidContext)
            #expect(refusal { _ = try decryption(with: key) } == .invalidContext)
            #expect(refusal { _ = try exchange(key, softwareKey()) } == .invalidContext)
            #expect(rawSignStatus(key) == errSecAuthFailed)
            let parameters = parameters([kSecUseAuthenticationContext: context, kSecAttrIsPermanent: false])
            #expect(status { _ = try randomKey(parameters) } == errSecAuthFailed)
            let none = TouchstoneSecurityTests.parameters([kSecUseAuthenticationContext: "x"])
            #expect(status { _ = try randomKey(none) } == errSecParam)
        }
    }

    @Test("AC-20: a passcode does not serve a key that wants a finger") func passcodeForBiometry() async throws {
        try await device.run {
            let context = LAContext()
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            let biometric = try enclaveKey(Self.finger, context: context)
            context.interactionNotAllowed = true
            #expect(refusal { try signature(of: biometric) } == .notInteractive)
            #expect(device.prompts.count == 1)
            // The same context serves one that takes the passcode.
            let present = try enclaveKey(Self.present, context: context)
            #expect(try isValid(signature(of: present), by: present))
            #expect(device.prompts.count == 1)
        }
    }

    @Test("EV-33: what a context has proven is gone after a lock") func proofsEnd() throws {
        try device.run(prompts: 2) {
            let context = LAContext()
            let key = try enclaveKey(Self.present, context: context)
            device.present(.finger(1))
            try signature(of: key)
            try device.lock()
            try device.unlock(passcode: "1234")
            device.present(.finger(1))
            try signature(of: key)
        }
    }

    // MARK: what is asked for

    @Test("SE-13, AC-20, AC-45: constraints without privateKeyUsage allow no use, -1009; no constraints allow every")
    func privateKeyUsage() throws {
        try device.runUnprompted {
            for flags: SecAccessControlCreateFlags in [.userPresence, .biometryAny, .devicePasscode] {
                let key = try enclaveKey(flags)
                #expect(refusal { try signature(of: key) }?.rawValue == -1009)
                #expect(refusal { _ = try decryption(with: key) }?.rawValue == -1009)
                #expect(refusal { _ = try exchange(key, softwareKey()) }?.rawValue == -1009)
                #expect(rawSignStatus(key) == errSecAuthFailed, "a status has no such code")
            }
            for flags: SecAccessControlCreateFlags? in [nil, [], .privateKeyUsage, .or] {
                let key = try enclaveKey(flags)
                #expect(try isValid(signature(of: key), by: key))
                #expect(try decryption(with: key) == Data("note".utf8))
                #expect(try exchange(key, softwareKey()).count == 32)
                #expect(rawSignStatus(key) == errSecSuccess)
            }
        }
    }

    @Test("AC-03: of several constraints all, or any one")
    func severalConstraints() throws {
        try device.run(prompts: 2) {
            let both = try enclaveKey([.biometryAny, .devicePasscode, .privateKeyUsage])
            device.present(.finger(1), .passcode("1234"))
            #expect(try isValid(signature(of: both), by: both))
            let either = try enclaveKey([.biometryAny, .or, .devicePasscode, .privateKeyUsage])
            device.present(.finger(1))
            #expect(try isValid(signature(of: either), by: either))
        }
    }

    @Test(
        "SE-04, AC-41: where nobody may be asked the use is -1004; with a context that has proven enough it succeeds")
    func interactionForbidden() async throws {
        try await device.run {
            let silent: Entries = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
            _ = try randomKey(
                parameters([
                    kSecAttrApplicationTag: Data("t".utf8), kSecAttrAccessControl: try control(Self.present),
                ]))
            let key = try stored("t", silent)
            #expect(refusal { try signature(of: key) } == .notInteractive)
            #expect(rawSignStatus(key) == errSecInteractionNotAllowed)
            let context = LAContext()
            context.interactionNotAllowed = true
            let other = try stored("t", [kSecUseAuthenticationContext: context])
            #expect(refusal { try signature(of: other) } == .notInteractive)
            #expect(rawSignStatus(other) == errSecInteractionNotAllowed)
            #expect(device.prompts.isEmpty)
            let proven = LAContext()
            device.present(.finger(1))
            #expect(try await proven.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            let third = try stored("t", silent.merging([kSecUseAuthenticationContext: proven]) { $1 })
            #expect(try isValid(signature(of: third), by: key))
            #expect(device.prompts.count == 1)
        }
    }

    // MARK: what comes of it

    @Test(
        "AC-45: why the owner's proof was not had is at the top of the error; where a status is answered it is AC-44's")
    func refusals() throws {
        try device.run {
            let key = try enclaveKey(Self.finger)
            for (actions, code, expected) in [
                ([.cancel], .userCancel, errSecUserCanceled),
                ([.nonMatch, .fallback], .userFallback, errSecAuthFailed),
                ([.leaveApp], .systemCancel, errSecAuthFailed),
            ] as [([SimulatedDevice.Action], LAError.Code, OSStatus)] {
                func perform() throws {
                    try device.setForeground(true)
                    for action in actions { device.present(action) }
                }
                for use in [
                    { _ = try signature(of: key) }, { _ = try decryption(with: key) },
                    { _ = try exchange(key, softwareKey()) },
                ] as [() throws -> Void] {
                    try perform()
                    #expect(refusal(use) == code)
                }
                try perform()
                #expect(rawSignStatus(key) == expected)
            }
            try device.setForeground(true)
            device.setAttended(false)
            #expect(refusal { try signature(of: key) } == .notInteractive)
            #expect(rawSignStatus(key) == errSecInteractionNotAllowed)
        }
    }

    @Test("AC-45: without a finger that is enrolled it is -7, and nobody is asked") func nothingEnrolled() throws {
        try device.runUnprompted {
            let key = try enclaveKey(Self.finger)
            try device.removeFinger(1)
            #expect(refusal { try signature(of: key) } == .biometryNotEnrolled)
            #expect(rawSignStatus(key) == errSecAuthFailed)
        }
    }

    @Test("AC-45: a signature's errors are caught as code for devices catches them")
    func caughtAsLAError() throws {
        try device.run {
            let key = try enclaveKey(Self.finger)
            device.present(.cancel)
            do {
                try signature(of: key)
                Issue.record("it was signed")
            } catch let error as LAError {
                #expect(error.code == .userCancel)
                #expect(error.localizedDescription == "Authentication canceled.")
            }
            device.present(.cancel)
            do {
                try signature(of: key)
                Issue.record("it was signed")
            } catch LAError.userCancel {
            }
        }
    }

    @Test("EV-62: an operation that the control does not grant is -1009 at once; one that it grants asks")
    func operationsNotGranted() async throws {
        try await device.run { () async throws in
            let uses: [LAAccessControlOperation] = [.useKeySign, .useKeyDecrypt, .useKeyKeyExchange]
            func code(_ flags: SecAccessControlCreateFlags, _ operation: LAAccessControlOperation) async throws -> Int?
            {
                do {
                    try await LAContext().evaluateAccessControl(
                        control(flags), operation: operation, localizedReason: "r")
                    return nil
                } catch {
                    return (error as? LAError)?.code.rawValue
                }
            }
            for flags in [.userPresence, .biometryAny, .devicePasscode] as [SecAccessControlCreateFlags] {
                for use in uses { #expect(try await code(flags, use) == -1009) }
                #expect(try await code([flags, .privateKeyUsage], .useItem) == -1009)
                #expect(try await code(flags, .createItem) == nil)
                #expect(try await code([flags, .privateKeyUsage], .createKey) == nil)
            }
            #expect(try await code(.privateKeyUsage, .useItem) == -1009)
            // AC-05, AC-20: without entries everything is allowed.
            for operation in uses + [.useItem] { #expect(try await code([], operation) == nil) }
            #expect(device.prompts.isEmpty)
            device.present(.finger(1), .finger(1))
            #expect(try await code(.biometryAny, .useItem) == nil)
            #expect(try await code(Self.finger, .useKeySign) == nil)
            #expect(device.prompts.count == 2)
        }
    }

    @Test("AC-27: the prompt says the context's text, else the query's, else ours; and names the key and the operation")
    func promptText() throws {
        try device.run(prompts: 4) {
            let context = LAContext()
            context.localizedReason = "sign the order"
            let own: Entries = [kSecAttrLabel: "bank", kSecAttrApplicationTag: Data("t".utf8)]
            let made = try randomKey(
                parameters(
                    own.merging([
                        kSecAttrAccessControl: try control(Self.present), kSecUseAuthenticationContext: context,
                        kSecUseOperationPrompt: "unused",
                    ]) { $1 }))
            for key in [
                made, try stored("t", [kSecUseOperationPrompt: "pay the bill"]), try stored("t"),
                try enclaveKey(Self.present, kSecAttrAccessibleWhenUnlocked, [kSecAttrLabel: "\u{202E}knab\u{7}\n"]),
            ] {
                device.present(.finger(1))
                try signature(of: key)
            }
            #expect(
                device.prompts.map(\.reason) == [
                    "sign the order", "pay the bill", "access an item in your keychain",
                    "access an item in your keychain",
                ])
            #expect(device.prompts.map(\.keyLabel) == ["bank", "bank", "bank", "knab "])
            #expect(device.prompts.allSatisfy { $0.keyOperation == .sign })
        }
    }

    // MARK: application passwords

    private func context(_ password: String?) -> LAContext {
        let context = LAContext()
        if let password { #expect(context.setCredential(Data(password.utf8), type: .applicationPassword)) }
        return context
    }

    @Test("AC-48, SE-14: a key with an application password is made and used with it, and with no other")
    func applicationPassword() throws {
        try device.runUnprompted {
            let flags: SecAccessControlCreateFlags = [.applicationPassword, .privateKeyUsage]
            let right = context("right")
            _ = try randomKey(
                parameters([
                    kSecAttrApplicationTag: Data("t".utf8), kSecAttrAccessControl: try control(flags),
                    kSecUseAuthenticationContext: right,
                ]))
            func key(_ context: LAContext) throws -> SecKey { try stored("t", [kSecUseAuthenticationContext: context]) }
            for context in [right, context("right")] {
                #expect(try isValid(signature(of: key(context)), by: key(context)))
                #expect(try decryption(with: key(context)) == Data("note".utf8))
            }
            let wrong = context("wrong")
            #expect(refusal { try signature(of: key(wrong)) } == .authenticationFailed)
            // AC-46
            #expect(!wrong.isCredentialSet(.applicationPassword))
            // EV-61: with nobody there to ask for it.
            device.setAttended(false)
            #expect(refusal { try signature(of: key(context(nil))) } == .authenticationFailed)
            #expect(refusal { try signature(of: stored("t")) } == .authenticationFailed)
            let without = parameters([kSecAttrAccessControl: try control(flags)])
            #expect(status { _ = try randomKey(without) } == errSecAuthFailed)
        }
    }

    @Test("AC-04: the password is wanted in addition to the finger") func passwordAndFinger() throws {
        try device.run(prompts: 2) {
            let flags: SecAccessControlCreateFlags = [.biometryAny, .applicationPassword, .privateKeyUsage]
            let key = try enclaveKey(flags, context: context("right"))
            device.present(.finger(1))
            #expect(try isValid(signature(of: key), by: key))
            device.present(.cancel)
            let again = try enclaveKey(flags, context: context("right"))
            #expect(refusal { try signature(of: again) } == .userCancel)
        }
    }
}
