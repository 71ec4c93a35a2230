import Crypto
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Section 7.2: what a key of the enclave does, held against software that does the other half.
@Suite(.timeLimit(.minutes(10))) struct EnclaveKeyAlgorithmTests {
    private let device: SimulatedDevice
    private let key: SecKey

    init() throws {
        let device = try SimulatedDevice()
        self.device = device
        key = try device.run { try enclaveKey() }
    }

    /// Apple's 87 algorithms: the name in Swift, and the text.
    private static let algorithms: [(name: String, algorithm: SecKeyAlgorithm)] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("SourceCompatibilityTests/Fixtures/sec_key_algorithms.csv")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: ",")
            guard fields.last == "public", fields.count == 4 else { return nil }
            return (String(fields[1]), SecKeyAlgorithm(rawValue: String(fields[2]) as CFString))
        }
    }()

    private static let operations: [SecKeyOperationType] = [.sign, .verify, .encrypt, .decrypt, .keyExchange]
    private static let digestLengths = ["SHA1": 20, "SHA224": 28, "SHA256": 32, "SHA384": 48, "SHA512": 64]

    /// What an algorithm signs: where its name says of which hash it takes a digest, one as long as that.
    private func data(_ name: String) -> Data {
        let length = Self.digestLengths.first { name.contains("Digest") && name.hasSuffix($0.key) }?.value
        return Data(repeating: 7, count: length ?? 11)
    }

    @Test(
        "SE-12, SE-23: of the 87 algorithms it has those of a P-256 key, for what the private half does, and none of RSA"
    )
    func supportedAlgorithms() throws {
        try #require(Self.algorithms.count == 87)
        let software = try softwareKey()
        var count = 0
        for (name, algorithm) in Self.algorithms {
            for operation in Self.operations {
                let isSupported = SecKeyIsAlgorithmSupported(key, operation, algorithm)
                #expect(isSupported == SecKeyIsAlgorithmSupported(software, operation, algorithm), "\(name)")
                #expect(!isSupported || !name.hasPrefix("rsa"))
                if isSupported { count += 1 }
            }
        }
        #expect(count == 53)
    }

    @Test("SE-20...SE-23, SE-30: every supported one works, and what is not supported is -50")
    func everyAlgorithm() throws {
        let other = try softwareKey()
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        var used = 0
        try device.runUnprompted {
            for (name, algorithm) in Self.algorithms {
                if SecKeyIsAlgorithmSupported(key, .sign, algorithm) {
                    let signed = try signature(of: key, data(name), algorithm)
                    #expect(try isValid(signed, by: key, data(name), algorithm), "\(name)")
                    #expect(try !isValid(signed, by: other, data(name), algorithm), "\(name)")
                    var changed = data(name)
                    changed[0] ^= 1
                    #expect(try !isValid(signed, by: key, changed, algorithm), "\(name)")
                    #expect(!name.contains("RFC4754") || signed.count == 64)
                    used += 1
                } else {
                    #expect(status { try signature(of: key, data(name), algorithm) } == errSecParam, "\(name)")
                }
                if SecKeyIsAlgorithmSupported(key, .decrypt, algorithm) {
                    for plaintext in [Data(), Data("note".utf8), Data(repeating: 1, count: 100_000)] {
                        let ciphertext = try result {
                            SecKeyCreateEncryptedData(publicKey, algorithm, plaintext as CFData, $0)
                        }
                        let decrypted = try result { SecKeyCreateDecryptedData(key, algorithm, ciphertext, $0) }
                        #expect(decrypted as Data == plaintext, "\(name)")
                    }
                    used += 1
                } else {
                    let refused = status {
                        _ = try result { SecKeyCreateDecryptedData(key, algorithm, Data(count: 200) as CFData, $0) }
                    }
                    #expect(refused == errSecParam, "\(name)")
                }
                let wanted: [CFString: Any] = [
                    SecKeyKeyExchangeParameter.requestedSize.rawValue: 48,
                    SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data("info".utf8),
                ]
                if SecKeyIsAlgorithmSupported(key, .keyExchange, algorithm) {
                    let mine = try exchange(key, other, algorithm, wanted)
                    #expect(mine == (try exchange(other, key, algorithm, wanted)), "\(name)")
                    #expect(mine.count == (name.contains("X963") ? 48 : 32))
                    used += 1
                } else {
                    #expect(status { try exchange(key, other, algorithm, wanted) } == errSecParam, "\(name)")
                }
            }
        }
        #expect(used == 53)
    }

    @Test("SE-21: a longer digest is cut to its left 32 bytes, a shorter one is the same number")
    func lengthsOfDigests() throws {
        try device.runUnprompted {
            let any = SecKeyAlgorithm.ecdsaSignatureDigestX962
            for length in [1, 20, 28, 31, 32, 33, 48, 64, 1000] {
                let digest = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 + 1) })
                let signed = try signature(of: key, digest, any)
                #expect(try isValid(signed, by: key, digest, any), "\(length)")
                if length > 32 { #expect(try isValid(signed, by: key, digest.prefix(32), any)) }
            }
            #expect(status { try signature(of: key, Data(), any) } == errSecParam)
            for (hash, length) in [
                (SecKeyAlgorithm.ecdsaSignatureDigestX962SHA256, 31), (.ecdsaSignatureDigestX962SHA512, 32),
            ] {
                #expect(status { try signature(of: key, Data(count: length), hash) } == errSecParam)
            }
            // Another implementation reads it.
            let point = try P256.Signing.PublicKey(x963Representation: publicBytes(key))
            let message = Data("message".utf8)
            let signed = try P256.Signing.ECDSASignature(derRepresentation: signature(of: key, message))
            #expect(point.isValidSignature(signed, for: message))
            let long = try P256.Signing.ECDSASignature(
                derRepresentation: signature(of: key, message, .ecdsaSignatureMessageX962SHA512))
            #expect(point.isValidSignature(long, for: SHA512.hash(data: message)))
        }
    }

    @Test("SE-22: key exchange wants a size, a point of the same curve, and public keys")
    func malformedExchanges() throws {
        try device.runUnprompted {
            let other = try softwareKey()
            let derived = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
            let size = SecKeyKeyExchangeParameter.requestedSize.rawValue
            #expect(try exchange(key, other, derived, [size: 16]).count == 16)
            for wrong: [CFString: Any] in [[:], [size: -1], [size: "x"], [size: 1 << 40]] {
                #expect(status { try exchange(key, other, derived, wrong) } == errSecParam)
            }
            #expect(status { try exchange(key, softwareKey(384)) } == errSecParam)
            #expect(
                status {
                    _ = try result {
                        SecKeyCopyKeyExchangeResult(
                            key, .ecdhKeyExchangeStandard, other, [:] as CFDictionary, $0)
                    }
                } == errSecParam)
            #expect(
                try exchange(key, other, .ecdhKeyExchangeStandard) == exchange(key, other, .ecdhKeyExchangeCofactor))
        }
    }

    @Test(
        "SE-33: a ciphertext that is too short, changed anywhere, or another's is -50, and asks for nothing it need not"
    )
    func malformedCiphertexts() throws {
        try device.runUnprompted {
            let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA384AESGCM
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let ciphertext =
                try result {
                    SecKeyCreateEncryptedData(publicKey, algorithm, Data("n".utf8) as CFData, $0)
                } as Data
            func decrypt(_ data: Data, with key: SecKey) -> OSStatus? {
                status { _ = try result { SecKeyCreateDecryptedData(key, algorithm, data as CFData, $0) } }
            }
            #expect(decrypt(ciphertext, with: key) == nil)
            for count in [0, 1, 64, 65, 80] { #expect(decrypt(ciphertext.prefix(count), with: key) == errSecParam) }
            for index in ciphertext.indices {
                var changed = ciphertext
                changed[index] ^= 1
                #expect(decrypt(changed, with: key) == errSecParam, "byte \(index)")
            }
            #expect(decrypt(ciphertext + [0], with: key) == errSecParam)
            #expect(decrypt(ciphertext, with: try enclaveKey()) == errSecParam)
        }
    }

    @Test("SE-33: what cannot be decrypted is refused before anybody is asked") func refusedUnasked() throws {
        let guarded = try SimulatedDevice(passcode: "1234", fingers: 1)
        try guarded.runUnprompted {
            let key = try enclaveKey([.userPresence, .privateKeyUsage])
            for data in [Data(), Data(count: 80), Data(count: 200)] {
                let refused = status {
                    _ = try result {
                        SecKeyCreateDecryptedData(key, .eciesEncryptionStandardX963SHA256AESGCM, data as CFData, $0)
                    }
                }
                #expect(refused == errSecParam)
            }
            #expect(status { try signature(of: key, Data(), .ecdsaSignatureDigestX962) } == errSecParam)
            #expect(status { try signature(of: key, Data(), .rsaSignatureRaw) } == errSecParam)
            #expect(status { try exchange(key, softwareKey(384)) } == errSecParam)
        }
    }
}
