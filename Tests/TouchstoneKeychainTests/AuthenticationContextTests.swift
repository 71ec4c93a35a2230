import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

/// A client that was tampered with: it answers every evaluation with yes.
private final class FakedContext: LAContext {
    override func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) { reply(true, nil) }

    override func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) { reply(true, nil) }
}

/// What a context that is handed to the keychain is worth.
@Suite(.timeLimit(.minutes(10))) struct AuthenticationContextTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func addItem(_ flags: SecAccessControlCreateFlags) throws {
        try #require(add(account("a", [kSecAttrAccessControl: try control(flags)]).value("a")) == errSecSuccess)
    }

    private func reading(with context: LAContext) -> Attributes {
        account("a", [kSecUseAuthenticationContext: context])
    }

    @Test("AC-49, AT-08: evaluating and then reading with the context is one prompt") func onePrompt() async throws {
        try await device.run {
            try addItem(.userPresence)
            let context = LAContext()
            device.present(.finger(1))
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            for _ in 0..<3 { #expect(secret(reading(with: context)) == "a") }
            #expect(update(reading(with: context), [kSecAttrLabel: "x"]) == errSecSuccess)
            #expect(device.prompts.count == 1)
        }
    }

    @Test("AT-08: evaluating and then reading without the context is two prompts") func twoPrompts() async throws {
        try await device.run {
            try addItem(.userPresence)
            device.present(.finger(1), .finger(1))
            #expect(try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.count == 2)
        }
    }

    @Test("AC-49: evaluating the item's access control serves the read") func evaluateAccessControl() async throws {
        try await device.run {
            try addItem([.biometryAny, .devicePasscode])
            let context = LAContext()
            device.present(.finger(1), .passcode("1234"))
            let isMet = try await context.evaluateAccessControl(
                control([.biometryAny, .devicePasscode]), operation: .useItem, localizedReason: "r")
            #expect(isMet)
            #expect(secret(reading(with: context)) == "a")
            #expect(device.prompts.count == 1)
        }
    }

    @Test("The prompt of a read names what it opens, at most five items") func itemsAreNamed() throws {
        try device.run {
            try addItem(.userPresence)
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.last?.itemNames == ["a"])
            for number in 1...6 {
                let named = account("n").with(kSecAttrService, "s\(number)").with(kSecAttrLabel, "label \(number)")
                try #require(
                    add(named.with(kSecAttrAccessControl, try control(.userPresence)).value("n")) == errSecSuccess)
            }
            device.present(.finger(1))
            #expect(read(account("n").all) == errSecSuccess)
            #expect(device.prompts.last?.itemNames == (1...5).map { "label \($0)" })
        }
    }

    @Test("The prompt of an evaluation names no item") func evaluationsNameNothing() async throws {
        try await device.run {
            try addItem(.userPresence)
            device.present(.finger(1))
            #expect(
                try await LAContext().evaluateAccessControl(
                    control(.userPresence), operation: .useItem, localizedReason: "r"))
            #expect(device.prompts.last?.itemNames == [])
        }
    }

    @Test("AC-25: reads with one context are one prompt, by the first of them") func contextIsReused() throws {
        try device.run(prompts: 1) {
            try addItem(.userPresence)
            let context = LAContext()
            device.present(.finger(1))
            for _ in 0..<3 { #expect(secret(reading(with: context)) == "a") }
        }
    }

    @Test("AC-42: Fail with a context that has proven enough succeeds, with a fresh one fails") func failWithContext()
        async throws
    {
        try await device.run {
            try addItem(.userPresence)
            let context = LAContext()
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
            #expect(secret(reading(with: context).silent) == "a")
            let skipping = reading(with: context).with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)
            #expect(secret(skipping) == "a")
        }
    }

    @Test("AC-47: an invalidated context is a failed authentication, without a prompt") func invalidated() throws {
        try device.runUnprompted {
            try addItem(.userPresence)
            let context = LAContext()
            context.invalidate()
            #expect(read(reading(with: context)) == errSecAuthFailed)
            #expect(read(account("a", [kSecUseAuthenticationContext: "x"])) == errSecParam)
        }
    }

    @Test("EV-33: what a context has proven is gone after a lock and after an enrolment change") func proofsEnd() throws
    {
        try device.run(prompts: 3) {
            try addItem(.biometryAny)
            let context = LAContext()
            device.present(.finger(1))
            #expect(secret(reading(with: context)) == "a")
            try device.lock()
            try device.unlock(finger: 1)
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(secret(reading(with: context)) == "a")
            try device.enrollFinger()
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(secret(reading(with: context)) == "a")
        }
    }

    // MARK: attacks

    @Test("AT-02: a success that was faked in the client opens nothing") func fakedSuccess() throws {
        try device.run(prompts: 2) {
            try addItem(.userPresence)
            let context = FakedContext()
            nonisolated(unsafe) var isFaked = false
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { isSuccess, _ in
                isFaked = isSuccess
            }
            #expect(isFaked)
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.cancel)
            #expect(read(reading(with: context)) == errSecUserCanceled)
            device.present(.finger(1))
            #expect(secret(reading(with: context)) == "a")
        }
    }

    @Test("AT-01: whichever answer is rewritten, it opens no item and has no key sign") func rewrittenAnswers() throws {
        try device.runUnprompted {
            try addItem(.userPresence)
            let flags: SecAccessControlCreateFlags = [.userPresence, .privateKeyUsage]
            let context = FakedContext()
            let key = try enclaveKey([
                kSecAttrAccessControl: try control(flags), kSecUseAuthenticationContext: context,
            ])
            nonisolated(unsafe) var answers = 0
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { isSuccess, _ in
                if isSuccess { answers += 1 }
            }
            for operation in [LAAccessControlOperation.useItem, .useKeySign] {
                context.evaluateAccessControl(try control(flags), operation: operation, localizedReason: "r") {
                    if $0, $1 == nil { answers += 1 }
                }
            }
            #expect(answers == 3, "and an app that trusts them is in")
            context.interactionNotAllowed = true
            #expect(read(reading(with: context)) == errSecInteractionNotAllowed)
            var error: Unmanaged<CFError>?
            let message = Data("nonce".utf8) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, &error) == nil)
            let refusal: (any Error)? = error?.takeRetainedValue()
            #expect((refusal as? LAError)?.code == .notInteractive)
        }
    }

    @Test("AC-20: a context that has proven the passcode does not open an item of biometryAny")
    func passcodeIsNoFinger() throws {
        try device.run(prompts: 2) {
            try addItem(.biometryAny)
            add(account("b", [kSecAttrAccessControl: try control(.devicePasscode)]).value("b"))
            let context = LAContext()
            device.present(.passcode("1234"))
            #expect(secret(account("b", [kSecUseAuthenticationContext: context])) == "b")
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(
                secret(reading(with: context).silent.with(kSecUseAuthenticationUI, kSecUseAuthenticationUIAllow)) == "a"
            )
        }
    }

    @Test("AC-20: a context that has proven a finger does not open an item of the passcode") func fingerIsNoPasscode()
        throws
    {
        try device.run(prompts: 2) {
            try addItem(.devicePasscode)
            add(account("b", [kSecAttrAccessControl: try control(.biometryAny)]).value("b"))
            let context = LAContext()
            device.present(.finger(1))
            #expect(secret(account("b", [kSecUseAuthenticationContext: context])) == "b")
            #expect(read(reading(with: context).silent) == errSecInteractionNotAllowed)
            device.present(.passcode("1234"))
            #expect(secret(reading(with: context)) == "a")
        }
    }

    @Test("AT-02: a context proves nothing for another app that knows its name") func foreignContext() throws {
        let query: KeychainInterface.Dictionary = [.class: .string("genp"), .returnData: .boolean(true)]
        /// As the app in scope, past our own client.
        func copy(context: String?) throws -> KeychainInterface.CopyMatching.Reply {
            let client = try DeviceEndpoint.current().client()
            return try client.call(KeychainInterface.CopyMatching.self, .init(query: query, context: context))
        }
        let context = device.run { LAContext() }
        let name = try device.run {
            try addItem(.userPresence)
            device.present(.finger(1))
            try #require(secret(reading(with: context)) == "a")
            return try context.deviceContext.identifier()
        }
        try device.run(as: "other") {
            try addItem(.userPresence)
            #expect { try copy(context: name) } throws: {
                ($0 as? RemoteError)?.as(KeychainInterface.Failed.self)?.reason
                    == RefusalCause.interactionForbidden.rawValue
            }
            #expect { try copy(context: nil) } throws: {
                ($0 as? RemoteError)?.as(KeychainInterface.Failed.self)?.reason
                    == RefusalCause.interactionForbidden.rawValue
            }
        }
        try device.run { () throws in #expect(try copy(context: name).items.first?.data == Data("a".utf8)) }
    }
}
