import Foundation
import Security
import Testing

/// What a function puts its result into holds anything before: it is written, never read.
@Suite struct CertificateOutPointerTests {
    /// Runs `body` with memory of which no byte means anything, and gives what it has put there.
    private func filled<T>(_ body: (UnsafeMutablePointer<T?>) throws -> OSStatus) rethrows -> T? {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<T?>.size, alignment: MemoryLayout<T?>.alignment)
        defer { memory.deallocate() }
        // An address that nobody has: to release what is there would end the process.
        for index in 0..<MemoryLayout<T?>.size { memory.storeBytes(of: 0x5A, toByteOffset: index, as: UInt8.self) }
        let pointer = memory.bindMemory(to: T?.self, capacity: 1)
        return try body(pointer) == errSecSuccess ? pointer.move() : nil
    }

    @Test("The parts of a certificate, of an identity and of a file are written over whatever was there")
    func everyFunction() throws {
        let openssl = try OpenSSL()
        try openssl.makeKey()
        let der = try openssl.makeCertificate(subject: "/CN=Somebody")
        try openssl.run([
            "pkcs12", "-export", "-inkey", "one.key", "-in", "one.pem", "-passout", "pass:p", "-out", "one.p12",
        ])
        let file = try openssl["one.p12"]
        let options = [kSecImportExportPassphrase: "p"] as CFDictionary
        let items: CFArray? = filled { SecPKCS12Import(file as CFData, options, $0) }
        let item = try #require((items as? [[String: Any]])?.first)
        let identity = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
        let certificate: SecCertificate? = filled { SecIdentityCopyCertificate(identity, $0) }
        #expect(certificate.map { SecCertificateCopyData($0) as Data } == der)
        let key: SecKey? = filled { SecIdentityCopyPrivateKey(identity, $0) }
        #expect(key.map { SecKeyGetBlockSize($0) } == 32)
        let name: CFString? = try filled { SecCertificateCopyCommonName(try #require(certificate), $0) }
        #expect(name == "Somebody" as CFString)
        let addresses: CFArray? = try filled { SecCertificateCopyEmailAddresses(try #require(certificate), $0) }
        #expect(addresses?.count == 0)
    }
}
