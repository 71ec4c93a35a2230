import OnlyFoundation
import Security
import Testing
import Unrelated

@testable import Upper

@Suite struct UpperTests {
    @Test func whatSeveralLibrariesMadeIsOneType() {
        let control = guarded("a")[kSecAttrAccessControl]
        #expect(CFGetTypeID(control as CFTypeRef?) == SecAccessControlGetTypeID())
        #expect(digest("").count == 32)
    }

    @Test func sourcesThatImportOnlyFoundationFindSecurity() {
        #expect(exists("nobody") == errSecNotAvailable, "run where no device is")
    }

    @Test func targetsWithoutTheFlagFindNone() {
        #expect(!findsApplesModules)
    }
}
