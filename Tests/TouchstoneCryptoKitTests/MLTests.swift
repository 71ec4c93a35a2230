import CryptoKit
import Foundation
import Testing
import TouchstoneTesting

/// What keys of ML-KEM and ML-DSA in the enclave make, looked at with swift-crypto.
@Suite(.timeLimit(.minutes(10))) struct MLTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    @Test("An encapsulated secret comes out; changed, another one does (FIPS 203, implicit rejection)")
    func decapsulate() throws {
        try device.run {
            let key = try SecureEnclave.MLKEM768.PrivateKey()
            let result = try key.publicKey.encapsulate()
            #expect(result.encapsulated.count == 1088)
            #expect(try key.decapsulate(result.encapsulated) == result.sharedSecret)
            #expect(try key.decapsulate(result.encapsulated.flippingBit(100)) != result.sharedSecret)
            let large = try SecureEnclave.MLKEM1024.PrivateKey()
            let larger = try large.publicKey.encapsulate()
            #expect(larger.encapsulated.count == 1568)
            #expect(try large.decapsulate(larger.encapsulated) == larger.sharedSecret)
        }
    }

    @Test("An encapsulated secret of another length is refused") func encapsulatedLength() throws {
        try device.run {
            let key = try SecureEnclave.MLKEM768.PrivateKey()
            let encapsulated = try key.publicKey.encapsulate().encapsulated
            for other in [Data(), encapsulated.dropLast(), encapsulated + [0], Data(count: 1568), Data(count: 2 << 20)]
            {
                #expect(throws: CryptoKitError.incorrectParameterSize) { try key.decapsulate(other) }
            }
        }
    }

    @Test("A key that generate() made works as one that the initializer made") func generate() throws {
        func check<Key: KEMPrivateKey>(_ type: Key.Type) throws {
            let key = try Key.generate()
            let result = try key.publicKey.encapsulate()
            #expect(try key.decapsulate(result.encapsulated) == result.sharedSecret)
        }
        try device.run {
            try check(SecureEnclave.MLKEM768.PrivateKey.self)
            try check(SecureEnclave.MLKEM1024.PrivateKey.self)
        }
    }

    @Test("A signature verifies for its message, in its context, by its key, and for no other") func sign() throws {
        try device.run {
            let key = try SecureEnclave.MLDSA65.PrivateKey()
            let (message, context) = (Data("message".utf8), Data("context".utf8))
            let plain = try key.signature(for: message)
            let bound = try key.signature(for: message, context: context)
            #expect(plain.count == 3309)
            #expect(key.publicKey.isValidSignature(plain, for: message))
            #expect(key.publicKey.isValidSignature(bound, for: message, context: context))
            #expect(!key.publicKey.isValidSignature(plain, for: message, context: context))
            #expect(!key.publicKey.isValidSignature(bound, for: message))
            #expect(!key.publicKey.isValidSignature(bound, for: message, context: Data("Context".utf8)))
            #expect(!key.publicKey.isValidSignature(plain, for: Data("Message".utf8)))
            let other = try SecureEnclave.MLDSA65.PrivateKey()
            #expect(!other.publicKey.isValidSignature(plain, for: message))
            // No context is the empty one.
            #expect(key.publicKey.isValidSignature(try key.signature(for: message, context: Data()), for: message))

            let large = try SecureEnclave.MLDSA87.PrivateKey()
            let signature = try large.signature(for: message, context: context)
            #expect(signature.count == 4627)
            #expect(large.publicKey.isValidSignature(signature, for: message, context: context))
        }
    }

    @Test("A message up to 512 KiB and a context up to 255 bytes are signed, longer ones are refused") func bounds()
        throws
    {
        try device.run {
            let key = try SecureEnclave.MLDSA87.PrivateKey()
            let (message, context) = (Data(count: 512 << 10), Data(count: 255))
            #expect(
                key.publicKey.isValidSignature(
                    try key.signature(for: message, context: context), for: message, context: context))
            #expect(key.publicKey.isValidSignature(try key.signature(for: Data()), for: Data()))
            for length in [(512 << 10) + 1, 2 << 20] {
                #expect(throws: CryptoKitError.incorrectParameterSize) { try key.signature(for: Data(count: length)) }
            }
            #expect(throws: CryptoKitError.incorrectParameterSize) {
                try key.signature(for: Data(), context: Data(count: 256))
            }
        }
    }
}
