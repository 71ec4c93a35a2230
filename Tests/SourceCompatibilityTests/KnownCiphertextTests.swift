import Foundation
import Security
import Testing

/// What Apple's own regression tests decrypt, with the keys that stand there.
@Suite struct KnownCiphertextTests {
    struct Vector: Decodable {
        let type, algorithm, key, ciphertext: String
        let size: Int
    }
    struct Vectors: Decodable {
        let plaintext: String
        let vectors: [Vector]
    }

    private func vectors() throws -> (plaintext: Data, vectors: [Vector]) {
        let url = try #require(
            Bundle.module.url(forResource: "apple_ciphertexts", withExtension: "json", subdirectory: "Fixtures"))
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
        #expect(vectors.vectors.count == 20)
        for (size, count) in [(192, 5), (256, 5), (521, 5), (1024, 4), (4096, 1)] {
            #expect(vectors.vectors.filter { $0.size == size }.count == count, "\(size)")
        }
        return (try #require(Data(base64Encoded: vectors.plaintext)), vectors.vectors)
    }

    private func key(_ vector: Vector) throws -> SecKey {
        let attributes = [kSecAttrKeyType: vector.type, kSecAttrKeyClass: kSecAttrKeyClassPrivate] as CFDictionary
        let data = try #require(Data(base64Encoded: vector.key))
        return try #require(SecKeyCreateWithData(data as CFData, attributes, nil), "\(vector.algorithm)")
    }

    @Test("SE-30, SE-31: each of Apple's 20 ciphertexts becomes the plaintext; five of them are of P-192")
    func knownCiphertextsAreDecrypted() throws {
        let (plaintext, vectors) = try vectors()
        for vector in vectors {
            let key = try key(vector)
            let algorithm = SecKeyAlgorithm(rawValue: vector.algorithm as CFString)
            #expect(SecKeyIsAlgorithmSupported(key, .decrypt, algorithm))
            let ciphertext = try #require(Data(base64Encoded: vector.ciphertext))
            let decrypted = SecKeyCreateDecryptedData(key, algorithm, ciphertext as CFData, nil)
            #expect(decrypted as Data? == plaintext, "\(vector.size) \(vector.algorithm)")
            let attributes = try #require(SecKeyCopyAttributes(key))
            #expect(attributes[kSecAttrKeySizeInBits] as? Int == vector.size)
            #expect(SecKeyCopyExternalRepresentation(key, nil) as Data? == Data(base64Encoded: vector.key))
        }
    }

    @Test("SE-33: changed as Apple's tests change them, in the tag, the text and the point, they are refused")
    func changedCiphertextsAreRefused() throws {
        for vector in try vectors().vectors {
            let key = try key(vector)
            let algorithm = SecKeyAlgorithm(rawValue: vector.algorithm as CFString)
            let ciphertext = try #require(Data(base64Encoded: vector.ciphertext))
            for index in [ciphertext.count - 8, ciphertext.count - 20, 0, 1] {
                var changed = ciphertext
                changed[index] ^= 0xff
                var error: Unmanaged<CFError>?
                #expect(unsafe SecKeyCreateDecryptedData(key, algorithm, changed as CFData, &error) == nil)
                #expect(unsafe error.map { unsafe $0.takeRetainedValue().code } == Int(errSecParam))
            }
            // The same key with another hash.
            let other = vector.algorithm.contains("SHA256") ? "SHA384" : "SHA256"
            let name = vector.algorithm.replacing(/SHA[0-9]+/, with: other)
            #expect(
                SecKeyCreateDecryptedData(
                    key, SecKeyAlgorithm(rawValue: name as CFString), ciphertext as CFData, nil) == nil)
        }
    }
}
