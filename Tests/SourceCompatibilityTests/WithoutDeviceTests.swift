import Foundation
import Glibc
import LocalAuthentication
import Security
import Testing
import TouchstoneSystem
import TouchstoneTransport

/// What a program sees where no device runs: every test here points to one that never existed.
@Suite(.withoutDevice) struct WithoutDeviceTests {
    private static var query: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
            kSecReturnData as String: kCFBooleanTrue as Any,
        ]
    }

    @Test func everyKeychainCallSaysNotAvailable() {
        let query = Self.query as CFDictionary
        var result: AnyObject?
        #expect(unsafe SecItemCopyMatching(query, &result) == errSecNotAvailable)
        #expect(result == nil)
        let added = SecItemAdd(query, nil)
        #expect(added == errSecNotAvailable)
        #expect(SecItemUpdate(query, [kSecAttrLabel: "l"] as CFDictionary) == errSecNotAvailable)
        #expect(SecItemDelete(query) == errSecNotAvailable)
        let status = unsafe withUnsafeMutablePointer(to: &result) {
            unsafe SecItemCopyMatching(query, UnsafeMutablePointer($0))
        }
        #expect(status == errSecNotAvailable)
    }

    @Test func resultsCanBeDisregarded() {
        SecItemDelete(Self.query as CFDictionary)
        SecItemAdd(Self.query as CFDictionary, nil)
        unsafe LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
    }

    @Test func dictionariesThatCannotBeCarriedAreRefused() {
        #expect(SecItemDelete(["class": NSArray()] as CFDictionary) == errSecParam)
        #expect(SecItemDelete([1: "x"] as NSDictionary) == errSecParam)
        #expect(SecItemDelete(["u_AuthCtx": "no context"] as CFDictionary) == errSecParam)
        let found = SecItemCopyMatching(Self.query as CFDictionary, nil)
        #expect(found == errSecParam)
    }

    @Test("AC-47: an invalidated context is errSecAuthFailed, AC-48: one in the update dictionary errSecNoSuchAttr")
    func unusableContexts() {
        let context = LAContext()
        context.invalidate()
        var query = Self.query
        query[kSecUseAuthenticationContext as String] = context
        #expect(SecItemDelete(query as CFDictionary) == errSecAuthFailed)
        #expect(
            SecItemUpdate(Self.query as CFDictionary, ["u_AuthCtx": LAContext()] as CFDictionary) == errSecNoSuchAttr)
    }

    @Test func noPolicyCanBeEvaluated() throws {
        let policies: [(LAPolicy, LAError.Code)] = [
            (.deviceOwnerAuthenticationWithBiometrics, .biometryNotAvailable),
            // Row 7: what a passcode would do for lacks the passcode.
            (.deviceOwnerAuthentication, .passcodeNotSet),
        ]
        for (policy, code) in policies {
            let context = LAContext()
            var error: NSError?
            #expect(unsafe !context.canEvaluatePolicy(policy, error: &error))
            #expect((error as? LAError)?.code == code)
            #expect(context.biometryType == .none)
            #expect(context.evaluatedPolicyDomainState == nil)
        }
    }

    @Test func evaluationsEndAsTheQuestionDoes() async throws {
        let context = LAContext()
        do {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
            Issue.record("evaluated")
        } catch LAError.passcodeNotSet {
        }
        do {
            try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "test")
            Issue.record("evaluated")
        } catch LAError.biometryNotAvailable {
        }
        let made = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        let control = try #require(made)
        await #expect(throws: (any Error).self) {
            try await context.evaluateAccessControl(control, operation: .useItem, localizedReason: "test")
        }
    }

    @Test("EV-01: the reply runs once and not on the main thread")
    func replyIsNotOnTheMainThread() async {
        let context = LAContext()
        let isMain = await withCheckedContinuation { continuation in
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") { success, error in
                #expect(!success && error != nil)
                continuation.resume(returning: Thread.isMainThread)
            }
        }
        #expect(!isMain)
    }

    @Test("CE-19, DS-09: without a device there is no mechanism and no domain state")
    func nothingToAskFor() {
        let state = LAEnvironment.currentUser.state
        #expect(state.biometry == nil && state.userPassword == nil && state.allMechanisms.isEmpty)
        let domain = LAContext().domainState
        #expect(domain.stateHash == nil && domain.biometry.stateHash == nil && domain.companion.stateHash == nil)
        #expect(domain.biometry.biometryType == .none)
    }

    @Test("EV-64: without a device no right is granted, saved, found or removed")
    func noRights() async {
        func failure(_ body: () async throws -> Void) async -> NSError? {
            do {
                try await body()
                return nil
            } catch {
                return error as NSError
            }
        }
        let right = LARight()
        let refused = await failure { try await right.authorize(localizedReason: "test") }
        #expect((refused as? LAError)?.code == .passcodeNotSet)
        #expect(right.state == .notAuthorized)
        let checked = await failure { try await right.checkCanAuthorize() }
        #expect((checked as? LAError)?.code == .passcodeNotSet)
        let store = LARightStore.shared
        let failures = [
            await failure { try await store.saveRight(right, identifier: "a") },
            await failure { try await store.right(forIdentifier: "a") },
            await failure { try await store.removeRight(forIdentifier: "a") },
            await failure { try await store.removeAllRights() },
        ]
        for failure in failures {
            #expect(failure?.domain == NSOSStatusErrorDomain && failure?.code == Int(errSecNotAvailable))
        }
    }

    @Test("Without a device no entitlement is told, and the error says why; no code is valid")
    func nobodyToSayWhoThisIs() throws {
        let task = try #require(SecTaskCreateFromSelf(nil))
        var error: Unmanaged<CFError>?
        #expect(SecTaskCopyValueForEntitlement(task, "application-identifier" as CFString, &error) == nil)
        let failure = try #require(error?.takeRetainedValue())
        #expect(CFErrorGetCode(failure) == Int(errSecNotAvailable))
        #expect(CFErrorCopyDescription(failure) as String == "No device is running.")
        #expect(SecTaskCopyValuesForEntitlements(task, ["application-identifier"] as CFArray, nil) == nil)
        #expect(SecTaskCopySigningIdentifier(task, nil) == nil)
        var code: SecCode?
        #expect(SecCodeCopySelf([], &code) == errSecSuccess)
        #expect(SecCodeCheckValidity(try #require(code), [], nil) == errSecNotAvailable)
    }

    @Test("Shared web credentials are errSecUnimplemented, to the completion")
    func noSharedWebCredentials() async throws {
        let added: NSError? = await withCheckedContinuation { continuation in
            SecAddSharedWebCredential("example.org" as CFString, "me" as CFString, "secret" as CFString) {
                continuation.resume(returning: $0)
            }
        }
        #expect(added?.domain == NSOSStatusErrorDomain && added?.code == Int(errSecUnimplemented))
        #expect(added?.localizedDescription.contains("iCloud Keychain") == true)
        let requested: NSError? = await withCheckedContinuation { continuation in
            SecRequestSharedWebCredential(nil, nil) { credentials, error in
                continuation.resume(returning: credentials == nil ? error : nil)
            }
        }
        #expect(requested?.code == Int(errSecUnimplemented))
    }

    @Test("A password for a web site has Apple's form, and is another each time")
    func sharedWebCredentialPasswords() throws {
        var seen: Set<String> = []
        for _ in 0..<1000 {
            let password = try #require(SecCreateSharedWebCredentialPassword()) as String
            seen.insert(password)
            #expect(
                password.wholeMatch(of: /[a-hkmnp-yA-HJ-NP-Z3-9o]{3}(-[a-hkmnp-yA-HJ-NP-Z3-9o]{3}){3}/) != nil,
                "\(password)")
            #expect(password.contains { $0.isLowercase } && password.contains { $0.isUppercase })
            #expect(password.contains { $0.isNumber })
        }
        #expect(seen.count == 1000)
    }

    @Test("EV-42: the reuse duration is not clamped when it is set")
    func reuseDurationIsKept() {
        let context = LAContext()
        context.touchIDAuthenticationAllowableReuseDuration = 10_000
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 10_000)
        context.maxBiometryFailures = 2
        #expect(context.maxBiometryFailures == 2)
        #expect(context.localizedReason.isEmpty && context.localizedFallbackTitle == nil)
    }

    @Test("EV-50: an invalidated context fails with invalidContext, however often it is invalidated")
    func invalidatedContextStaysInvalid() {
        let context = LAContext()
        context.invalidate()
        context.invalidate()
        var error: NSError?
        #expect(unsafe !context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect((error as? LAError)?.code == .invalidContext)
    }

    @Test("EV-02: an empty reason is a programming error")
    func emptyReasonTraps() async {
        await #expect(processExitsWith: .failure) {
            LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "") { _, _ in }
        }
    }

    @Test func theProcessSaysOnceWhatHelps() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            _ = unsafe setenv("TOUCHSTONE_DEVICE", "never-existed", 1)
            _ = unsafe setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
            _ = unsafe setenv("XDG_STATE_HOME", "/nonexistent", 1)
            for _ in 0..<3 { SecItemDelete([kSecClass: kSecClassGenericPassword] as CFDictionary) }
            unsafe LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let ours = lines.filter { $0.hasPrefix("touchstone:") }
        #expect(
            ours == [
                """
                touchstone: this test has no device; make one with 'let device = try SimulatedDevice()' of \
                TouchstoneTesting, and call inside 'device.run { … }'; or there is no device 'never-existed': make it with \
                'touchstone device create never-existed && touchstone device boot --detach never-existed'
                """
            ])
    }

    @Test func mocksOverrideWhatTheyNeed() async throws {
        class Mock: LAContext {
            override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }
            override func evaluatePolicy(
                _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
            ) {
                reply(false, LAError(.userCancel))
            }
        }
        let context: LAContext = Mock()
        let isReady = unsafe context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
        #expect(isReady)
        do {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
            Issue.record("evaluated")
        } catch LAError.userCancel {
        }
    }
}

/// Names a device that never existed: another suite of this process may have one that would be used unnamed.
private struct WithoutDevice: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let nowhere = SocketEndpoint(path: "/nonexistent/touchstone/never-existed/touchstoned.sock")
        try await DeviceEndpoint.$scoped.withValue(nowhere, operation: function)
    }
}

extension Trait where Self == WithoutDevice {
    fileprivate static var withoutDevice: WithoutDevice { WithoutDevice() }
}
