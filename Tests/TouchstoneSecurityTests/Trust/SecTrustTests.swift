import Foundation
import Security
import Testing

@Suite struct SecTrustTests {
    @Test("TR-7: a chain that is trusted, and what is said of it") func trusted() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let trust = try fixture.trust()
        #expect(result(trust) == .invalid)
        #expect(SecTrustCopyResult(trust) == nil)
        #expect(SecTrustCopyProperties(trust)?.count == 0)
        #expect(failure(trust) == nil)
        #expect(result(trust) == .unspecified)
        let said = try #require(SecTrustCopyResult(trust))
        #expect(said[kSecTrustResultValue] as? UInt32 == SecTrustResultType.unspecified.rawValue)
        #expect(said[kSecTrustEvaluationDate] as? Date == fixture.day)
        #expect(said[kSecTrustRevocationChecked] == nil)
        let properties = try #require(SecTrustCopyProperties(trust) as? [[CFString: String]])
        #expect(properties.map { $0[kSecPropertyTypeTitle] } == ["Server", "Intermediate", "Root"])
        #expect(properties.allSatisfy { $0[kSecPropertyTypeError] == nil })
        var old = SecTrustResultType.invalid
        #expect(SecTrustEvaluate(trust, &old) == errSecSuccess && old == .unspecified)
    }

    @Test("The chain is from the certificate to the anchor, and the key is the certificate's") func chain() throws {
        let fixture = try TrustFixture.named("certificates in any order, and strangers among them")
        let trust = try fixture.trust()
        let given = try fixture.chain()
        #expect(SecTrustGetCertificateAtIndex(trust, 0) == given[0])
        #expect(result(trust) == .invalid)
        #expect(SecTrustGetCertificateCount(trust) == 3)
        #expect(result(trust) == .unspecified)
        let chain = try #require(SecTrustCopyCertificateChain(trust) as? [SecCertificate])
        #expect(chain == [given[0], given[3], given[2]])
        #expect(SecTrustGetCertificateAtIndex(trust, 2) == given[2])
        #expect(SecTrustGetCertificateAtIndex(trust, 3) == nil && SecTrustGetCertificateAtIndex(trust, -1) == nil)
        #expect(SecTrustCopyKey(trust) == SecCertificateCopyKey(given[0]))
        #expect(SecTrustCopyPublicKey(trust) == SecTrustCopyKey(trust) && SecTrustCopyKey(trust) != nil)
    }

    @Test(
        "TR-7: a failure has Apple's code and words",
        arguments: [
            ("another host", errSecHostNameMismatch, "“Server” certificate name does not match input"),
            ("a certificate that ended", errSecCertificateExpired, "“Server” certificate is expired"),
            ("a certificate that begins later", errSecCertificateExpired, "“Server” certificate is expired"),
            ("a certificate that signed itself", errSecNotTrusted, "“Server” certificate is not trusted"),
            ("a root that nobody trusts", errSecNotTrusted, "“Stranger” certificate is not trusted"),
            ("no intermediate", errSecCreateChainFailed, "“Server” certificate is not trusted"),
            ("a signature of somebody else", errSecCreateChainFailed, "“Server” certificate is not trusted"),
            (
                "an issuer that is no authority", errSecNoBasicConstraintsCA,
                "“Not An Authority” certificate is not standards compliant"
            ),
            (
                "one intermediate more than the path length", errSecPathLengthConstraintExceeded,
                "“Short Root” certificate is not standards compliant"
            ),
            (
                "a name that is excluded", errSecCertificateNameNotAllowed,
                "“Server” certificate is not standards compliant"
            ),
            (
                "an unknown extension that is critical", errSecUnknownCriticalExtensionFlag,
                "“Server” certificate is not standards compliant"
            ),
            (
                "a server for 826 days", errSecCertificateValidityPeriodTooLong,
                "“Server” certificate is not standards compliant"
            ),
            (
                "a server of today without a usage", errSecInvalidExtendedKeyUsage,
                "“Server” certificate is not permitted for this usage"
            ),
            (
                "a server with RSA of 1024 bits", errSecUnsupportedKeySize,
                "“Server” certificate is using a broken key size"
            ),
            (
                "a server with RSA and SHA-1", errSecInvalidDigestAlgorithm,
                "“Server” certificate is using a broken signature algorithm"
            ),
            (
                "a policy that is demanded and missing", errSecCertificatePolicyNotAllowed,
                "“Server” certificate is not standards compliant"
            ),
        ]) func codes(_ title: String, _ code: OSStatus, _ words: String) throws
    {
        let host = title == "another host" ? "example.org" : "www.example.org"
        let trust = try TrustFixture.named(title).trust(SecPolicyCreateSSL(true, host as CFString))
        let error = try #require(failure(trust))
        #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(code))
        #expect(error.localizedDescription == words)
        #expect(CFErrorCopyDescription(error) as String == words)
        let all = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(all.code == Int(code) && all.localizedDescription.contains("” has errors: "))
        #expect(result(trust) == .recoverableTrustFailure)
        let properties = try #require(SecTrustCopyProperties(trust) as? [[CFString: String]])
        #expect(properties.contains { $0[kSecPropertyTypeError] != nil })
    }

    @Test("TR-7: the most serious failure has the code, and all are in the words beneath it") func several() throws {
        let fixture = try TrustFixture.named("a certificate that ended")
        let trust = try fixture.trust(SecPolicyCreateSSL(true, "example.net" as CFString))
        #expect(SecTrustSetAnchorCertificates(trust, [] as CFArray) == errSecSuccess)
        let error = try #require(failure(trust))
        #expect(error.code == Int(errSecCreateChainFailed))
        let all = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(
            all.localizedDescription == "Certificate 0 “Server” has errors: Certificate is not temporally valid, "
                + "SSL hostname does not match name(s) in certificate;Certificate 1 “Intermediate” has errors: "
                + "Unable to build chain to root (possible missing intermediate);")
    }

    @Test("TR-7: a change forgets the result") func changes() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let trust = try fixture.trust()
        for change: (SecTrust) -> OSStatus in [
            { SecTrustSetVerifyDate($0, fixture.day as CFDate) },
            { SecTrustSetPolicies($0, SecPolicyCreateBasicX509()) },
            { SecTrustSetAnchorCertificatesOnly($0, true) }, { SecTrustSetOCSPResponse($0, nil) },
            { SecTrustSetNetworkFetchAllowed($0, false) },
            { SecTrustSetExceptions($0, nil) ? errSecParam : errSecSuccess },
        ] {
            #expect(failure(trust) == nil && result(trust) == .unspecified)
            #expect(change(trust) == errSecSuccess)
            #expect(result(trust) == .invalid)
        }
        #expect(SecTrustSetVerifyDate(trust, fixture.day.addingTimeInterval(1e9) as CFDate) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecCertificateExpired))
        #expect(SecTrustGetVerifyTime(trust) == fixture.day.addingTimeInterval(1e9).timeIntervalSinceReferenceDate)
    }

    @Test(
        "TR-11: on a day that no calendar has, a chain is not trusted, and the program lives on",
        arguments: [.infinity, -.infinity, .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e18, -1e18])
    func strangeDays(_ seconds: Double) throws {
        let trust = try TrustFixture.named("a host that is named").trust()
        let day = Date(timeIntervalSinceReferenceDate: seconds)
        #expect(SecTrustSetVerifyDate(trust, day as CFDate) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecCertificateExpired))
        #expect(SecTrustSetVerifyDate(trust, Date.distantPast as CFDate) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecCertificateExpired))
        #expect(SecTrustSetVerifyDate(trust, Date.distantFuture as CFDate) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecCertificateExpired))
    }

    @Test("TR-2: set anchors are the only ones, until that is changed") func anchors() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let trust = try fixture.trust()
        var anchors: CFArray?
        #expect(SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess)
        #expect(anchors as? [SecCertificate] == (try fixture.roots()))
        #expect(SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess)
        #expect(failure(trust) == nil)
        #expect(SecTrustSetAnchorCertificates(trust, [] as CFArray) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecCreateChainFailed))
        #expect(SecTrustSetAnchorCertificates(trust, nil) == errSecSuccess)
        #expect(SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess && anchors == nil)
        #expect(failure(trust)?.code == Int(errSecCreateChainFailed))
        #expect(SecTrustSetAnchorCertificates(trust, [SecPolicyCreateBasicX509()] as CFArray) == errSecParam)
        #expect(
            SecTrustSetAnchorCertificates(trust, Array(repeating: try fixture.roots()[0], count: 1025) as CFArray)
                == errSecParam)
    }

    @Test("TR-2: a root of Debian's is trusted without anything set, and its owner is asked for nothing") func machine()
        throws
    {
        let bundle = try String(contentsOfFile: "/etc/ssl/certs/ca-certificates.crt", encoding: .utf8)
        let first = try #require(
            bundle.components(separatedBy: "-----END").first?.components(separatedBy: "-----\n").last)
        let der = try #require(Data(base64Encoded: first, options: .ignoreUnknownCharacters))
        let root = try #require(SecCertificateCreateWithData(nil, der as CFData))
        var trust: SecTrust?
        #expect(SecTrustCreateWithCertificates(root, nil, &trust) == errSecSuccess)
        let made = try #require(trust)
        SecTrustSetVerifyDate(made, try #require(SecCertificateCopyNotValidBeforeDate(root)))
        #expect(failure(made) == nil)
        SecTrustSetAnchorCertificatesOnly(made, true)
        #expect(failure(made)?.code == Int(errSecNotTrusted))
    }

    @Test("What is no certificate, no policy and no response is errSecParam") func parameters() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let chain = try fixture.chain()
        var trust: SecTrust?
        for certificates in ["x" as CFString, [] as CFArray, ["x"] as CFArray, SecPolicyCreateBasicX509()]
            as [CFTypeRef]
        {
            #expect(SecTrustCreateWithCertificates(certificates, nil, &trust) == errSecParam)
        }
        #expect(SecTrustCreateWithCertificates(chain[0], chain[0], &trust) == errSecParam)
        #expect(trust == nil)
        let made = try fixture.trust()
        #expect(SecTrustSetPolicies(made, [] as CFArray) == errSecParam)
        #expect(SecTrustSetPolicies(made, chain[0]) == errSecParam)
        #expect(SecTrustSetOCSPResponse(made, "x" as CFString) == errSecParam)
        #expect(SecTrustSetOCSPResponse(made, Data(count: 1 << 17) as CFData) == errSecParam)
        #expect(SecTrustSetOCSPResponse(made, Array(repeating: Data(), count: 17) as CFArray) == errSecParam)
        #expect(failure(made) == nil)
        // No policy, and an empty list, are the basic one.
        for policies in [nil, [] as CFArray] as [CFTypeRef?] {
            var list: CFArray?
            #expect(SecTrustCopyPolicies(try fixture.trust(policies), &list) == errSecSuccess)
            #expect(list as? [SecPolicy] == [SecPolicyCreateBasicX509()])
        }
    }

    @Test("TR-7: the answer comes on the queue, once") func queues() async throws {
        let fixture = try TrustFixture.named("a host that is named")
        let key = DispatchSpecificKey<Int>()
        let queue = DispatchQueue(label: "answers")
        queue.setSpecific(key: key, value: 7)
        let good = try fixture.trust()
        let isTrusted = await withCheckedContinuation { continuation in
            let status = SecTrustEvaluateAsyncWithError(good, queue) { trust, isTrusted, error in
                #expect(trust === good && error == nil && DispatchQueue.getSpecific(key: key) == 7)
                continuation.resume(returning: isTrusted)
            }
            #expect(status == errSecSuccess)
        }
        #expect(isTrusted)
        let bad = try fixture.trust(SecPolicyCreateSSL(true, "example.net" as CFString))
        let code = await withCheckedContinuation { continuation in
            _ = SecTrustEvaluateAsyncWithError(bad, queue) { _, isTrusted, error in
                #expect(!isTrusted)
                continuation.resume(returning: error?.code)
            }
        }
        #expect(code == Int(errSecHostNameMismatch))
        let old = await withCheckedContinuation { continuation in
            #expect(SecTrustEvaluateAsync(bad, nil) { continuation.resume(returning: $1) } == errSecSuccess)
        }
        #expect(old == .recoverableTrustFailure)
    }

    @Test("One object may be evaluated and changed by many threads") func threads() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let trust = try fixture.trust()
        let day = fixture.day as CFDate
        DispatchQueue.concurrentPerform(iterations: 64) { number in
            if number.isMultiple(of: 4) {
                SecTrustSetVerifyDate(trust, day)
            } else {
                #expect(SecTrustEvaluateWithError(trust, nil))
            }
        }
    }

    @Test("TR-1: whether something may be fetched is kept, and of TLS it is so from the beginning") func fetching()
        throws
    {
        let fixture = try TrustFixture.named("a host that is named")
        var isAllowed: DarwinBoolean = false
        #expect(SecTrustGetNetworkFetchAllowed(try fixture.trust(), &isAllowed) == errSecSuccess && isAllowed.boolValue)
        let basic = try fixture.trust(nil)
        #expect(SecTrustGetNetworkFetchAllowed(basic, &isAllowed) == errSecSuccess && !isAllowed.boolValue)
        #expect(SecTrustSetNetworkFetchAllowed(basic, true) == errSecSuccess)
        #expect(SecTrustGetNetworkFetchAllowed(basic, &isAllowed) == errSecSuccess && isAllowed.boolValue)
    }

    @Test("TR-8: revocation is said of where it was asked for") func revocation() throws {
        let fixture = try TrustFixture.named("a host that is named")
        let host = SecPolicyCreateSSL(true, "www.example.org" as CFString)
        let soft = try #require(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod))
        let trust = try fixture.trust([host, soft] as CFArray)
        #expect(failure(trust) == nil)
        #expect(SecTrustCopyResult(trust)?[kSecTrustRevocationChecked] as? Bool == false)
        let hard = try #require(
            SecPolicyCreateRevocation(kSecRevocationOCSPMethod | kSecRevocationRequirePositiveResponse))
        #expect(SecTrustSetPolicies(trust, [host, hard] as CFArray) == errSecSuccess)
        #expect(failure(trust)?.code == Int(errSecIncompleteCertRevocationCheck))
        let given = try fixture.trust()
        #expect(SecTrustSetOCSPResponse(given, Data("no response".utf8) as CFData) == errSecSuccess)
        #expect(failure(given) == nil)
        #expect(SecTrustCopyResult(given)?[kSecTrustRevocationChecked] as? Bool == false)
    }
}
