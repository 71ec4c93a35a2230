import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneCoreFoundation
import TouchstoneInterfaces
import TouchstoneLocalAuthentication
import TouchstoneSecurity
import TouchstoneSystem
import TouchstoneTransport

@Suite struct SecItemTests {
    private let device = ScriptedDevice()
    private let base: [String: Any] = [kSecClass as String: kSecClassGenericPassword]

    private func copy(_ query: [String: Any]) -> (OSStatus, AnyObject?) {
        DeviceEndpoint.$scoped.withValue(device.endpoint) {
            var result: AnyObject?
            let merged = base.merging(query) { $1 }
            let status = unsafe SecItemCopyMatching(merged as CFDictionary, &result)
            return (status, result)
        }
    }

    private func add(_ attributes: [String: Any]) -> (OSStatus, AnyObject?) {
        DeviceEndpoint.$scoped.withValue(device.endpoint) {
            var result: AnyObject?
            let merged = base.merging(attributes) { $1 }
            let status = unsafe SecItemAdd(merged as CFDictionary, &result)
            return (status, result)
        }
    }

    // MARK: - What goes in

    @Test func valuesKeepTheirTypes() throws {
        let made = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        let control = try #require(made)
        _ = add([
            "acct": "text", "gena": Data([1]), "type": 7, "crtr": Int8(1), "port": UInt64(9), "invi": true,
            "nega": kCFBooleanFalse as Any, "bsiz": 1.5, "sdat": Date(timeIntervalSinceReferenceDate: 3),
            "accc": control,
            "unknown": "word",
        ])
        let expected: KeychainInterface.Dictionary = [
            .class: .string("genp"), .account: .string("text"), .generic: .data(Data([1])), .type: .number(7),
            .creator: .number(1), .port: .number(9), .isInvisible: .boolean(true), .isNegative: .boolean(false),
            .keySizeInBits: .real(1.5), .startDate: .date(3), AttributeKey(rawValue: "unknown"): .string("word"),
            .accessControl: .accessControl(try AccessControl(protection: .whenUnlocked, flags: .userPresence)),
        ]
        #expect(device.state.withLock { $0.lastAttributes } == expected)
    }

    @Test func valuesOfOtherTypesAreRefusedHere() {
        #expect(add(["x": UInt64.max]).0 == errSecParam)
        #expect(add(["x": NSNull()]).0 == errSecParam)
        #expect(device.state.withLock { $0.calls } == 0)
    }

    @Test func failureOfTheDeviceIsTheStatus() {
        DeviceEndpoint.$scoped.withValue(device.endpoint) {
            #expect(SecItemDelete(base as CFDictionary) == errSecItemNotFound)
        }
    }

    // MARK: - What comes out (section 5 of the primary-key table)

    private let item = KeychainInterface.Item(
        attributes: [
            .account: .string("me"), .synchronizable: .number(0), .creationDate: .date(5), .generic: .data(Data([9])),
            .accessControl: .accessControl(ScriptedDevice.State.userPresence), .valueData: .data(Data([0])),
        ], data: Data([1, 2]), persistentReference: Data([3]))

    @Test func dataAloneIsData() {
        device.set { $0.items = [item] }
        let (status, result) = copy(["r_Data": true])
        #expect(status == errSecSuccess)
        #expect(result as? Data == Data([1, 2]))
        #expect(copy(["r_Data": true, "m_Limit": kSecMatchLimitOne]).1 as? Data == Data([1, 2]))
        #expect(copy(["r_Data": true, "m_Limit": 1]).1 as? Data == Data([1, 2]))
    }

    @Test func itemWithoutDataIsNil() {
        device.set { $0.items = [KeychainInterface.Item()] }
        let (status, result) = copy(["r_Data": true])
        #expect(status == errSecSuccess)
        #expect(result == nil)
    }

    @Test func anyOtherLimitGivesAnArrayEvenOfOne() {
        device.set { $0.items = [item] }
        #expect(copy(["r_Data": true, "m_Limit": kSecMatchLimitAll]).1 as? [Data] == [Data([1, 2])])
        #expect(copy(["r_PersistentRef": true, "m_Limit": 2]).1 as? [Data] == [Data([3])])
        #expect((copy(["m_Limit": kSecMatchLimitAll]).1 as? NSArray)?.count == 0)
    }

    @Test func attributesAreADictionaryWithoutData() throws {
        device.set { $0.items = [item] }
        let result = try #require(copy(["r_Attributes": true]).1 as? [String: Any])
        #expect(Set(result.keys) == ["acct", "sync", "cdat", "gena", "accc"])
        #expect(result["acct"] as? String == "me")
        #expect(result["sync"] as? Int == 0)
        #expect(result["cdat"] as? Date == Date(timeIntervalSinceReferenceDate: 5))
        #expect(result["gena"] as? Data == Data([9]))
        #expect(result["accc"] is SecAccessControl)
    }

    @Test func severalReturnKeysGiveADictionaryOfEach() throws {
        device.set { $0.items = [item] }
        let both = try #require(copy(["r_Data": true, "r_PersistentRef": true]).1 as? [String: Data])
        #expect(both == ["v_Data": Data([1, 2]), "v_PersistentRef": Data([3])])
        let all = try #require(copy(["r_Data": true, "r_Attributes": true]).1 as? [String: Any])
        #expect(all["v_Data"] as? Data == Data([1, 2]))
        #expect(all["acct"] as? String == "me")
        #expect(all["v_PersistentRef"] == nil && all["class"] == nil)
        let reference = try #require(copy(["r_Data": true, "r_Ref": true]).1 as? [String: Any])
        #expect(reference["class"] as? String == "genp")
    }

