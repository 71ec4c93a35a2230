import Foundation
import Security
import Testing

@Suite struct SecAccessControlTests {
    private func create(_ flags: SecAccessControlCreateFlags) -> SecAccessControl? {
        SecAccessControlCreateWithFlags(
            kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil)
    }

    @Test("AC-01: a protection that is no accessible constant is refused with errSecParam")
    func unknownProtectionIsRefused() throws {
        var error: Unmanaged<CFError>?
        let control = unsafe SecAccessControlCreateWithFlags(nil, "never" as CFString, [], &error)
        #expect(control == nil)
        let taken = unsafe try #require(error?.takeRetainedValue())
        #expect(taken.domain == NSOSStatusErrorDomain)
        #expect(taken.code == Int(errSecParam))
        #expect(throws: (any Error).self) { throw taken }
        let other = SecAccessControlCreateWithFlags(nil, NSNumber(value: 1), [], nil)
        #expect(other == nil)
    }

    @Test("AC-01: every accessible constant is accepted")
    func everyAccessibleConstantIsAccepted() {
        for protection in [
            kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleAfterFirstUnlock, kSecAttrAccessibleAlways,
            kSecAttrAccessibleWhenUnlockedThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            kSecAttrAccessibleAlwaysThisDeviceOnly, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
        ] {
            let control = SecAccessControlCreateWithFlags(nil, protection, .userPresence, nil)
            #expect(control != nil)
        }
    }

    @Test("AC-02: contradicting flags are refused")
    func contradictingFlagsAreRefused() {
        #expect(create([.biometryAny, .or, .and]) == nil)
        #expect(create([.biometryAny, .biometryCurrentSet]) == nil)
        #expect(create([.userPresence, .devicePasscode]) == nil)
        #expect(create([.userPresence, .or]) == nil)
    }

    @Test("AC-02: userPresence goes with applicationPassword and privateKeyUsage")
    func presenceWithPasswordAndKeyUsageIsAccepted() {
        #expect(create([.userPresence, .applicationPassword, .privateKeyUsage]) != nil)
        #expect(create([.biometryCurrentSet, .or, .devicePasscode]) != nil)
        #expect(create([]) != nil)
    }

    @Test("AC-01, AC-02, AC-03: the combinations of flags that Apple's tests and source accept and refuse")
    func combinationsOfApple() throws {
        struct Combination: Decodable {
            let flags: [String]
            let isAccepted: Bool
            let from: String
        }
        struct Combinations: Decodable { let combinations: [Combination] }
        let names: [String: SecAccessControlCreateFlags] = [
            "userPresence": .userPresence, "biometryAny": .biometryAny, "biometryCurrentSet": .biometryCurrentSet,
            "devicePasscode": .devicePasscode, "companion": .companion, "or": .or, "and": .and,
            "privateKeyUsage": .privateKeyUsage, "applicationPassword": .applicationPassword,
        ]
        let url = try #require(
            Bundle.module.url(forResource: "access_control_flags", withExtension: "json", subdirectory: "Fixtures"))
        let combinations = try JSONDecoder().decode(Combinations.self, from: Data(contentsOf: url)).combinations
        #expect(combinations.count == 25 && combinations.filter { $0.from == "test" }.count == 12)
        for combination in combinations {
            let flags = try combination.flags.reduce(into: SecAccessControlCreateFlags()) {
                $0.insert(try #require(names[$1], "\($1)"))
            }
            var error: Unmanaged<CFError>?
            let control = unsafe SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, flags, &error)
            #expect((control != nil) == combination.isAccepted, "\(combination.flags)")
            let code = unsafe error.map { unsafe $0.takeRetainedValue().code }
            #expect(code == (combination.isAccepted ? nil : Int(errSecParam)), "\(combination.flags)")
        }
    }

    @Test("AC-06: the Touch ID names have the same bits")
    func oldNamesAreTheSame() {
        #expect(SecAccessControlCreateFlags.touchIDAny == .biometryAny)
        #expect(SecAccessControlCreateFlags.touchIDCurrentSet == .biometryCurrentSet)
        #expect(SecAccessControlCreateFlags.biometryCurrentSet.rawValue == 8)
        #expect(SecAccessControlCreateFlags.applicationPassword.rawValue == 0x8000_0000)
    }

    @Test func equalControlsAreEqualAndCastable() throws {
        let control = try #require(create(.userPresence))
        #expect(control == create(.userPresence))
        #expect(control != create(.devicePasscode))
        #expect(Set([control, try #require(create(.userPresence))]).count == 1)
        let reference: CFTypeRef = control
        #expect(CFGetTypeID(reference) == SecAccessControlGetTypeID())
        #expect(reference as! SecAccessControl == control)
        let query: [String: Any] = [kSecAttrAccessControl as String: control]
        #expect((query as CFDictionary)["accc"] as? SecAccessControl == control)
    }
}
