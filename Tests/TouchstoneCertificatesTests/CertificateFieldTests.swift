import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneSecurity

/// What is read of certificates that OpenSSL makes.
@Suite struct CertificateFieldTests {
    private let openssl: OpenSSL

    init() throws {
        openssl = try OpenSSL()
        try openssl.makeKey()
    }

    private func certificate(
        _ subject: String = "/CN=Somebody", strings: String = "utf8only", more: [String] = []
    ) throws -> SecCertificate {
        let der = try openssl.makeCertificate(subject: subject, strings: strings, more: more)
        return try #require(SecCertificateCreateWithData(nil, der as CFData))
    }

    private func commonName(_ certificate: SecCertificate) -> (OSStatus, String?) {
        var name: CFString?
        let status = SecCertificateCopyCommonName(certificate, &name)
        return (status, name as String?)
    }

    private func addresses(_ certificate: SecCertificate) throws -> [String] {
        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        return try #require(addresses as? [String])
    }

    @Test(
        "a certificate says whose it is, on one line",
        arguments: [
            ("/CN=Somebody", "<SecCertificate: \"Somebody\">"), ("/", "<SecCertificate: no subject>"),
            ("/CN=two\nlines \"quoted\"", "<SecCertificate: \"two\\nlines \\\"quoted\\\"\">"),
        ])
    func description(subject: String, expected: String) throws {
        let certificate = try certificate(subject)
        #expect(certificate.description == expected)
        #expect(certificate.debugDescription == expected)
        #expect("\(certificate)" == expected)
    }

    private func summary(_ subject: String, _ more: [String] = []) throws -> String? {
        SecCertificateCopySubjectSummary(try certificate(subject, more: more)) as String?
    }

    @Test func summaryIsTheMostTelling() throws {
        #expect(try summary("/O=Org/OU=Unit/CN=Name/description=What") == "Name (What)")
        #expect(try summary("/O=Org/OU=Unit/description=What") == "Unit")
        #expect(try summary("/C=DE/description=What") == "What, DE")
        #expect(try summary("/O=Org/OU=Unit/CN=Name") == "Name")
        #expect(try summary("/O=Org/OU=Unit") == "Unit")
        #expect(try summary("/O=Org/emailAddress=a@b.c") == "Org")
        #expect(try summary("/CN=First/OU=Unit/CN=Last/description=x/description=y") == "Last, First (y, x)")
        let names = ["-addext", "subjectAltName=DNS:host.example,DNS:other.example,email:a@b.c"]
        #expect(try summary("/C=DE", names) == "DE")
        #expect(try summary("/", names) == "a@b.c")
        #expect(try summary("/", ["-addext", "subjectAltName=DNS:host.example,DNS:other.example"]) == "host.example")
        #expect(try summary("/", []) == nil)
    }

    @Test func commonNameIsTheLast() throws {
        #expect(commonName(try certificate("/CN=First/CN=Last")) == (errSecSuccess, "Last"))
        #expect(commonName(try certificate("/O=No name")) == (internalError, nil))
    }

    @Test func addressesAreThoseOfTheAlternativeNamesAndOfTheSubject() throws {
        let both = try certificate(
            "/CN=x/emailAddress=subject@example.com",
            more: ["-addext", "subjectAltName=email:first@example.com,DNS:host.example,email:second@example.com"])
        #expect(try addresses(both) == ["first@example.com", "second@example.com", "subject@example.com"])
        #expect(try addresses(certificate()) == [])
    }

    @Test(arguments: [
        ("utf8only", "UTF8STRING", "Grüße 東京"), ("MASK:0x800", "BMPSTRING", "Grüße 東京"),
        ("MASK:0x4", "T61STRING", "Gr\u{fc}\u{df}e"),
        ("MASK:0x2", "PRINTABLESTRING", "Plain"),
    ])
    func textIsReadFromEveryTypeOfString(_ mask: String, _ type: String, _ text: String) throws {
        let certificate = try certificate("/CN=\(text)", strings: mask)
        #expect(try openssl("asn1parse", "-inform", "DER", "-in", "one.der").contains(type))
        #expect(commonName(certificate) == (errSecSuccess, text))
    }

