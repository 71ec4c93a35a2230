import Foundation
import SwiftASN1
import Testing
import TouchstoneCertificates

@testable import TouchstoneSecurity

/// Bytes that are not certificates, or hardly.
@Suite struct HostileCertificateTests {
    private static let alternativeName: [UInt8] = [0x55, 0x1d, 0x11]
    private static let keyIdentifier: [UInt8] = [0x55, 0x1d, 0x0e]

    private func read(_ change: (inout CertificateParts) -> Void) -> Certificate? {
        var parts = CertificateParts()
        change(&parts)
        return Certificate(der: parts.der)
    }

    /// Everything that is read of a certificate.
    private func exercise(_ certificate: SecCertificate) {
        var (name, addresses): (CFString?, CFArray?)
        SecCertificateCopyCommonName(certificate, &name)
        SecCertificateCopyEmailAddresses(certificate, &addresses)
        SecCertificateCopySubjectSummary(certificate)
        SecCertificateCopyNormalizedIssuerSequence(certificate)
        SecCertificateCopyNormalizedSubjectSequence(certificate)
        SecCertificateCopyKey(certificate)
        _ = certificate.itemAttributes
    }

    private func openSSLCertificate() throws -> Data {
        let openssl = try OpenSSL()
        try openssl.makeKey()
        return try openssl.makeCertificate(
            subject: "/O=Org/CN=Name/emailAddress=a@b.c", strings: "default",
            more: ["-addext", "subjectAltName=email:x@example.com,DNS:host.example,IP:127.0.0.1"])
    }

    @Test func certificateCutAnywhereIsRefused() throws {
        let der = try openSSLCertificate()
        #expect(Certificate(der: der) != nil)
        for count in 0..<der.count {
            #expect(Certificate(der: der.prefix(count)) == nil)
        }
        #expect(Certificate(der: der + [0]) == nil)
        #expect(Certificate(der: der + der) == nil)
    }

    @Test func certificateWithAnyByteChangedIsReadOrRefused() throws {
        let der = try openSSLCertificate()
        var (read, refused) = (0, 0)
        for index in der.indices {
            for value in [der[index] ^ 0x01, der[index] ^ 0x80, 0x00, 0xff, 0x30, 0x80] {
                var changed = der
                changed[index] = value
                if let certificate = SecCertificateCreateWithData(nil, changed as CFData) {
                    exercise(certificate)
                    read += 1
                } else {
                    refused += 1
                }
            }
        }
        #expect(read > 0 && refused > 0)
    }

