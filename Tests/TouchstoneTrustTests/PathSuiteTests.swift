import Foundation
import Testing
import TouchstoneTrust

@testable import TouchstoneCertificates

/// NIST's Public Key Interoperability Test Suite: 223 certificates with every way in which a path can be wrong.
@Suite struct PathSuiteTests {
    private struct PathSuite: Decodable {
        var tests: [String: String]
        var certificates: [String: Data]
    }

    /// What the suite says, and where we differ.
    ///
    /// docs/rules/trust.md has the table.
    private static let expected: [String: Bool] = [
        "valid": true, "invalid": false,
        // No list is read: the fault is that the certificate, or the list, is not what it should be.
        "needs a revocation list": true,
        // libcrypto does not take the parameters of DSA from the issuer's issuer.
        "needs inherited parameters": false,
    ]

    @Test("TR-3: the paths of PKITS are accepted and refused as published, but for lists of revoked certificates")
    func paths() throws {
        let suite: PathSuite = try fixture("pkits")
        #expect(suite.tests.count == 223)
        let root = try #require(suite.certificates["TrustAnchorRootCertificate"])
        let authorities = suite.certificates.filter { suite.tests[$0.key] == nil && $0.value != root }
            .sorted { $0.key < $1.key }.map { (name: Self.subject($0.value), der: $0.value) }
        var counts: [String: Int] = [:]
        for (title, kind) in suite.tests {
            let leaf = try #require(suite.certificates[title])
            var evaluation = TrustEvaluation(
                certificates: Self.path(from: leaf, authorities), policies: [TrustPolicy(.basic)],
                date: Date(timeIntervalSince1970: 1_577_836_800))
            evaluation.anchors = [root]
            evaluation.trustsMachine = false
            let answer = try evaluation.answer()
            #expect(answer.isTrusted == Self.expected[kind], "\(title): \(answer.failures)")
            counts[kind, default: 0] += 1
        }
        #expect(counts["invalid"] == 75 && counts["valid"] == 101)
    }

    /// All that may lead up from a certificate, by the names.
    private static func path(from leaf: Data, _ authorities: [(name: String, der: Data)]) -> [Data] {
        var chosen = [leaf]
        var next = 0
        while next < chosen.count {
            let issuer = issuer(chosen[next])
            for authority in authorities where authority.name == issuer && !chosen.contains(authority.der) {
                chosen.append(authority.der)
            }
            next += 1
        }
        return chosen
    }

    private static func subject(_ der: Data) -> String { (Certificate(der: der)?.subject).map(folded) ?? "" }
    private static func issuer(_ der: Data) -> String { (Certificate(der: der)?.issuer).map(folded) ?? "" }

    /// A name as RFC 5280 compares names: without regard to capitals, spaces and the kind of string.
    private static func folded(_ name: DistinguishedName) -> String {
        name.attributes.map { attribute in
            "\(attribute.type)=" + (attribute.text ?? "").lowercased().split(separator: " ").joined(separator: " ")
        }.joined(separator: ",")
    }
}