    @Test(arguments: [
        ("1", "01"), ("255", "00FF"), ("-1", "FF"), ("-129", "FF7F"), ("0", "00"),
        ("0x" + String(repeating: "7A", count: 37), String(repeating: "7A", count: 37)),
    ])
    func serialNumberIsItsContents(_ number: String, _ contents: String) throws {
        let certificate = try certificate(more: ["-set_serial", number])
        #expect((SecCertificateCopySerialNumberData(certificate, nil) as Data?)?.hex == contents)
        #expect(SecCertificateCopySerialNumber(certificate) == SecCertificateCopySerialNumberData(certificate, nil))
    }

    @Test func serialNumberOf38BytesIsRefused() throws {
        let number = "0x" + String(repeating: "7A", count: 38)
        try openssl(
            "req", "-x509", "-new", "-key", "one.key", "-subj", "/CN=x", "-set_serial", number, "-outform", "DER",
            "-out",
            "long.der")
        #expect(SecCertificateCreateWithData(nil, try openssl["long.der"] as CFData) == nil)
    }

    @Test func datesBeyond2049AreRead() throws {
        let certificate = try certificate(more: ["-days", "20000"])
        let end = try openssl("x509", "-inform", "DER", "-in", "one.der", "-noout", "-enddate", "-dateopt", "iso_8601")
        let text = end.dropFirst("notAfter=".count).trimmingCharacters(in: .newlines).replacingOccurrences(
            of: " ", with: "T")
        let date = try #require(ISO8601DateFormatter().date(from: text))
        #expect(date.timeIntervalSinceNow > 19_999 * 86_400)
        #expect(SecCertificateCopyNotValidAfterDate(certificate) as Date? == date)
        #expect(certificate.value.isValid(on: Date().timeIntervalSinceReferenceDate))
        #expect(certificate.value.isValid(on: date.timeIntervalSinceReferenceDate))
        #expect(!certificate.value.isValid(on: date.timeIntervalSinceReferenceDate + 1))
        #expect(!certificate.value.isValid(on: certificate.value.notBefore - 1))
    }

    @Test func printableStringsAreNormalizedAndOthersAreNot() throws {
        let capitals = try certificate("/O=MARIANNE SWANSON/CN=A", strings: "MASK:0x2")
        let spelled = try certificate("/O=  Marianne   swanson /CN=a", strings: "MASK:0x2")
        #expect(capitals != spelled)
        let normalized = try #require(SecCertificateCopyNormalizedSubjectSequence(capitals)) as Data
        #expect(SecCertificateCopyNormalizedSubjectSequence(spelled) as Data? == normalized)
        #expect(SecCertificateCopyNormalizedIssuerSequence(spelled) as Data? == normalized)
        // That of the first is as it was.
        #expect(capitals.value.der.range(of: normalized) != nil)
        #expect(spelled.value.der.range(of: normalized) == nil)

        let utf8 = try certificate("/O=  Marianne   swanson /CN=a")
        #expect(utf8.value.subject.normalized == utf8.value.subject.der)
    }

    @Test func normalizingShortensTheLengthsAroundAName() throws {
        let short = try certificate("/O=AAAA B/CN=X", strings: "MASK:0x2")
        let long = try certificate("/O=aaaa\(String(repeating: " ", count: 55))b/CN=x", strings: "MASK:0x2")
        #expect(long.value.subject.normalized == short.value.subject.der)
    }

