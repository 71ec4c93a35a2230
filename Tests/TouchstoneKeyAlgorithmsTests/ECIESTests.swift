import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

@Suite struct ECIESTests {
    static let all: [ECIES] =
        HashAlgorithm.allCases.map { ECIES(hash: $0, initializationVector: .zero) }
        + HashAlgorithm.allCases.filter { $0 != .sha1 }.map { ECIES(hash: $0, initializationVector: .derived) }

    @Test("SE-30, SE-35: what others made on macOS and on Linux is decrypted")
    func publicVectors() throws {
        let vectors = try vectors().public
        let key = try EllipticCurvePrivateKey(.p256, number: Data(hex: vectors.number))
        guard case .eciesEncryption(let scheme)? = KeyAlgorithm(identifier: vectors.algorithm) else {
            Issue.record("not known: \(vectors.algorithm)")
            return
        }
        #expect(vectors.ciphertexts.count == 2)
        for text in vectors.ciphertexts {
            let ciphertext = try #require(Data(base64Encoded: text))
            #expect(try key.decrypt(ciphertext, scheme) == Data(vectors.plaintext.utf8))
        }
    }

    @Test("SE-30, SE-31: with a fixed ephemeral key every byte is as expected")
    func ownVectors() throws {
        let vectors = try vectors().own
        let key = try EllipticCurvePrivateKey(.p256, number: Data(hex: vectors.number))
        let ephemeral = try EllipticCurvePrivateKey(.p256, number: Data(hex: vectors.ephemeralNumber))
        let point = ephemeral.publicKey.x963Representation
        #expect(key.publicKey.x963Representation.hex == vectors.point)
        #expect(point.hex == vectors.ephemeralPoint)
        let secret = try key.sharedSecret(with: ephemeral.publicKey)
        #expect(secret.withUnsafeBytes { Data($0) }.hex == vectors.sharedSecret)
        #expect(vectors.encrypted.count == 6)
        for vector in vectors.encrypted {
            let hash = try #require(HashAlgorithm(rawValue: vector.hash))
            let derived = try hash.deriveKey(from: secret, info: point, byteCount: 32).withUnsafeBytes { Data($0) }
            #expect(derived.prefix(16).hex == vector.key)
            if vector.derivesVector { #expect(derived.suffix(16).hex == vector.vector) }
            let scheme = ECIES(hash: hash, initializationVector: vector.derivesVector ? .derived : .zero)
            let expected = point + Data(hex: vector.rest)
            let plaintext = Data(vectors.plaintext.utf8)
            #expect(try scheme.encrypt(plaintext, to: key.publicKey, ephemeral: ephemeral) == expected)
            #expect(try key.decrypt(expected, scheme) == plaintext)
        }
        // With Apple's private parameters, which the API does not take: our derivation, and the same cipher.
        #expect(vectors.derived.count == 2)
        for vector in vectors.derived {
            let hash = try #require(HashAlgorithm(rawValue: vector.hash))
            let (keyBytes, nonce, rest) = (Data(hex: vector.key), Data(hex: vector.vector), Data(hex: vector.rest))
            let derived = try hash.deriveKey(
                from: secret, info: point + Data(vector.sharedInfo.utf8), byteCount: keyBytes.count + nonce.count)
            #expect(derived.withUnsafeBytes { Data($0) } == keyBytes + nonce)
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce), ciphertext: rest.dropLast(16), tag: rest.suffix(16))
            let plaintext = try AES.GCM.open(
                box, using: SymmetricKey(data: keyBytes), authenticating: Data(vector.additionalData.utf8))
            #expect(plaintext == Data(vectors.plaintext.utf8))
        }
    }

    @Test("SE-30, SE-32: Python decrypts what we encrypt, and we what it encrypts", arguments: EllipticCurve.current)
    func foreign(_ curve: EllipticCurve) throws {
        let key = try EllipticCurvePrivateKey(curve)
        let plaintexts = [Data(), Data("hello".utf8), Data.random(count: 5000)]
        var requests: [[String: Any]] = []
        for scheme in Self.all {
            for plaintext in plaintexts {
                let request: [String: Any] = [
                    "curve": "\(curve)", "hash": scheme.hash.rawValue,
                    "derivesVector": scheme.initializationVector == .derived,
                ]
                requests.append(
                    request.merging([
                        "operation": "ecies_decrypt", "number": key.number.hex,
                        "data": try scheme.encrypt(plaintext, to: key.publicKey).hex,
                    ]) { $1 })
                requests.append(
                    request.merging([
                        "operation": "ecies_encrypt", "point": key.publicKey.x963Representation.hex,
                        "data": plaintext.hex,
                    ]) { $1 })
            }
        }
        var answers = try Foreign.python(requests).makeIterator()
        for scheme in Self.all {
            for plaintext in plaintexts {
                #expect(answers.next() == plaintext, "decrypted by Python: \(scheme)")
                let encrypted = try #require(answers.next() ?? nil)
                #expect(try key.decrypt(encrypted, scheme) == plaintext, "encrypted by Python: \(scheme)")
            }
        }
    }

    @Test("SE-33: the empty plaintext is legal, and what is shorter than a point and a tag is not")
    func lengths() throws {
        for curve in EllipticCurve.current {
            let key = try EllipticCurvePrivateKey(curve)
            for scheme in Self.all {
                let ciphertext = try scheme.encrypt(Data(), to: key.publicKey)
                #expect(ciphertext.count == 1 + 2 * curve.fieldSize + 16)
                #expect(try key.decrypt(ciphertext, scheme) == Data())
                for count in [0, 1, 16, ciphertext.count - 1] {
                    #expect(throws: Status.param) { try key.decrypt(ciphertext.prefix(count), scheme) }
                }
                #expect(throws: Status.param) { try key.decrypt(ciphertext + [0], scheme) }
            }
        }
    }

    @Test("SE-33: any byte that is changed is noticed")
    func alteredCiphertext() throws {
        let key = try EllipticCurvePrivateKey(.p256)
        let scheme = ECIES(hash: .sha256, initializationVector: .derived)
        let ciphertext = try scheme.encrypt(Data("a secret".utf8), to: key.publicKey)
        for index in ciphertext.indices {
            #expect(throws: Status.param, "byte \(index)") {
                try key.decrypt(ciphertext.flippingBit(at: index), scheme)
            }
        }
    }

    @Test func anotherKeyHashOrVectorDoesNotDecrypt() throws {
        let key = try EllipticCurvePrivateKey(.p256)
        let other = try EllipticCurvePrivateKey(.p256)
        for scheme in Self.all {
            let ciphertext = try scheme.encrypt(Data("a secret".utf8), to: key.publicKey)
            #expect(throws: Status.param) { try other.decrypt(ciphertext, scheme) }
            for another in Self.all where another != scheme {
                #expect(throws: Status.param) { try key.decrypt(ciphertext, another) }
            }
        }
    }

    @Test("SE-34: no two messages have the same ephemeral key, nor the same bytes after it, where the vector is zeros")
    func ephemeralKeysAreNotUsedTwice() throws {
        let key = try EllipticCurvePrivateKey(.p256)
        for scheme in Self.all where scheme.initializationVector == .zero {
            let messages = try (0..<20).map { _ in try scheme.encrypt(Data(count: 16), to: key.publicKey) }
            #expect(Set(messages.map { $0.prefix(65) }).count == messages.count)
            #expect(Set(messages.map { $0.dropFirst(65).prefix(16) }).count == messages.count)
        }
    }

    @Test func slicesAreReadFromTheirStart() throws {
        let key = try EllipticCurvePrivateKey(.p256)
        let scheme = ECIES(hash: .sha256, initializationVector: .derived)
        let ciphertext = try scheme.encrypt(Data("a secret".utf8), to: key.publicKey)
        #expect(try key.decrypt((Data([1, 2, 3]) + ciphertext).dropFirst(3), scheme) == Data("a secret".utf8))
    }

    private func vectors() throws -> Vectors {
        try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: Foreign.fixture("ecies_vectors", "json")))
    }
}

private struct Vectors: Decodable {
    struct Public: Decodable {
        let number, algorithm, plaintext: String
        let ciphertexts: [String]
    }
    struct Encrypted: Decodable {
        let hash, key, vector, rest: String
        let derivesVector: Bool
    }
    struct Derived: Decodable {
        let hash, sharedInfo, additionalData, key, vector, rest: String
    }
    struct Own: Decodable {
        let number, point, ephemeralNumber, ephemeralPoint, sharedSecret, plaintext: String
        let encrypted: [Encrypted]
        let derived: [Derived]
    }
    let `public`: Public
    let own: Own
}

extension EllipticCurvePrivateKey {
    var number: Data { x963Representation.suffix(publicKey.curve.fieldSize) }
}
