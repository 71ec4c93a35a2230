import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

/// Project Wycheproof's vectors for this are not in swift-crypto: these are RSA Laboratories' own.
@Suite struct PKCS1DecryptionTests {
    @Test("RSA: 300 ciphertexts of PKCS#1 v1.5 under 15 keys, and each of them changed")
    func publishedVectors() throws {
        let file = try Data(contentsOf: Foreign.fixture("rsa_pkcs1_decrypt", "json"))
        let keys = try JSONDecoder().decode(Vectors.self, from: file).keys
        #expect(keys.count == 15)
        var count = 0
        for fields in keys {
            let key = try RSAPrivateKey(derRepresentation: Data(hex: fields.key))
            #expect(key.keySizeInBits == fields.bits)
            for vector in fields.vectors {
                let ciphertext = Data(hex: vector.encryption)
                #expect(try key.decrypt(ciphertext, .pkcs1).hex == vector.message)
                // A changed one is refused, or, with a probability of 1 to 65,536, is something else.
                #expect(
                    (try? key.decrypt(ciphertext.flippingBit(at: ciphertext.count - 1), .pkcs1).hex) != vector.message)
                #expect(throws: Status.param) { try key.decrypt(ciphertext.dropLast(), .pkcs1) }
                count += 1
            }
        }
        #expect(count == 300)
    }

    private struct Vectors: Decodable {
        struct Key: Decodable {
            let bits: Int
            let key: String
            let vectors: [Vector]
        }
        struct Vector: Decodable {
            let message, encryption: String
        }
        let keys: [Key]
    }
}
