import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Holds the page that says what every constant does against what it does.
@Suite(.timeLimit(.minutes(10))) struct ConstantTableTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The rows of the tables of one section, each as its cells.
    private static func rows(_ section: String) throws -> [[String]] {
        let page = root.appendingPathComponent(
            "Sources/TouchstoneSecurity/Documentation.docc/KeychainConstants.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let part = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix(section) })
        return part.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.dropFirst().dropLast().components(separatedBy: "|").map {
                $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
            }
        }
    }

    @Test("Every public constant is in the page once") func complete() throws {
        let file = Self.root.appendingPathComponent("Tests/SourceCompatibilityTests/Fixtures/sec_constants.csv")
        let names = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().map {
            String($0.prefix { $0 != "," })
        }
        #expect(names.count > 150)
        var told = try (Self.rows("Attributes") + Self.rows("What to do")).map { $0[0] }
        for section in ["Values", "Elsewhere"] {
            told += try Self.rows(section).flatMap { $0[0].components(separatedBy: ", ") }
        }
        #expect(told.sorted() == names.sorted())
    }

    @Test("Only the classes that the page names have an attribute") func attributesOfClasses() throws {
        let classes = [
            kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey, kSecClassIdentity,
        ]
        let device = try SimulatedDevice()
        try device.run {
            let mine = SimulatedDevice.applicationIdentifier
            let values: [Any] = [
                mine, "ak", 1, Data([1]), Date(), try control([]),
            ]
            let rows = try Self.rows("Attributes")
            #expect(rows.count > 40)
            for row in rows {
                for (itemClass, cell) in zip(classes, row[2...]) {
                    // One of the values is of its type; no item is there, so that what is understood finds nothing.
                    let statuses = values.map { find([kSecClass: itemClass, row[1] as CFString: $0]).status }
                    #expect(statuses.contains(errSecItemNotFound) == !cell.isEmpty, "\(row[0]) of \(itemClass)")
                }
            }
        }
    }

    @Test("A primary key is what the page says") func primaryKeys() throws {
        let device = try SimulatedDevice()
        try device.run {
            for (itemClass, column) in [
                (kSecClassGenericPassword, 2), (kSecClassInternetPassword, 3), (kSecClassCertificate, 4),
                (kSecClassKey, 5),
            ] {
                for row in try Self.rows("Attributes") where !row[column].isEmpty && row[1] != "agrp" {
                    #expect(add([kSecClass: itemClass]) == errSecSuccess)
                    let values: [Any] = ["cku", 1, Data([1]), Date(), try control([])]
                    // The first of these that has the attribute's type is another value than what is there.
                    let statuses = values.map { add([kSecClass: itemClass, row[1] as CFString: $0]) }
                    let first = statuses.first { $0 != errSecParam }
                    let expected = row[column] == "★" ? errSecSuccess : errSecDuplicateItem
                    #expect(first == expected, "\(row[0]) of \(itemClass)")
                    #expect(
                        delete([kSecClass: itemClass, kSecAttrSynchronizable: kSecAttrSynchronizableAny])
                            == errSecSuccess)
                }
            }
        }
    }

    /// A value that is as it should be.
    private static func value(of key: String) throws -> Any {
        switch key {
        case "class": kSecClassCertificate
        case "m_Policy": SecPolicyCreateBasicX509()
        // True finds nothing, because nobody trusts the certificate.
        case "m_TrustedOnly": false
        case "u_OpPrompt": "text"
        case "m_HostOrSubdomainOfHost", "m_EmailAddressIfPresent": "example.org"
        case "m_SubjectContains", "m_SubjectStartsWith": "Strange"
        case "m_SubjectEndsWith": "ranger"
        case "m_SubjectWholeString": "Stranger"
        case "m_ItemList", "m_SearchList", "u_ItemList", "u_Keychain": []
        case "m_Issuers":
            [try #require(SecCertificateCopyNormalizedIssuerSequence(certificate(TestCertificates.stranger)) as Data?)]
        case "m_ValidOnDate": NSNull()
        case "m_Limit": kSecMatchLimitAll
        case "u_AuthUI": kSecUseAuthenticationUIAllow
        case "u_AuthCtx": LAContext()
        case "v_Data": TestCertificates.stranger
        case "v_Ref": try certificate(TestCertificates.stranger)
        case "v_PersistentRef": try #require(find(certificates([kSecReturnPersistentRef: true])).result as? Data)
        default: true
        }
    }

    @Test("A key is accepted or refused by each call as the page says") func statuses() throws {
        for row in try Self.rows("What to do") {
            let device = try SimulatedDevice()
            try device.run {
                let mine = try certificate(TestCertificates.stranger)
                #expect(addReference(mine) == errSecSuccess)
                let key = row[1] as CFString
                let query = certificates([key: try Self.value(of: row[1])])
                #expect(find(query).status == OSStatus(row[2]), "\(row[0]) in a search")
                #expect(update(query, [kSecAttrLabel: "new"]) == OSStatus(row[4]), "\(row[0]) in an update")
                #expect(delete(query) == OSStatus(row[5]), "\(row[0]) in a deletion")
                delete(certificates())
                #expect(add(query) == OSStatus(row[3]), "\(row[0]) in an addition")
            }
        }
    }
}
