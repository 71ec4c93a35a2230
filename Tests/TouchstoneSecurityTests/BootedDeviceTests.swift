import Foundation
import LocalAuthentication
import Security
import Testing

/// Against the device that the environment names, over its socket and with its enclave's own file: `Tests/Scripts/real-device` boots one
/// and runs these.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["TOUCHSTONE_TEST_DEVICE"] != nil))
struct BootedDeviceTests {
    private func context(_ password: String) -> LAContext {
        let context = LAContext()
        #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        return context
    }

    private func read(_ context: LAContext?) -> (status: OSStatus, data: Data?) {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "with a password", kSecReturnData: true,
        ]
        if let context { query[kSecUseAuthenticationContext] = context }
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result as? Data)
    }

    @Test("AC-48, DEC-005: a password sealed to the enclave's published key opens its item, and no other does")
    func applicationPassword() throws {
        let control = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
        let item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "with a password", kSecAttrAccessControl: control,
            kSecValueData: Data("secret".utf8), kSecUseAuthenticationContext: context("right"),
        ]
        #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
        #expect(read(context("right")) == (errSecSuccess, Data("secret".utf8)))
        #expect(read(context("wrong")) == (errSecAuthFailed, nil))
        #expect(read(nil) == (errSecAuthFailed, nil))
    }
}
