import Foundation
import Security
import Testing

@Suite struct TrustExceptionTests {
    @Test("TR-9: a cookie accepts the failures that it was made of, in another object, too") func accepted() throws {
        let fixture = try TrustFixture.named("a certificate that signed itself")
        let trust = try fixture.trust()
        #expect(failure(trust)?.code == Int(errSecNotTrusted))
        let cookie = try #require(SecTrustCopyExceptions(trust))
        let other = try fixture.trust()
        #expect(SecTrustSetExceptions(other, cookie))
        #expect(result(other) == .invalid)
        #expect(failure(other) == nil)
        #expect(result(other) == .proceed)
        // The cookie is made without the exceptions that are set.
        #expect(SecTrustCopyExceptions(other) == cookie)
        #expect(!SecTrustSetExceptions(other, nil))
        #expect(failure(other)?.code == Int(errSecNotTrusted))
    }

    @Test("TR-9: a failure that is new still counts") func newFailure() throws {
        let fixture = try TrustFixture.named("a certificate that signed itself")
        let trust = try fixture.trust()
        #expect(SecTrustSetExceptions(trust, SecTrustCopyExceptions(trust)))
        SecTrustSetVerifyDate(trust, fixture.day.addingTimeInterval(1e9) as CFDate)
        #expect(failure(trust)?.code == Int(errSecCertificateExpired))
    }

    @Test("TR-9: a cookie is of one certificate") func otherCertificate() throws {
        let cookie = SecTrustCopyExceptions(try TrustFixture.named("a certificate that signed itself").trust())
        let other = try TrustFixture.named("a root that nobody trusts").trust()
        #expect(!SecTrustSetExceptions(other, cookie))
        #expect(failure(other)?.code == Int(errSecNotTrusted))
    }

    @Test("TR-9: what is no cookie is refused, and takes an earlier one away") func noCookie() throws {
        let trust = try TrustFixture.named("a certificate that signed itself").trust()
        let cookie = try #require(SecTrustCopyExceptions(trust) as Data?)
        for bytes in [Data(), Data("{}".utf8), Data("[]".utf8), cookie.dropLast(), Data(count: 1 << 20)] {
            #expect(SecTrustSetExceptions(trust, cookie as CFData))
            #expect(!SecTrustSetExceptions(trust, bytes as CFData))
            #expect(failure(trust) != nil)
        }
    }

    @Test("TR-9: no exception is made for a broken key or signature") func fatal() throws {
        for (title, code) in [
            ("RSA of 768 bits for any use", errSecUnsupportedKeySize),
            ("RSA and MD5 for any use", errSecInvalidDigestAlgorithm),
        ] {
            let trust = try TrustFixture.named(title).trust(nil)
            #expect(failure(trust)?.code == Int(code))
            #expect(result(trust) == .fatalTrustFailure)
            #expect(SecTrustSetExceptions(trust, SecTrustCopyExceptions(trust)))
            #expect(failure(trust)?.code == Int(code))
        }
    }
}
