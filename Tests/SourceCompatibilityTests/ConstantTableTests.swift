import Foundation
import Security
import Testing
import TouchstoneCore
import TouchstoneSecurity

/// Apple's names and values, copied into `Fixtures`, against what we declare.
///
/// A constant that is missing does not compile, and one that is missing in the list is missed here.
@Suite struct ConstantTableTests {
    @Test func everyStringConstantHasApplesValue() throws {
        let expected = try table("sec_constants").map { ($0[0], $0[1]) }
        #expect(expected.count == 217)
        let implemented = Dictionary(uniqueKeysWithValues: implementedConstants)
        #expect(implemented.count == expected.count)
        for (name, value) in expected {
            #expect(implemented[name] == value, "\(name)")
        }
    }

    @Test func everyKeyInALineHasApplesName() throws {
        #expect(AttributeKey.constantNames.count > 70)
        for (key, names) in AttributeKey.constantNames {
            for name in names.split(separator: " or ") {
                #expect(implementedConstants.contains { $0 == (String(name), key.rawValue) }, "\(name)")
            }
        }
    }

    @Test func everyConstantBesideSecurityHasApplesValue() throws {
        let expected = try table("beside_security").map { ($0[0], $0[1]) }
        #expect(expected.count == 135)
        let implemented = Dictionary(uniqueKeysWithValues: implementedBesideSecurity)
        #expect(implemented.count == expected.count)
        for (name, value) in expected {
            // 751 and 751.0 are one number.
            let actual = implemented[name]
            #expect(actual == value || (actual.flatMap(Double.init) ?? .nan) == Double(value), "\(name)")
        }
    }

    @Test func theNewestBranchOfAVersionCheckIsTaken() throws {
        let versions = try table("beside_security").filter { $0[0].hasPrefix("NSFoundationVersionNumber") }
        #expect(versions.count > 50)
        for version in versions {
            #expect(floor(NSFoundationVersionNumber) > (try #require(Double(version[1]))), "\(version[0])")
        }
    }

    @Test func everyKeyAlgorithmHasApplesValue() throws {
        let expected = try table("sec_key_algorithms").filter { $0[3] == "public" }
        #expect(expected.count == 87)
        let implemented = Dictionary(uniqueKeysWithValues: implementedKeyAlgorithms)
        #expect(implemented.count == expected.count)
        for row in expected {
            #expect(implemented[row[1]]?.rawValue as String? == row[2], "\(row[1])")
        }
    }

    @Test func everyStatusHasApplesValue() throws {
        let expected = try table("sec_status")
        #expect(expected.count == 458)
        let implemented = Dictionary(uniqueKeysWithValues: implementedStatuses)
        #expect(implemented.count == expected.count)
        for row in expected {
            #expect(implemented[row[0]] == OSStatus(row[1]), "\(row[0])")
        }
    }

    @Test func everyStatusHasApplesMessage() throws {
        for row in try table("sec_status") {
            let status = try #require(OSStatus(row[1]))
            let message = SecCopyErrorMessageString(status, nil) as String?
            #expect(message == row[2], "\(row[0])")
        }
    }

    @Test func statusWithoutMessageIsNamedByItsNumber() {
        let message = SecCopyErrorMessageString(-1_234_567, nil) as String?
        #expect(message == "OSStatus -1234567")
    }

    /// What no other file of these tests could miss: each row names a member that a file here uses with Apple's type, or says why there is none.
    @Test func everyMemberOfLocalAuthenticationIsApples() throws {
        let table = try table("localauthentication")
        #expect(table.count == 229)
        let expected = table.filter { $0[3].isEmpty }
        #expect(expected.count == 221)
        let implemented = Dictionary(uniqueKeysWithValues: implementedMembers.map { ($0.name, $0) })
        #expect(Set(implemented.keys).subtracting(expected.map { $0[0] }).isEmpty, "used, and not in the table")
        for row in expected {
            let member = try #require(implemented[row[0]], "in the table, and not used: \(row[0])")
            #expect(member.value ?? "" == row[2], "\(row[0])")
        }
    }

    private func table(_ name: String) throws -> [[String]] {
        let url = try #require(Bundle.module.url(forResource: name, withExtension: "csv", subdirectory: "Fixtures"))
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").dropFirst()
        return lines.map { fields(String($0)) }
    }

    /// The fields of one line of comma-separated values, of which some are quoted.
    private func fields(_ line: String) -> [String] {
        var fields = [""]
        var isQuoted = false
        var previous: Character?
        for character in line {
            switch character {
            case "\"":
                if isQuoted == false, previous == "\"" { fields[fields.count - 1].append("\"") }
                isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
            previous = character
        }
        return fields
    }
}