    @Test func passwordHasNoReference() {
        device.set { $0.items = [item] }
        let (status, result) = copy(["r_Ref": true])
        #expect(status == errSecSuccess)
        #expect(result == nil)
    }

    @Test func nothingAskedForLeavesTheResultAlone() {
        DeviceEndpoint.$scoped.withValue(device.endpoint) {
            var result: AnyObject? = "before" as NSString
            #expect(unsafe SecItemCopyMatching(base as CFDictionary, &result) == errSecSuccess)
            #expect(unsafe SecItemAdd(base as CFDictionary, &result) == errSecSuccess)
            #expect(result as? String == "before")
        }
    }

    @Test func addedItemWithoutDataReturnsEmptyData() {
        #expect(add(["r_Data": true]).1 as? Data == Data())
    }

    // MARK: - Authentication

    @Test("AC-40, AC-25: a caller without a context is asked every time, in one call, and makes no context")
    func oneCall() {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        device.set { $0.items = [item] }
        #expect(copy(["r_Data": true]).1 as? Data == Data([1, 2]))
        #expect(copy(["r_Data": true]).0 == errSecSuccess)
        #expect(device.state.withLock { $0.options.count } == 2)
        #expect(device.state.withLock { $0.calls == 2 && $0.created == 0 })
    }

    @Test("EV-32, AC-42: an authenticated context is not asked again, even where the prompt is forbidden")
    func authenticatedContextIsReused() async throws {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        let context = DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
        try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "first")
        #expect(copy(["u_AuthCtx": context]).0 == errSecSuccess)
        #expect(copy(["u_AuthCtx": context, "u_AuthUI": kSecUseAuthenticationUIFail]).0 == errSecSuccess)
        #expect(device.state.withLock { $0.options.map(\.reason) } == ["first"])
        #expect(device.state.withLock { $0.created } == 1)
        #expect(device.state.withLock { $0.lastAttributes[.useAuthenticationContext] } == nil)
    }

    @Test("AC-41: Fail and NoAuthenticationUI end with errSecInteractionNotAllowed")
    func forbiddenPrompt() {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        #expect(copy(["u_AuthUI": kSecUseAuthenticationUIFail]).0 == errSecInteractionNotAllowed)
        #expect(copy(["u_NoAuthUI": true]).0 == errSecInteractionNotAllowed)
        // The device says no, so that its log has it, and asks nobody.
        #expect(device.state.withLock { $0.options.map(\.interactionNotAllowed) } == [true, true])
        let context = DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
        context.interactionNotAllowed = true
        #expect(copy(["u_AuthCtx": context]).0 == errSecInteractionNotAllowed)
    }

    @Test("AC-27: the prompt says what the context says, else the query, else something sensible")
    func promptText() {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        let context = DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
        context.localizedReason = "the context's"
        context.localizedFallbackTitle = ""
        _ = copy(["u_OpPrompt": "the query's", "u_AuthCtx": context])
        _ = copy(["u_OpPrompt": "the query's"])
        _ = copy([:])
        #expect(
            device.state.withLock { $0.options.map(\.reason) }
                == ["the context's", "the query's", "access an item in your keychain"])
        #expect(device.state.withLock { $0.options.map(\.fallbackTitle) } == ["", nil, nil])
    }

    @Test("AC-44: a cancel is errSecUserCanceled, a forbidden prompt its own status, all else errSecAuthFailed")
    func failuresBecomeStatuses() {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        let expected: [(AuthenticationFailure, OSStatus)] = [
            (.userCancel, errSecUserCanceled), (.notInteractive, errSecInteractionNotAllowed),
            (.userFallback, errSecAuthFailed), (.systemCancel, errSecAuthFailed), (.biometryLockout, errSecAuthFailed),
            (.appCancel, errSecAuthFailed), (.passcodeNotSet, errSecAuthFailed),
        ]
        for (failure, status) in expected {
            device.set { $0.evaluation = .failure(failure) }
            #expect(copy([:]).0 == status)
        }
    }

    @Test("EV-33: a context that the device has forgotten is made anew, and the call with it, once")
    func forgottenContext() throws {
        device.set { $0.wanted = ScriptedDevice.State.userPresence }
        let context = DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
        #expect(copy(["u_AuthCtx": context]).0 == errSecSuccess)
        device.set { state in
            state.contexts = []
            state.authenticated = []
        }
        #expect(copy(["u_AuthCtx": context]).0 == errSecSuccess)
        #expect(device.state.withLock { $0.created == 2 && $0.calls == 3 })
        device.set { state in
            state.authenticated = []
            state.evaluation = .failure(.invalidContext)
        }
        #expect(copy(["u_AuthCtx": context]).0 == errSecAuthFailed)
        #expect(device.state.withLock { $0.created == 3 && $0.calls == 5 })
    }

    @Test("AC-47: a context invalidated before the call is errSecAuthFailed")
    func invalidatedContext() {
        let context = DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
        context.invalidate()
        #expect(copy(["u_AuthCtx": context]).0 == errSecAuthFailed)
    }
}

/// Waits for what happens on another thread without a sign of it.
func eventually(_ condition: () -> Bool) async {
    let end = ContinuousClock.now + .seconds(300)
    while !condition(), ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(5)) }
    #expect(condition())
}