    @Test func lengthsBeyondTheEndAreRefused() {
        for length: [UInt8] in [
            [0x84, 0xff, 0xff, 0xff, 0xff], [0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            [0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [0x89] + Array(repeating: 0xff, count: 9), [0x80],
            [0xff],
        ] {
            #expect(Certificate(der: Data([0x30] + length + [1, 2, 3])) == nil)
            #expect(DistinguishedName(der: Data([0x30] + length)) == nil)
            #expect(SubjectPublicKeyInfo(der: Data([0x30] + length)) == nil)
        }
    }

    @Test func sequencesInSequencesWithoutEndAreRefused() {
        var nested: [UInt8] = []
        for _ in 0..<10_000 { nested = sequence(nested) }
        #expect(Certificate(der: Data(nested)) == nil)
        #expect(Certificate(der: Data(repeating: 0x30, count: 100_000)) == nil)
    }

    @Test func otherThingsAreRefused() {
        #expect(Certificate(der: Data()) == nil)
        #expect(Certificate(der: Data("-----BEGIN CERTIFICATE-----".utf8)) == nil)
        #expect(Certificate(der: Data(sequence([]))) == nil)
        #expect(Certificate(der: Data(sequence(sequence([]) + sequence([]) + primitive(.bitString, [0])))) == nil)
    }

    @Test func versionsAre1To3() {
        #expect(read { $0.version = nil }?.version == 1)
        #expect(read { $0.version = [1] }?.version == 2)
        #expect(read { $0.version = [2] }?.version == 3)
        for version: [UInt8] in [[0], [3], [0xff], [0, 2], []] {
            #expect(read { $0.version = version } == nil)
        }
    }

    @Test func serialNumberWithoutBytesIsRefused() {
        #expect(read { $0.serialNumber = [] } == nil)
        #expect(read { $0.serialNumber = [0, 0, 1] }?.serialNumber == Data([0, 0, 1]))
    }

    @Test func datesOfOldCertificatesAreRead() throws {
        func seconds(_ identifier: ASN1Identifier, _ text: String) -> Double? {
            read { $0.notBefore = (identifier, text) }?.notBefore
        }
        #expect(seconds(.utcTime, "010101000000Z") == 0)
        #expect(seconds(.utcTime, "0101010000Z") == 0)
        #expect(seconds(.utcTime, "010101013000+0130") == 0)
        #expect(seconds(.utcTime, "0012312230-0130") == 0)
        #expect(seconds(.generalizedTime, "20010101000000Z") == 0)
        #expect(seconds(.generalizedTime, "20010101000001Z") == 1)
        #expect(seconds(.utcTime, "491231235959Z") == seconds(.generalizedTime, "20491231235959Z"))
        #expect(seconds(.utcTime, "500101000000Z") == seconds(.generalizedTime, "19500101000000Z"))
        // Against the calendar of the system.
        let formatter = ISO8601DateFormatter()
        for year in [1950, 1970, 1999, 2000, 2001, 2004, 2023, 2024, 2100, 2400, 9999] {
            for day in ["0101", "0228", "0301", "0630", "1231"] {
                let date = formatter.date(from: "\(year)-\(day.prefix(2))-\(day.suffix(2))T12:34:56Z")
                #expect(seconds(.generalizedTime, "\(year)\(day)123456Z") == date?.timeIntervalSinceReferenceDate)
            }
        }
        for year in ["0000", "0001", "1582"] { #expect(seconds(.generalizedTime, "\(year)0101000000Z") != nil) }
    }

    @Test(arguments: [
        "", "Z", "010101000000", "01010100000Z", "011301000000Z", "010001000000Z", "010100000000Z", "010132000000Z",
        "010229000000Z", "010101240000Z", "010101006000Z", "010101000060Z", "010101000000z", "010101000000+01",
        "010101000000+2400", "010101000000*0100", "0101010000000Z", "20010101000000Z", "01010100000\u{0661}Z",
        "-10101000000Z",
    ])
    func datesThatAreNoneAreRefused(_ text: String) {
        #expect(read { $0.notAfter = (.utcTime, text) } == nil)
    }

    @Test func datesOfAnotherTypeAreRefused() {
        #expect(read { $0.notAfter = (.utf8String, "010101000000Z") } == nil)
        #expect(read { $0.notAfter = (.generalizedTime, "010101000000Z") } == nil)
        #expect(read { $0.notAfter = (.generalizedTime, "200101010000Z") } == nil)
    }

    @Test func nameThatIsNoneIsNotNormalized() throws {
        for name: [UInt8] in [
            sequence(constructed(.set, [])), sequence(sequence([])), sequence(primitive(.integer, [1])),
            sequence(constructed(.set, sequence([]))),
            sequence(constructed(.set, sequence(primitive(.objectIdentifier, []) + primitive(.utf8String, [0x41])))),
        ] {
            let certificate = try #require(read { $0.subject = name })
            #expect(certificate.subject.normalized == nil)
            #expect(certificate.summary == nil)
            exercise(SecCertificate(certificate))
        }
        #expect(read { $0.subject = constructed(.set, []) } == nil)
        let empty = try #require(read { $0.subject = sequence([]) })
        #expect(empty.subject.normalizedContent == Data())
    }

    @Test func textThatCannotBeReadIsNotShown() throws {
        func commonName(_ identifier: ASN1Identifier, _ bytes: [UInt8]) -> String? {
            read { $0.subject = CertificateParts.name([[(CertificateParts.commonName, identifier, bytes)]]) }?
                .commonName
        }
        #expect(commonName(.utf8String, Array("ok".utf8)) == "ok")
        #expect(commonName(.utf8String, Array("ok\0".utf8)) == "ok")
        #expect(commonName(.utf8String, Array("bank.example\0.evil".utf8)) == nil)
        #expect(commonName(.bmpString, [0x00, 0x41, 0x00, 0x00, 0x00, 0x42]) == nil)
        #expect(commonName(.utf8String, [0xff, 0xfe]) == nil)
        #expect(commonName(.printableString, [0xe9]) == nil)
        #expect(commonName(.ia5String, [0x80]) == nil)
        #expect(commonName(.teletexString, [0xe9]) == "é")
        #expect(commonName(.bmpString, [0x00]) == nil)
        #expect(commonName(.bmpString, [0xd8, 0x00]) == nil)
        #expect(commonName(.universalString, [0x00, 0x11, 0x00, 0x00]) == nil)
        #expect(commonName(.universalString, [0x00, 0x01, 0xf6, 0x00]) == "😀")
        #expect(commonName(.integer, [0x41]) == nil)
        #expect(commonName(.utf8String, []) == "")
    }

    @Test func summaryLeavesOutWhatCannotBeRead() {
        func summary(_ name: [[(type: [UInt8], ASN1Identifier, [UInt8])]]) -> String? {
            read { $0.subject = CertificateParts.name(name) }?.summary
        }
        let (name, organization): ([UInt8], [UInt8]) = (CertificateParts.commonName, [0x55, 0x04, 0x0a])
        let unreadable = (type: name, ASN1Identifier.utf8String, [UInt8]([0xff]))
        #expect(summary([[unreadable]]) == nil)
        #expect(summary([[unreadable], [(organization, .utf8String, Array("o".utf8))]]) == "o")
        #expect(
            summary([[(name, .utf8String, Array("a".utf8)), unreadable, (name, .utf8String, Array("b".utf8))]])
                == "b, a")
    }

    // MARK: - Extensions

    private func isRead(_ type: [UInt8], _ critical: [UInt8]?, _ value: [UInt8]) -> Bool {
        var fields = primitive(.objectIdentifier, type)
        if let critical { fields += primitive(.boolean, critical) }
        fields += primitive(.octetString, value)
        return read { $0.extensions = sequence(sequence(fields)) } != nil
    }

    @Test func unreadableExtensionMattersWhenItIsCritical() {
        for type in [Self.alternativeName, Self.keyIdentifier] {
            #expect(isRead(type, nil, [0xff]))
            #expect(isRead(type, [0], [0xff]))
            #expect(!isRead(type, [0xff], [0xff]))
        }
        // One that we do not know is not looked at.
        #expect(isRead([0x55, 0x1d, 0x7f], [0xff], [0xff]))
    }

    @Test func malformedExtensionsAreRefused() {
        #expect(isRead(Self.keyIdentifier, nil, primitive(.octetString, [1])))
        #expect(!isRead(Self.keyIdentifier, [1], primitive(.octetString, [1])))
        #expect(!isRead(Self.keyIdentifier, [], primitive(.octetString, [1])))
        #expect(!isRead([], nil, [1]))
        #expect(read { $0.extensions = sequence([]) } == nil)
        #expect(read { $0.extensions = [] } == nil)
        #expect(read { $0.extensions = sequence(sequence([])) } == nil)
        #expect(read { $0.extensions = primitive(.octetString, [1]) } == nil)
    }

    @Test func addressThatCannotBeReadHidesAll() throws {
        func certificate(_ names: [UInt8]) -> Certificate? {
            let fields = primitive(.objectIdentifier, Self.alternativeName) + primitive(.octetString, sequence(names))
            return read { $0.extensions = sequence(sequence(fields)) }
        }
        let address = ASN1Identifier.context(1)
        let good = primitive(address, Array("a@b.c".utf8))
        #expect(certificate(good)?.emailAddresses == ["a@b.c"])
        #expect(certificate(good + primitive(address, [0xff]))?.emailAddresses == [])
        #expect(certificate(good + constructed(address, []))?.emailAddresses == [])
        #expect(certificate(good + primitive(.context(7), [1]))?.emailAddresses == ["a@b.c"])
    }

    @Test func keyOfTheWrongShapeIsNone() throws {
        let certificate = try #require(read { _ in })
        #expect(SecCertificateCopyKey(SecCertificate(certificate)) == nil)
        #expect(SubjectPublicKeyInfo(der: certificate.publicKey.der) == certificate.publicKey)
        let algorithm = sequence(primitive(.objectIdentifier, [1]))
        #expect(SubjectPublicKeyInfo(der: Data(sequence(algorithm + primitive(.bitString, [0, 1])))) != nil)
        #expect(SubjectPublicKeyInfo(der: Data(sequence(algorithm + primitive(.bitString, [1, 1])))) == nil)
        #expect(SubjectPublicKeyInfo(der: Data(sequence(algorithm + primitive(.bitString, [])))) == nil)
        #expect(SubjectPublicKeyInfo(der: Data(sequence(algorithm))) == nil)
    }
}
