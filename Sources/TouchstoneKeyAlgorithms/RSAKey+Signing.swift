package import Foundation
package import TouchstoneCore

extension RSAKey {
    /// Whether the block of a scheme fits into the modulus.
    package func supports(_ scheme: RSASignatureScheme, _ input: SignatureInput) -> Bool {
        switch (scheme, input.hash) {
        case (.raw, _), (.pkcs1v15, nil): true
        case (.pkcs1v15, let hash?): modulusByteCount >= hash.digestInfoPrefix.count + hash.byteCount + 11
        case (.pss, let hash?): RSAPSS(hash, modulusSizeInBits: keySizeInBits) != nil
        case (.pss, nil): false
        }
    }
}

extension RSAPrivateKey {
    /// Signs.
    ///
    /// - Throws: `errSecParam` for a digest of a wrong length, or too much for the modulus.
    package func signature(
        for data: Data, _ scheme: RSASignatureScheme, _ input: SignatureInput
    ) throws(Status) -> Data {
        guard supports(scheme, input) else { throw .param }
        let digest = try input.digest(of: data)
        guard scheme == .pss, let hash = input.hash else {
            return try apply(publicKey.determinedBlock(digest, scheme, input.hash))
        }
        guard let pss = RSAPSS(hash, modulusSizeInBits: keySizeInBits) else { throw .param }
        return try apply(pss.block(digest))
    }
}

extension RSAPublicKey {
    /// Whether a signature is that of this key.
    ///
    /// - Throws: `errSecParam` for a digest of a wrong length, or too much for the modulus; what is not a signature is merely not valid.
    package func isValidSignature(
        _ signature: Data, for data: Data, _ scheme: RSASignatureScheme, _ input: SignatureInput
    ) throws(Status) -> Bool {
        guard supports(scheme, input) else { throw .param }
        let digest = try input.digest(of: data)
        let block = try? apply(signature)
        if scheme == .pss, let hash = input.hash {
            guard let pss = RSAPSS(hash, modulusSizeInBits: keySizeInBits) else { throw .param }
            return block.map { pss.isValid($0, digest) } ?? false
        }
        return try block == determinedBlock(digest, scheme, input.hash)
    }

    /// The block to sign, of the schemes where there is but one.
    fileprivate func determinedBlock(
        _ digest: Data, _ scheme: RSASignatureScheme, _ hash: HashAlgorithm?
    ) throws(Status) -> Data {
        let size = modulusByteCount
        if scheme == .raw { return try rawBlock(digest) }
        let content = (hash?.digestInfoPrefix ?? Data()) + digest
        guard content.count <= size - 11 else { throw .param }
        return Data([0, 1]) + Data(repeating: 0xff, count: size - 3 - content.count) + [0] + content
    }
}

extension RSAKey {
    /// A number as long as the modulus, from one that may be shorter.
    func rawBlock(_ number: Data) throws(Status) -> Data {
        guard number.count <= modulusByteCount else { throw .param }
        return Data(count: modulusByteCount - number.count) + number
    }
}

extension HashAlgorithm {
    /// What precedes a digest in the DER of a DigestInfo (RFC 8017 9.2).
    fileprivate var digestInfoPrefix: Data {
        let name: [UInt8] =
            switch self {
            case .sha1: [0x2b, 0x0e, 0x03, 0x02, 0x1a]
            case .sha224: Self.sha2Arc + [4]
            case .sha256: Self.sha2Arc + [1]
            case .sha384: Self.sha2Arc + [2]
            case .sha512: Self.sha2Arc + [3]
            }
        let algorithm = [0x06, UInt8(name.count)] + name + [0x05, 0x00]
        let digest = [0x04, UInt8(byteCount)]
        return Data([0x30, UInt8(algorithm.count + 4 + byteCount), 0x30, UInt8(algorithm.count)] + algorithm + digest)
    }

    private static let sha2Arc: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02]
}

/// The probabilistic scheme of RFC 8017 9.1, with MGF1 of the same hash and a salt as long as it.
private struct RSAPSS {
    let hash: HashAlgorithm
    let modulusByteCount: Int
    /// Bits of the first byte of the encoded message that must be 0.
    let unusedBits: Int
    let encodedByteCount: Int

    /// Nil for a modulus that does not hold the digest, as long a salt and the two bytes that there have to be.
    init?(_ hash: HashAlgorithm, modulusSizeInBits: Int) {
        self.hash = hash
        modulusByteCount = (modulusSizeInBits + 7) / 8
        // One bit less than the modulus, so that the number is less.
        encodedByteCount = (modulusSizeInBits + 6) / 8
        unusedBits = 8 * encodedByteCount - (modulusSizeInBits - 1)
        guard encodedByteCount >= 2 * hash.byteCount + 2 else { return nil }
    }

    func block(_ digest: Data) -> Data {
        let salt = Data.random(count: hash.byteCount)
        let check = self.check(digest, salt)
        let maskedByteCount = encodedByteCount - hash.byteCount - 1
        let plain = Data(count: maskedByteCount - salt.count - 1) + [1] + salt
        var masked = plain.xor(hash.mask(check, byteCount: maskedByteCount))
        masked[0] &= firstByteMask
        return Data(count: modulusByteCount - encodedByteCount) + masked + check + [0xbc]
    }

    func isValid(_ block: Data, _ digest: Data) -> Bool {
        let encoded = Data(block.suffix(encodedByteCount))
        let maskedByteCount = encodedByteCount - hash.byteCount - 1
        let masked = Data(encoded.prefix(maskedByteCount))
        let check = Data(encoded.dropFirst(maskedByteCount).prefix(hash.byteCount))
        guard block.dropLast(encodedByteCount).allSatisfy({ $0 == 0 }), encoded.last == 0xbc,
            masked[0] & ~firstByteMask == 0
        else { return false }
        var plain = masked.xor(hash.mask(check, byteCount: maskedByteCount))
        plain[0] &= firstByteMask
        let padding = plain.dropLast(hash.byteCount)
        guard padding.last == 1, padding.dropLast().allSatisfy({ $0 == 0 }) else { return false }
        return check == self.check(digest, Data(plain.suffix(hash.byteCount)))
    }

    private func check(_ digest: Data, _ salt: Data) -> Data {
        hash.hash(Data(count: 8) + digest + salt)
    }

    private var firstByteMask: UInt8 { 0xff >> UInt8(unusedBits) }
}

extension Data {
    static func random(count: Int) -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Of two of the same length.
    func xor(_ other: Data) -> Data { Data(zip(self, other).map { $0 ^ $1 }) }
}