    @Test("KC-30: the attributes of an item are the type, the issuer and the serial number of its certificate")
    func attributesOfAnItem() throws {
        let certificate = try certificate("/CN=Somebody", strings: "MASK:0x2", more: ["-set_serial", "77"])
        let key = try #require(SecCertificateCopyKey(certificate))
        #expect(certificate.itemClass == .certificate)
        let attributes = certificate.itemAttributes
        let name = Data([0x31, 0x11, 0x30, 0x0f, 0x06, 0x03, 0x55, 0x04, 0x03, 0x13, 0x08] + Array("SOMEBODY".utf8))
        #expect(attributes[.issuer] == .data(name))
        #expect(attributes[.subject] == .data(name))
        #expect(attributes[.certificateType] == .number(3))
        #expect(attributes[.certificateEncoding] == .number(3))
        #expect(attributes[.serialNumber] == .data(Data([77])))
        #expect(attributes[.publicKeyHash] == key.itemAttributes[.applicationLabel])
        // OpenSSL's identifier is the same SHA-1.
        #expect(attributes[.subjectKeyID] == attributes[.publicKeyHash])
        #expect(attributes[.label] == nil)
        #expect(certificate.inferredLabel == "Somebody")
        let data = try #require(certificate.itemData)
        #expect(SecCertificate(itemData: data) == certificate)
        #expect(Set(attributes.keys).isSubset(of: ItemClass.certificate.attributes.map(\.key)))
    }

    @Test func certificateWithoutIdentifierOfItsKeyHasNoAttributeForIt() throws {
        let certificate = try certificate(more: ["-extensions", "authority"])
        #expect(certificate.itemAttributes[.subjectKeyID] == nil)
        #expect(certificate.itemAttributes[.publicKeyHash] != nil)
    }

    @Test func oldVersionIsType1() throws {
        try openssl("req", "-new", "-key", "one.key", "-subj", "/CN=x", "-out", "one.csr")
        try openssl("x509", "-req", "-in", "one.csr", "-signkey", "one.key", "-outform", "DER", "-out", "v1.der")
        #expect(try openssl("x509", "-inform", "DER", "-in", "v1.der", "-noout", "-text").contains("Version: 1"))
        let certificate = try #require(SecCertificateCreateWithData(nil, try openssl["v1.der"] as CFData))
        #expect(certificate.itemAttributes[.certificateType] == .number(1))
    }

    @Test func equalCertificatesAreThoseOfEqualBytes() throws {
        let one = try certificate()
        let copy = try #require(SecCertificateCreateWithData(nil, SecCertificateCopyData(one)))
        #expect(one == copy && one.hash == copy.hash && one !== copy)
        #expect(try certificate() != one)
        #expect(CFGetTypeID(one) == SecCertificateGetTypeID())
        let ids = [SecCertificateGetTypeID(), SecKeyGetTypeID(), SecIdentityGetTypeID(), SecAccessControlGetTypeID()]
        #expect(Set(ids).count == 4)
    }

    @Test(arguments: OpenSSL.Algorithm.allCases)
    func keyOfACertificateIsThePublicHalf(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let key = try #require(SecCertificateCopyKey(try certificate()))
        let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
        try openssl("pkey", "-in", "one.key", "-pubout", "-outform", "DER", "-out", "public.der")
        #expect(try openssl["public.der"].suffix(bytes.count) == bytes)
        let attributes = SecKeyCopyAttributes(key)
        #expect(attributes?[kSecAttrKeyClass] as? NSString == kSecAttrKeyClassPublic)
        #expect(attributes?[kSecAttrKeyType] as? NSString == (algorithm.isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeEC))
    }

    @Test(arguments: [
        ["ED25519"], ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
        ["EC", "-pkeyopt", "ec_paramgen_curve:brainpoolP224r1"],
    ])
    func certificateOfAnotherAlgorithmIsReadAndHasNoKey(_ algorithm: [String]) throws {
        try openssl.run(["genpkey", "-algorithm"] + algorithm + ["-out", "one.key"])
        let certificate = try certificate()
        #expect(SecCertificateCopyKey(certificate) == nil)
        #expect(SecCertificateCopySubjectSummary(certificate) == "Somebody")
    }
}
