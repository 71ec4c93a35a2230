import Foundation
import Testing
import TouchstoneCertificates
import TouchstoneSecurity

/// The certificates that Debian trusts: real ones, of all ages and makers.
@Suite struct RootCertificateTests {
    private static let directory = "/etc/ssl/certs"

    private static let files: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".pem") }.sorted()
    }()

    @Test func thereAreRoots() {
        #expect(Self.files.count > 100, "ca-certificates is not installed")
    }

    @Test(arguments: files)
    func everyRootIsReadAsOpenSSLReadsIt(_ name: String) throws {
        let openssl = try OpenSSL()
        let file = "\(Self.directory)/\(name)"
        try openssl("x509", "-in", file, "-outform", "DER", "-out", "root.der")
        let der = try openssl["root.der"]
        let certificate = try #require(SecCertificateCreateWithData(nil, der as CFData))
        #expect(SecCertificateCopyData(certificate) as Data == der)

        let fields = try openssl(
            "x509", "-in", file, "-noout", "-serial", "-dates", "-dateopt", "iso_8601", "-subject", "-nameopt",
            "utf8,sep_multiline,lname,-esc_msb", "-ext", "subjectKeyIdentifier"
        ).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        func values(_ key: String) -> [String] {
            fields.filter { $0.hasPrefix("\(key)=") }.map { String($0.dropFirst(key.count + 1)) }
        }

        let serial = try #require(SecCertificateCopySerialNumberData(certificate, nil)) as Data
        // OpenSSL prints the number, we return its contents: a leading zero may keep it positive.
        #expect(["", "00"].map { $0 + (values("serial").first ?? "") }.contains(serial.hex))

        let formatter = ISO8601DateFormatter()
        func date(_ key: String) throws -> Date? {
            formatter.date(from: try #require(values(key).first).replacingOccurrences(of: " ", with: "T"))
        }
        #expect(try SecCertificateCopyNotValidBeforeDate(certificate) as Date? == date("notBefore"))
        #expect(try SecCertificateCopyNotValidAfterDate(certificate) as Date? == date("notAfter"))

        var commonName: CFString?
        let status = SecCertificateCopyCommonName(certificate, &commonName)
        #expect(commonName as String? == values("commonName").last)
        #expect(status == (values("commonName").isEmpty ? internalError : errSecSuccess))
        #expect(SecCertificateCopySubjectSummary(certificate) != nil)

        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        let expected = try openssl("x509", "-in", file, "-noout", "-email").split(separator: "\n").map(String.init)
        // OpenSSL says each once.
        #expect(Set(addresses as? [String] ?? ["none"]) == Set(expected))

        let identifier = fields.firstIndex { $0.hasPrefix("X509v3 Subject Key Identifier") }.map { fields[$0 + 1] }
        let value = try #require(Certificate(der: der))
        #expect(value.subjectKeyIdentifier?.hex == identifier?.replacingOccurrences(of: ":", with: ""))

        let key = try #require(SecCertificateCopyKey(certificate))
        let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
        let pem = try openssl("x509", "-in", file, "-noout", "-pubkey")
        try openssl.write(Data(pem.utf8), "key.pem")
        try openssl("pkey", "-pubin", "-in", "key.pem", "-outform", "DER", "-out", "key.der")
        #expect(try openssl["key.der"].suffix(bytes.count) == bytes)

        // They issued themselves.
        let subject = SecCertificateCopyNormalizedSubjectSequence(certificate)
        #expect(subject != nil && subject == SecCertificateCopyNormalizedIssuerSequence(certificate))
    }
}
