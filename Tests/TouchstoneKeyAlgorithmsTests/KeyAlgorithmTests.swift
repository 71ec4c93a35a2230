import Foundation
import Testing
import TouchstoneKeyAlgorithms

@Suite struct KeyAlgorithmTests {
    @Test func everyPublicNameOfApplesIsKnown() throws {
        let rows = try String(contentsOf: Foreign.fixture("sec_key_algorithms", "csv"), encoding: .utf8)
            .split(separator: "\n").dropFirst().map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        #expect(rows.filter { $0[3] == "public" }.count == 87)
        for row in rows {
            #expect((KeyAlgorithm(identifier: String(row[2])) != nil) == (row[3] == "public"), "\(row[0])")
        }
    }

    @Test func otherNamesAreNot() {
        for name in [
            "", "algid", "algid:sign:ECDSA:digest-X962:SHA3", "algid:sign:RSA:digest-PSS:SHA224:SHA224:28",
            "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM-KDFIV", "ALGID:SIGN:RSA:RAW", "algid:sign:RSA:raw ",
        ] {
            #expect(KeyAlgorithm(identifier: name) == nil, "\(name)")
        }
    }

    @Test func namesSayWhatIsMeant() {
        #expect(
            KeyAlgorithm(identifier: "algid:sign:RSA:digest-PSS:SHA224:SHA224:24")
                == .rsaSignature(.pss, .digest(.sha224)))
        #expect(
            KeyAlgorithm(identifier: "algid:sign:ECDSA:message-RFC4754:SHA384")
                == .ecdsaSignature(.rfc4754, .message(.sha384)))
        #expect(
            KeyAlgorithm(identifier: "algid:encrypt:RSA:OAEP:SHA1:AESGCM") == .rsaEncryption(.oaepWithAESGCM(.sha1)))
        #expect(
            KeyAlgorithm(identifier: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
                == .eciesEncryption(ECIES(hash: .sha512, initializationVector: .derived)))
        #expect(KeyAlgorithm(identifier: "algid:keyexchange:ECDH:KDFX963:SHA1") == .ecdhKeyExchange(.sha1))
    }
}
