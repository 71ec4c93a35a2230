import Foundation
import Security
import Testing

/// A chain of TouchstoneTrustTests/Fixtures, as an app sees it.
struct TrustFixture: Decodable {
    var title: String
    private var certificates: [Data]
    private var anchors: [Data]
    private var date: Double

    private static let all: [TrustFixture] = {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("TouchstoneTrustTests/Fixtures/chains.json")
        return (try? JSONDecoder().decode([TrustFixture].self, from: Data(contentsOf: url))) ?? []
    }()

    static func named(_ title: String) throws -> TrustFixture { try #require(all.first { $0.title == title }) }

    func chain() throws -> [SecCertificate] {
        try certificates.map { try #require(SecCertificateCreateWithData(nil, $0 as CFData)) }
    }

    func roots() throws -> [SecCertificate] {
        try anchors.map { try #require(SecCertificateCreateWithData(nil, $0 as CFData)) }
    }

    var day: Date { Date(timeIntervalSince1970: date) }

    /// With its own anchors, on its day.
    func trust(_ policies: CFTypeRef? = SecPolicyCreateSSL(true, "www.example.org" as CFString)) throws -> SecTrust {
        var trust: SecTrust?
        #expect(SecTrustCreateWithCertificates(try chain() as CFArray, policies, &trust) == errSecSuccess)
        let made = try #require(trust)
        #expect(SecTrustSetAnchorCertificates(made, try roots() as CFArray) == errSecSuccess)
        #expect(SecTrustSetVerifyDate(made, day as CFDate) == errSecSuccess)
        return made
    }
}

/// Why it is not trusted; nil if it is.
func failure(_ trust: SecTrust) -> NSError? {
    var error: CFError?
    let isTrusted = SecTrustEvaluateWithError(trust, &error)
    #expect(isTrusted == (error == nil))
    return error
}

func result(_ trust: SecTrust) -> SecTrustResultType {
    var result = SecTrustResultType.otherError
    #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess)
    return result
}
