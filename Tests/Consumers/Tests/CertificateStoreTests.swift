import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct CertificateStoreTests {
    let store = CertificateStore()
    /// Of `openssl req -x509` and a key of its own on P-256.
    let der = Data(
        base64Encoded: """
            MIIBqzCCAVGgAwIBAgIUcS9I00DHUIHMmwklWCsQg8V4McgwCgYIKoZIzj0EAwIwKjEYMBYGA1UEAwwPVG91Y2hzdG9uZSBUZXN0MQ4wDAYDVQ
            QKDAVUZXN0czAgFw0yNjExMjExNDE5NTNaGA8yMTI2MTAyODE0MTk1M1owKjEYMBYGA1UEAwwPVG91Y2hzdG9uZSBUZXN0MQ4wDAYDVQQKDAVU
            ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOQDA58HUFyxRwlkebNwI6264sCLceoqLc523obAXVGJlbLn8sW0NmhZTrI8rNEXn35J+g
            dwAqZJlgTrXDjH0EejUzBRMB0GA1UdDgQWBBQpOaUs5Lbthl5vTkrDcZs0v3XTBDAfBgNVHSMEGDAWgBQpOaUs5Lbthl5vTkrDcZs0v3XTBDAP
            BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDU+cKEuAJ5QYQ/jstkJgv0Lfr5beSiJjSFm9lht+9XawIgSCR0bS8Ll0O+71K26X
            M8XeHFAbUSNyDeA1NWDMQ7kgM=
            """, options: .ignoreUnknownCharacters)!
    /// The point and the number of that key.
    let privateKey = Data(
        base64Encoded: """
            BOQDA58HUFyxRwlkebNwI6264sCLceoqLc523obAXVGJlbLn8sW0NmhZTrI8rNEXn35J+gdwAqZJlgTrXDjH0EcWku3ej3HuZzwsDeZ3L6J+2RFN
            kwAdZZhpyCWNSuOcog==
            """, options: .ignoreUnknownCharacters)!

    @Test("KC-31: a certificate goes in and out as an object, and only once")
    func certificates() throws {
        try SimulatedDevice().run {
            #expect(try store.all().isEmpty)
            let added = try store.add(der, label: "server")
            let found = try #require(try store.certificate("server"))
            #expect(found == added && CFEqual(found, added) && SecCertificateCopyData(found) as Data == der)
            #expect(SecCertificateCopySubjectSummary(found) as String? == "Touchstone Test")
            #expect(try store.isPinned(added))
            #expect(throws: PasswordError.duplicate) { try store.add(der, label: "again") }
            #expect(try store.all().count == 1)
            #expect(try CertificateStore.publicKey(found) == privateKey.prefix(65))
            try store.remove("server")
            #expect(try !store.isPinned(added))
            #expect(try store.certificate("server") == nil)
            #expect(throws: PasswordError.missing) { try store.remove("server") }
        }
    }

    @Test("What is no certificate is refused")
    func notACertificate() throws {
        try SimulatedDevice().run {
            #expect(throws: PasswordError.notReadable) { try store.add(der.dropLast(), label: "short") }
            #expect(throws: PasswordError.notReadable) { try store.add(Data("text".utf8), label: "text") }
            #expect(throws: NSError.self) { try store.add(privateKey: privateKey.dropLast(), tag: "short") }
        }
    }

    @Test("A certificate and its private key are an identity, one without the other is none")
    func identities() throws {
        try SimulatedDevice().run {
            try store.add(der, label: "client")
            #expect(try store.identity() == nil)
            try store.add(privateKey: privateKey, tag: "com.example.key")
            let identity = try #require(try store.identity())
            #expect(SecCertificateCopyData(identity.certificate) as Data == der)
            let key = try #require(store.privateKey("com.example.key"))
            #expect(CFGetTypeID(key) == SecKeyGetTypeID() && store.privateKey("com.example.other") == nil)
            let point = SecKeyCopyPublicKey(key).flatMap { SecKeyCopyExternalRepresentation($0, nil) } as Data?
            #expect(point == privateKey.prefix(65))
            #expect(SecKeyCopyExternalRepresentation(identity.key, nil) as Data? == privateKey)
            try store.remove("client")
            #expect(try store.identity() == nil && store.privateKey("com.example.key") != nil)
        }
    }
}
