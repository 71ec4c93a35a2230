import Gate
import LocalAuthentication
import Security
import Testing

@testable import Vault

@Suite struct VaultTests {
    @Test func twoLibrariesAreUsedTogether() {
        #expect(status() == errSecItemNotFound)
        #expect(Vault(service: "a").query(guardedBy: nil)[kSecAttrService] as? String == "a")
        let context: LAContext = gate()
        #expect(context.localizedFallbackTitle == "Password")
    }
}
