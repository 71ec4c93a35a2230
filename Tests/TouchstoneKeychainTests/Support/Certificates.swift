import Foundation
import Security
import Testing

/// Certificates of P-256 keys, made once with another library; their names begin with the organization Touchstone.
enum TestCertificates {
    /// A root, issued by itself.
    static let root = data(
        """
        MIIBQTCB56ADAgECAgEBMAoGCCqGSM49BAMCMCkxEzARBgNVBAoMClRvdWNoc3RvbmUxEjAQBgNVBAMMCVRlc3QgUm9vdDAgFw0w
        MDAxMDEwMDAwMDBaGA8yMDkwMDEwMTAwMDAwMFowKTETMBEGA1UECgwKVG91Y2hzdG9uZTESMBAGA1UEAwwJVGVzdCBSb290MFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjzUXVhO+tUf8hahsEfYKzIwczKeGfD4Bc46tnJy4YXKBxGkjNAKVLLO4dz/Vw67U3G1T
        Kn7kmuMTbABDDn7vxDAKBggqhkjOPQQDAgNJADBGAiEAh6qGkw/Q9APb7OxSlNLABZbmw+LZEtVK3LKbEirzE30CIQCxeClwgCFl
        g2WmEz/OkllzkgDSNIO12Il2/37oA1GCNg==
        """)
    /// Issued by the root.
    static let intermediate = data(
        """
        MIIBSDCB76ADAgECAgECMAoGCCqGSM49BAMCMCkxEzARBgNVBAoMClRvdWNoc3RvbmUxEjAQBgNVBAMMCVRlc3QgUm9vdDAgFw0w
        MDAxMDEwMDAwMDBaGA8yMDkwMDEwMTAwMDAwMFowMTETMBEGA1UECgwKVG91Y2hzdG9uZTEaMBgGA1UEAwwRVGVzdCBJbnRlcm1l
        ZGlhdGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASU1pfmX0zKqo7ITdP69KT4yA8QG801vVE+CQQCBj7breijC5IUCSs2h04Z
        idIdZfMDf7OuMsnnjryJ9JwF0E+PMAoGCCqGSM49BAMCA0gAMEUCIQDHKa0e25/6I90aw5dbxdFRZfe3zEhjRPu0lYSSm2BO3AIg
        ApaymNZfR6vruCwID96kmsY67qBrCMm3Ebx+rCo6BpE=
        """)
    /// Issued by the intermediate to `ada@example.org`; valid from 2020.
    static let client = data(
        """
        MIIBazCCARKgAwIBAgIBAzAKBggqhkjOPQQDAjAxMRMwEQYDVQQKDApUb3VjaHN0b25lMRowGAYDVQQDDBFUZXN0IEludGVybWVk
        aWF0ZTAgFw0yMDAxMDEwMDAwMDBaGA8yMDkwMDEwMTAwMDAwMFowLDETMBEGA1UECgwKVG91Y2hzdG9uZTEVMBMGA1UEAwwMQ2Fm
        w6kgQ2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0hxmK8WpW3NMQhmdJSxSAYRZG3ORo8kumjiIdgGHmC0z2Xle30ex
        ZYCUGmTjPgx6mSCKA7eudYJB4YZFTyC68qMeMBwwGgYDVR0RBBMwEYEPYWRhQGV4YW1wbGUub3JnMAoGCCqGSM49BAMCA0cAMEQC
        IA2/ULaOdW5A2waw3hQ6jIk5KTKrx3VFWhDnMt0JgHycAiALfRxjbq3qbR05piUZaFRj6OfvxiCcyFCehNGAqXXqyg==
        """)
    /// Another of the client's key, issued by the root; valid in 2010 only, and without an address.
    static let renewed = data(
        """
        MIIBRDCB6qADAgECAgEEMAoGCCqGSM49BAMCMCkxEzARBgNVBAoMClRvdWNoc3RvbmUxEjAQBgNVBAMMCVRlc3QgUm9vdDAeFw0x
        MDAxMDEwMDAwMDBaFw0xMTAxMDEwMDAwMDBaMC4xEzARBgNVBAoMClRvdWNoc3RvbmUxFzAVBgNVBAMMDkNsaWVudCBSZW5ld2Vk
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0hxmK8WpW3NMQhmdJSxSAYRZG3ORo8kumjiIdgGHmC0z2Xle30exZYCUGmTjPgx6
        mSCKA7eudYJB4YZFTyC68jAKBggqhkjOPQQDAgNJADBGAiEAmVug35hdhBlR+OAFOwfRg97pXHJsLx3YdlZtMkZjvgECIQCbMhvP
        qZ8SrwuPKfxHGKkTrhbGVwakSpOVDwlwX4Xoew==
        """)
    /// Issued by nobody of these.
    static let stranger = data(
        """
        MIIBPjCB5qADAgECAgEFMAoGCCqGSM49BAMCMCkxEzARBgNVBAoMClRvdWNoc3RvbmUxEjAQBgNVBAMMCUVsc2V3aGVyZTAgFw0w
        MDAxMDEwMDAwMDBaGA8yMDkwMDEwMTAwMDAwMFowKDETMBEGA1UECgwKVG91Y2hzdG9uZTERMA8GA1UEAwwIU3RyYW5nZXIwWTAT
        BgcqhkjOPQIBBggqhkjOPQMBBwNCAATsyE7Z1emKXWIPlY9IZ5853/v/HPEgKV19kvjlNPFhDUqxzOxNgEYVOhzdlNiXW/j0DJQq
        q/gXXUfpkrlLh7uxMAoGCCqGSM49BAMCA0cAMEQCIHoTdhG660sAu5+BXr8tfQrYWkA4qtjbwbM4UkEwjOO5AiAb044PbGt+f/Ju
        qyu2VbeLOfew4hSQZcb2k4Upc3wT1w==
        """)
    /// The client's private key: `04 ‖ X ‖ Y ‖ K`.
    static let clientKey = data(
        """
        BNIcZivFqVtzTEIZnSUsUgGEWRtzkaPJLpo4iHYBh5gtM9l5Xt9HsWWAlBpk4z4MepkgigO3rnWCQeGGRU8guvKVPTZekWOv5k9D
        88GkwiG1ngXKFC58sox3UgJaoe/ijQ==
        """)
    /// The stranger's private key.
    static let strangerKey = data(
        """
        BOzITtnV6YpdYg+Vj0hnnznf+/8c8SApXX2S+OU08WENSrHM7E2ARhU6HN2U2Jdb+PQMlCqr+BddR+mSuUuHu7EbIrFuDjLSRa9z
        7QEb4ouQDdFUQcEHRS9AOk0OFoRuDw==
        """)

