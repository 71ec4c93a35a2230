import Foundation
import Security
import Testing

@Suite struct SecPolicyTests {
    private func properties(_ policy: SecPolicy?) throws -> NSDictionary {
        let policy = try #require(policy)
        return try #require(SecPolicyCopyProperties(policy))
    }

    @Test("TR-4: a policy says what it was made of") func saysItself() throws {
        #expect(try properties(SecPolicyCreateBasicX509()) == [kSecPolicyOid: kSecPolicyAppleX509Basic])
        let host = "www.example.org" as CFString
        #expect(
            try properties(SecPolicyCreateSSL(true, host)) == [kSecPolicyOid: kSecPolicyAppleSSL, kSecPolicyName: host])
        #expect(
            try properties(SecPolicyCreateSSL(false, nil)) == [
                kSecPolicyOid: kSecPolicyAppleSSL, kSecPolicyClient: true,
            ])
        #expect(
            try properties(SecPolicyCreateRevocation(kSecRevocationOCSPMethod)) == [
                kSecPolicyOid: kSecPolicyAppleRevocation, kSecPolicyRevocationFlags: 1,
            ])
        #expect(SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse) == nil)
    }

    @Test("TR-4: properties make the policy that has them") func fromProperties() throws {
        for policy in [
            SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, "a.example"), SecPolicyCreateSSL(false, nil),
            try #require(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod)),
        ] {
            let said = try properties(policy)
            let again = try #require(SecPolicyCreateWithProperties(said[kSecPolicyOid] as CFTypeRef, said))
            #expect(again == policy && again.hash == policy.hash && CFEqual(again, policy))
        }
        let mail = SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, [kSecPolicyName: "a@example.org"])
        #expect(try properties(mail)[kSecPolicyName] as? String == "a@example.org")
        let names = ["a.example", "b.example"]
        let network = SecPolicyCreateWithProperties(kSecPolicyAppleEAP, [kSecPolicyName: names])
        #expect(try properties(network)[kSecPolicyName] as? [String] == names)
        for identifier in [kSecPolicyAppleIPsec, kSecPolicyAppleCodeSigning, kSecPolicyAppleTimeStamping] {
            #expect(try properties(SecPolicyCreateWithProperties(identifier, nil)) == [kSecPolicyOid: identifier])
        }
    }

    @Test("TR-4: what is no policy, needs Apple's anchors or has a wrong property is refused") func refused() {
        for identifier in [
            kSecPolicyAppleIDValidation, kSecPolicyMacAppStoreReceipt, kSecPolicyApplePassbookSigning,
            kSecPolicyApplePayIssuerEncryption, "1.2.3" as CFString,
        ] { #expect(SecPolicyCreateWithProperties(identifier, nil) == nil) }
        #expect(SecPolicyCreateWithProperties(NSNumber(value: 3), nil) == nil)
        for wrong in [
            [kSecPolicyName: 1], [kSecPolicyName: [1]], [kSecPolicyClient: "yes"], [kSecPolicyRevocationFlags: "1"],
        ] as [NSDictionary] { #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, wrong) == nil) }
    }

    @Test("Policies are of one type, and differ by what they demand") func types() {
        #expect(CFGetTypeID(SecPolicyCreateBasicX509()) == SecPolicyGetTypeID())
        #expect(SecPolicyGetTypeID() != SecTrustGetTypeID())
        #expect(SecPolicyCreateSSL(true, "a") != SecPolicyCreateSSL(true, "b"))
        #expect(SecPolicyCreateSSL(true, nil) != SecPolicyCreateSSL(false, nil))
        #expect(
            SecPolicyCreateSSL(true, "a\u{1b}[2J").description == "<SecPolicy: 1.2.840.113635.100.1.3; \"a\\u{1B}[2J\">"
        )
    }
}
