import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct BesideSecurityTests {
    @Test("KC-33: queries of CFDictionaryAddValue, results read by CFArrayGetValueAtIndex and CFDictionaryGetValue")
    func coreFoundationQueries() throws {
        try SimulatedDevice().run {
            let keychain = CoreKeychain(service: "app")
            #expect(keychain.save([1, 2, 3], "me") == errSecSuccess)
            #expect(keychain.save([1, 2, 3], "me") == errSecDuplicateItem)
            #expect(keychain.save([4], "grün") == errSecSuccess)
            #expect(keychain.load("me") == [1, 2, 3])
            #expect(keychain.load("you") == nil)
            #expect(keychain.accounts().sorted() == ["grün", "me"])
        }
    }

    @Test("KC-40: an app finds its groups; one that is known by nothing is not genuine")
    func itself() throws {
        try SimulatedDevice().run(as: "org.example.app", keychainAccessGroups: ["T.shared"]) {
            #expect(Itself.groups() == ["T.shared"])
            #expect(!Itself.isGenuine("identifier \"org.example.app\""))
            #expect(!Itself.isGenuine("anchor apple"))
        }
        #expect(!Itself.service.isEmpty)
    }

    @Test("Shared web credentials: neither saved nor found, and a password")
    func webPasswords() async throws {
        #expect(WebPasswords.isAvailable)
        let saved = await withCheckedContinuation { continuation in
            WebPasswords.save("secret", "me") { continuation.resume(returning: ($0 as NSError?)?.code) }
        }
        #expect(saved == Int(errSecUnimplemented))
        let found = await withCheckedContinuation { continuation in
            WebPasswords.all { continuation.resume(returning: ($0, ($1 as NSError?)?.code)) }
        }
        #expect(found.0.isEmpty && found.1 == Int(errSecUnimplemented))
        #expect(WebPasswords.generate().split(separator: "-").map(\.count) == [3, 3, 3, 3])
    }

    @Test func valuesAndErrors() throws {
        #expect(size(of: [kSecAttrKeySizeInBits: 256]) == 256)
        #expect(creator(0x6775_6573) == 0x6775_6573 as NSNumber)
        #expect(isSame("A", "a") && !isSame("A", "b"))
        #expect(UUID(uuidString: newIdentifier()) != nil)
        #expect(age(of: [kSecAttrCreationDate as String: Date(timeIntervalSinceNow: -60)]) >= 60)
        let info = [NSLocalizedDescriptionKey: "no"] as CFDictionary
        let error = try #require(CFErrorCreate(nil, kCFErrorDomainOSStatus, -50, info))
        #expect(explained(error) == "no")
    }
}
