import Foundation
import Security
import Testing
import TouchstoneTesting

/// The match keys of a search: which items they keep, and what is refused.
@Suite(.timeLimit(.minutes(10))) struct MatchTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice()
        try device.run { () throws in
            for der in [
                TestCertificates.root, TestCertificates.intermediate, TestCertificates.client,
                TestCertificates.renewed, TestCertificates.stranger,
            ] { #expect(addReference(try certificate(der)) == errSecSuccess) }
        }
    }

    /// The DER of a certificate's subject.
    private func subject(_ der: Data) throws -> Data {
        try #require(SecCertificateCopyNormalizedSubjectSequence(certificate(der)) as Data?)
    }

    // MARK: issuers

    @Test("Section 5: an issuer matches all that come from it, through those that lie in the keychain") func issuers()
        throws
    {
        try device.run {
            let all: Set = ["Test Root", "Test Intermediate", "Café Client", "Client Renewed"]
            let root = try subject(TestCertificates.root)
            #expect(labels(certificates([kSecMatchIssuers: [root]])) == all)
            let intermediate = try subject(TestCertificates.intermediate)
            #expect(labels(certificates([kSecMatchIssuers: [intermediate]])) == ["Café Client"])
            #expect(labels(certificates([kSecMatchIssuers: [Data([9]), intermediate]])) == ["Café Client"])
            // As kSecAttrIssuer has it.
            let issuer = try #require(
                try attributes(certificates([kSecAttrSerialNumber: Data([3])]))["issr"] as? Data)
            #expect(labels(certificates([kSecMatchIssuers: [issuer]])) == ["Café Client"])
            // Of one only as far as it is limited to one.
            #expect(find(certificates([kSecMatchIssuers: [intermediate]]).attributes).status == errSecSuccess)
            #expect(find(certificates([kSecMatchIssuers: [Data([9])]])).status == errSecItemNotFound)
            #expect(find(certificates([kSecMatchIssuers: []])).status == errSecItemNotFound)
            // Without what is between, nothing leads to the root.
            #expect(delete([kSecValueRef: try certificate(TestCertificates.intermediate)]) == errSecSuccess)
            #expect(labels(certificates([kSecMatchIssuers: [root]])) == ["Test Root", "Client Renewed"])
        }
    }

    @Test("Section 5: certificates that issue each other end the search for an issuer") func issuerCycle() {
        device.run {
            for (subject, issuer) in [("a", "b"), ("b", "c"), ("c", "a")] {
                add(certificates([kSecAttrSubject: subject, kSecAttrIssuer: issuer, kSecAttrLabel: subject]))
            }
            #expect(labels(certificates([kSecMatchIssuers: [Data("c".utf8)]])) == ["a", "b", "c"])
            #expect(find(certificates([kSecMatchIssuers: [Data("d".utf8)]])).status == errSecItemNotFound)
        }
    }

    @Test("Section 5: an identity is matched by its certificate") func identitiesMatch() throws {
        try device.run {
            #expect(addReference(try privateKey(TestCertificates.clientKey)) == errSecSuccess)
            let root = try subject(TestCertificates.root)
            #expect(labels(identities([kSecMatchIssuers: [root]])) == ["Café Client", "Client Renewed"])
            #expect(labels(identities([kSecMatchValidOnDate: NSNull()])) == ["Café Client"])
            #expect(labels(identities([kSecMatchSubjectContains: "Renewed"])) == ["Client Renewed"])
            let byMail = identities([kSecMatchEmailAddressIfPresent: "bob@example.org"])
            #expect(labels(byMail) == ["Client Renewed"])
        }
    }

    @Test("Section 5: issuers are a list of names, and of certificates and identities only") func strangeIssuers() {
        device.run {
            for wrong in ["x", Data(), ["x"], [1], true] as [Any] {
                #expect(find(certificates([kSecMatchIssuers: wrong])).status == errSecParam, "\(wrong)")
            }
            for query in [generic(), internet(), keys()] {
                #expect(find(query.with(kSecMatchIssuers, [Data()])).status == errSecUnimplemented)
            }
        }
    }

    // MARK: subject, address, date, trust

    @Test("Match keys: the subject's summary contains, begins with, ends with or is a text") func subjects() {
        device.run {
            for (key, text, expected) in [
                (kSecMatchSubjectContains, "Client", ["Café Client", "Client Renewed"]),
                (kSecMatchSubjectStartsWith, "Client", ["Client Renewed"]),
                (kSecMatchSubjectEndsWith, "Client", ["Café Client"]),
                (kSecMatchSubjectWholeString, "Café Client", ["Café Client"]),
                (kSecMatchSubjectWholeString, "Client", []), (kSecMatchSubjectContains, "client", []),
                (kSecMatchSubjectContains, "Cafe", []),
            ] as [(CFString, String, Set<String>)] {
                #expect(labels(certificates([key: text])) == expected, "\(key) \(text)")
            }
            let query = certificates([kSecMatchSubjectContains: "CAFÉ"])
            #expect(labels(query).isEmpty)
            #expect(labels(query.with(kSecMatchCaseInsensitive, true)) == ["Café Client"])
            #expect(labels(query.with(kSecMatchCaseInsensitive, false)).isEmpty)
            let plain = certificates([kSecMatchSubjectStartsWith: "Cafe"])
            #expect(labels(plain.with(kSecMatchDiacriticInsensitive, true)) == ["Café Client"])
            #expect(labels(plain.with(kSecMatchCaseInsensitive, true)).isEmpty)
            let wide = certificates([kSecMatchSubjectWholeString: "Ｓｔｒａｎｇｅｒ"])
            #expect(labels(wide).isEmpty)
            #expect(labels(wide.with(kSecMatchWidthInsensitive, true)) == ["Stranger"])
        }
    }

    @Test("Match keys: an address keeps certificates that have it, and those that have none") func addresses() {
        device.run {
            let all: Set = ["Test Root", "Test Intermediate", "Café Client", "Client Renewed", "Stranger"]
            let match = kSecMatchEmailAddressIfPresent
            #expect(labels(certificates([match: "ADA@example.org"])) == all)
            #expect(labels(certificates([match: "bob@example.org"])) == all.subtracting(["Café Client"]))
        }
    }

    @Test("Match keys: a date keeps what is valid then, and none means now") func dates() throws {
        let day = { (year: Int) in
            try #require(DateComponents(calendar: .init(identifier: .gregorian), year: year, month: 6, day: 1).date)
        }
        try device.run {
            let rest: Set = ["Test Root", "Test Intermediate", "Stranger"]
            let valid = { (date: Any) in labels(certificates([kSecMatchValidOnDate: date])) }
            #expect(valid(try day(2010)) == rest.union(["Client Renewed"]))
            #expect(valid(try day(2015)) == rest)
            #expect(valid(try day(2025)) == rest.union(["Café Client"]))
            #expect(valid(NSNull()) == rest.union(["Café Client"]))
            #expect(valid(try day(1999)).isEmpty)
            let one = certificates([kSecMatchValidOnDate: try day(2010), kSecAttrSerialNumber: Data([3])])
            #expect(find(one).status == errSecItemNotFound)
            // The key's own dates; none is one that does not end.
            add(keys([kSecAttrLabel: "open"]))
            let start = "sdat" as CFString
            let end = "edat" as CFString
            add(keys([kSecAttrLabel: "past", end: try day(2011)]))
            add(keys([kSecAttrLabel: "future", start: try day(2080)]))
            #expect(labels(keys([kSecMatchValidOnDate: try day(2025)])) == ["open"])
            #expect(labels(keys([kSecMatchValidOnDate: try day(2010)])) == ["open", "past"])
        }
    }

    @Test("TR-10: a search for what is trusted finds what the machine trusts, with certificates of the keychain")
    func trusted() throws {
        try device.run {
            #expect(find(certificates([kSecMatchTrustedOnly: true])).status == errSecItemNotFound)
            #expect(find(identities([kSecMatchTrustedOnly: true])).status == errSecItemNotFound)
            #expect(find(certificates([kSecMatchTrustedOnly: false])).status == errSecSuccess)
            let bundle = try String(contentsOfFile: "/etc/ssl/certs/ca-certificates.crt", encoding: .utf8)
            let roots = bundle.components(separatedBy: "-----END CERTIFICATE-----").compactMap { text in
                text.components(separatedBy: "-----BEGIN CERTIFICATE-----").last.flatMap {
                    Data(base64Encoded: $0, options: .ignoreUnknownCharacters)
                }
            }
            let root = try #require(
                roots.first { der in
                    (try? certificate(der)).flatMap { SecCertificateCopyNotValidAfterDate($0) as Date? } ?? .distantPast
                        > Date()
                })
            #expect(addReference(try certificate(root)) == errSecSuccess)
            let name = try #require(SecCertificateCopySubjectSummary(certificate(root)) as String?)
            #expect(labels(certificates([kSecMatchTrustedOnly: true])) == [name])
            #expect(
                labels(certificates([kSecMatchTrustedOnly: true, kSecMatchPolicy: SecPolicyCreateBasicX509()])) == [
                    name
                ])
            // One alone is counted after it was judged.
            var found: CFTypeRef?
            let one = certificates([kSecMatchTrustedOnly: true, kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitOne])
            #expect(SecItemCopyMatching(one as CFDictionary, &found) == errSecSuccess)
            #expect(found as? SecCertificate == (try certificate(root)))
        }
    }

    @Test("TR-10: a policy keeps what meets it, whoever trusts it, and is a SecPolicy") func policies() {
        device.run {
            let all = labels(certificates([:]))
            let basic = labels(certificates([kSecMatchPolicy: SecPolicyCreateBasicX509()]))
            #expect(basic.isSubset(of: all) && basic.contains("Test Root"))
            // Nothing in the keychain is for this host.
            let host = SecPolicyCreateSSL(true, "www.example.org" as CFString)
            #expect(find(certificates([kSecMatchPolicy: host])).status == errSecItemNotFound)
            #expect(find(certificates([kSecMatchPolicy: "x"])).status == errSecParam)
            #expect(find(identities([kSecMatchPolicy: "x"])).status == errSecParam)
            for key in [kSecMatchPolicy, kSecMatchTrustedOnly] {
                let value: Any = key == kSecMatchPolicy ? host : true
                #expect(update(certificates([key: value]), [kSecAttrLabel: "x"]) == errSecParam)
                #expect(delete(certificates([key: value])) == errSecParam)
            }
        }
    }

    @Test("Match keys: what was asked is counted after it was matched, not before") func limits() {
        device.run {
            let query = certificates([kSecMatchSubjectContains: "Stranger"])
            #expect(find(query.with(kSecMatchLimit, kSecMatchLimitOne)).status == errSecSuccess)
            #expect(labels(query.with(kSecMatchLimit, 3)) == ["Stranger"])
        }
    }

    @Test("Match keys: a protected certificate is judged once the owner has opened it") func protected() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let protection = try control(.userPresence)
            addReference(try certificate(TestCertificates.stranger), [kSecAttrAccessControl: protection])
            let query = certificates([kSecMatchSubjectContains: "Client"])
            #expect(find(query.silent).status == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(find(query).status == errSecItemNotFound)
        }
    }

    // MARK: hosts

    @Test("Match keys: a host keeps its servers and those of its subdomains") func hosts() {
        device.run {
            for server in ["example.org", "WWW.example.org", "a.b.example.org", "badexample.org", "org"] {
                add(internet([kSecAttrServer: server, kSecAttrAccount: server]))
            }
            let query = internet([kSecMatchHostOrSubdomainOfHost: "Example.ORG"])
            #expect(accounts(query) == ["example.org", "WWW.example.org", "a.b.example.org"])
            #expect(accounts(internet([kSecMatchHostOrSubdomainOfHost: "b.example.org"])) == ["a.b.example.org"])
            #expect(find(internet([kSecMatchHostOrSubdomainOfHost: "net"])).status == errSecItemNotFound)
            #expect(find(internet([kSecMatchHostOrSubdomainOfHost: "b.example.org"])).status == errSecSuccess)
            for query in [generic(), certificates(), keys(), identities()] {
                #expect(
                    find(query.with(kSecMatchHostOrSubdomainOfHost, "example.org")).status == errSecUnimplemented)
            }
        }
    }

    @Test("Match keys: a server kept as data is matched by its bytes, as text is") func hostAsData() {
        device.run {
            for server in ["www.example.org", "badexample.org"] {
                #expect(add(internet([kSecAttrServer: Data(server.utf8), kSecAttrAccount: server])) == errSecSuccess)
            }
            #expect(accounts(internet([kSecMatchHostOrSubdomainOfHost: "example.org"])) == ["www.example.org"])
        }
    }

    // MARK: what is refused, and what is accepted without effect

    @Test("Section 4: a match key of the wrong type is refused") func wrongTypes() {
        device.run {
            for (key, value) in [
                kSecMatchValidOnDate: "now", kSecMatchValidOnDate: true, kSecMatchTrustedOnly: "yes",
                kSecMatchEmailAddressIfPresent: Data(), kSecMatchSubjectContains: 1,
                kSecMatchSubjectStartsWith: Data(), kSecMatchSubjectEndsWith: true,
                kSecMatchSubjectWholeString: Date(),
            ] as KeyValuePairs<CFString, Any> {
                #expect(find(certificates([key: value])).status == errSecParam, "\(key)")
            }
            #expect(find(internet([kSecMatchHostOrSubdomainOfHost: 1])).status == errSecParam)
        }
    }

    @Test("Section 4: lists of items and of keychains are accepted in a search, and refused by all that changes")
    func lists() throws {
        try device.run {
            let reference = try certificate(TestCertificates.client)
            for key in [kSecMatchItemList, kSecMatchSearchList] {
                let query = certificates([key: [reference]])
                #expect(labels(query).count == 5)
                #expect(update(query, [kSecAttrLabel: "x"]) == errSecParam)
                #expect(delete(query) == errSecParam)
                #expect(add(query.value("x")) == errSecParam)
                #expect(update(certificates(), [key: [reference]]) == errSecNoSuchAttr)
            }
            #expect(find(certificates([kSecUseItemList: [reference]])).status == errSecParam)
            #expect(labels(certificates()).count == 5)
        }
    }
}