    private static func data(_ base64: String) -> Data {
        Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data()
    }
}

func certificate(_ der: Data) throws -> SecCertificate {
    try #require(SecCertificateCreateWithData(nil, der as CFData))
}

/// A private key of P-256 by its bytes.
func privateKey(_ bytes: Data) throws -> SecKey {
    let attributes: Attributes = [
        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
    ]
    return try #require(SecKeyCreateWithData(bytes as CFData, attributes as CFDictionary, nil))
}

/// The client's certificate and key, joined.
func clientIdentity() throws -> SecIdentity {
    try #require(
        SecIdentityCreate(nil, certificate(TestCertificates.client), privateKey(TestCertificates.clientKey)))
}

/// The status of adding what a reference stands for.
@discardableResult
func addReference(_ reference: AnyObject, _ attributes: Attributes = [:]) -> OSStatus {
    add(attributes.with(kSecValueRef, reference))
}

/// A certificate's dictionary.
func certificates(_ attributes: Attributes = [:]) -> Attributes { attributes.with(kSecClass, kSecClassCertificate) }

/// A key's dictionary.
func keys(_ attributes: Attributes = [:]) -> Attributes { attributes.with(kSecClass, kSecClassKey) }

/// An identity's dictionary.
func identities(_ attributes: Attributes = [:]) -> Attributes { attributes.with(kSecClass, kSecClassIdentity) }

/// The labels of all matches.
func labels(_ query: Attributes) -> Set<String> {
    let found = find(query.all.attributes).result as? [[String: Any]] ?? []
    return Set(found.map { $0[kSecAttrLabel as String] as? String ?? "" })
}

/// Whether a result is an object equal to this one.
func isEqual(_ result: CFTypeRef?, _ object: AnyObject) -> Bool { (result as? NSObject)?.isEqual(object) ?? false }
