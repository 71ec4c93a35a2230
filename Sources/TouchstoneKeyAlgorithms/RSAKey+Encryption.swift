internal import Crypto
package import Foundation
package import TouchstoneCore

extension RSAKey {
    /// Whether the block of a scheme fits into the modulus.
    package func supports(_ scheme: RSAEncryptionScheme) -> Bool {
        switch scheme {
        case .raw, .pkcs1: true
        case .oaep(let hash): modulusByteCount >= 2 * hash.byteCount + 2
        case .oaepWithAESGCM(let hash): modulusByteCount >= 2 * hash.byteCount + 2 + symmetricKeySize.bitCount / 8
        }
    }

    /// Decrypts.
    ///
    /// With a public key this undoes what the private one did, as Apple's do.
    ///
    /// - Throws: `errSecParam` for anything that was not encrypted to this key.
    package func decrypt(_ ciphertext: Data, _ scheme: RSAEncryptionScheme) throws(Status) -> Data {
        guard supports(scheme) else { throw .param }
        switch scheme {
        case .raw: return try apply(try rawBlock(ciphertext))
        case .pkcs1: return try RSAPadding.removePKCS1(try apply(ciphertext))
        case .oaep(let hash): return try RSAPadding.removeOAEP(try apply(ciphertext), hash)
        case .oaepWithAESGCM(let hash):
            guard ciphertext.count >= modulusByteCount + Self.tagSize else { throw .param }
            var key = try decrypt(Data(ciphertext.prefix(modulusByteCount)), .oaep(hash))
            defer { key.erase() }
            guard key.count == symmetricKeySize.bitCount / 8 else { throw .param }
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: .zero, ciphertext: ciphertext.dropFirst(modulusByteCount).dropLast(Self.tagSize),
                    tag: ciphertext.suffix(Self.tagSize))
                return try AES.GCM.open(
                    box, using: SymmetricKey(data: key), authenticating: publicKey.pkcs1DERRepresentation)
            } catch {
                throw .param
            }
        }
    }

    fileprivate var symmetricKeySize: SymmetricKeySize { keySizeInBits < 4096 ? .bits128 : .bits256 }

    private static var tagSize: Int { 16 }
}

extension RSAPublicKey {
    /// Encrypts.
    ///
    /// - Throws: `errSecParam` for too much for the modulus.
    package func encrypt(_ plaintext: Data, _ scheme: RSAEncryptionScheme) throws(Status) -> Data {
        guard supports(scheme) else { throw .param }
        switch scheme {
        case .raw: return try apply(try rawBlock(plaintext))
        case .pkcs1: return try apply(try RSAPadding.addPKCS1(plaintext, byteCount: modulusByteCount))
        case .oaep(let hash): return try apply(try RSAPadding.addOAEP(plaintext, hash, byteCount: modulusByteCount))
        case .oaepWithAESGCM(let hash):
            let key = SymmetricKey(size: symmetricKeySize)
            var bytes = unsafe key.withUnsafeBytes { unsafe Data($0) }
            defer { bytes.erase() }
            let wrapped = try encrypt(bytes, .oaep(hash))
            do {
                let box = try AES.GCM.seal(
                    plaintext, using: key, nonce: .zero, authenticating: pkcs1DERRepresentation)
                return wrapped + box.ciphertext + box.tag
            } catch {
                throw .internalError
            }
        }
    }
}

/// The blocks of RFC 8017 that hide what is encrypted.
///
/// Where the padding of a block is wrong, and in which way, is not to be seen from how long it takes to find out: from such answers the
/// contents of any ciphertext can be had.
private enum RSAPadding {
    static func addPKCS1(_ message: Data, byteCount: Int) throws(Status) -> Data {
        guard message.count <= byteCount - 11 else { throw .param }
        var generator = SystemRandomNumberGenerator()
        let filling = (0..<byteCount - 3 - message.count).map { _ in UInt8.random(in: 1...255, using: &generator) }
        return Data([0, 2] + filling + [0]) + message
    }

    static func removePKCS1(_ block: Data) throws(Status) -> Data {
        var block = block
        defer { block.erase() }
        var failed = block[0] | (block[1] ^ 2)
        var isLooking: UInt8 = 0xff
        var start = 0
        for index in 2..<block.count {
            let isZero = mask(block[index], equals: 0)
            start |= (index + 1) & -Int(isLooking & isZero & 1)
            // The filling has at least eight bytes.
            if index < 10 { failed |= isLooking & isZero }
            isLooking &= ~isZero
        }
        guard failed | isLooking == 0 else { throw .param }
        return Data(block[start...])
    }

    static func addOAEP(_ message: Data, _ hash: HashAlgorithm, byteCount: Int) throws(Status) -> Data {
        let filling = byteCount - message.count - 2 * hash.byteCount - 2
        guard filling >= 0 else { throw .param }
        let seed = Data.random(count: hash.byteCount)
        var plain = hash.hash(Data()) + Data(count: filling) + [1] + message
        defer { plain.erase() }
        let masked = plain.xor(hash.mask(seed, byteCount: plain.count))
        return [0] + seed.xor(hash.mask(masked, byteCount: seed.count)) + masked
    }

    static func removeOAEP(_ block: Data, _ hash: HashAlgorithm) throws(Status) -> Data {
        let masked = Data(block.dropFirst(1 + hash.byteCount))
        let seed = Data(block.dropFirst().prefix(hash.byteCount)).xor(hash.mask(masked, byteCount: hash.byteCount))
        var plain = masked.xor(hash.mask(seed, byteCount: masked.count))
        defer { plain.erase() }
        var failed = block[0]
        for (expected, actual) in zip(hash.hash(Data()), plain) { failed |= expected ^ actual }
        var isLooking: UInt8 = 0xff
        var start = 0
        for index in hash.byteCount..<plain.count {
            let isZero = mask(plain[index], equals: 0)
            let isOne = mask(plain[index], equals: 1)
            start |= (index + 1) & -Int(isLooking & isOne & 1)
            failed |= isLooking & ~(isZero | isOne)
            isLooking &= isZero
        }
        guard failed | isLooking == 0 else { throw .param }
        return Data(plain[start...])
    }

    /// All ones where two bytes are equal, otherwise 0.
    private static func mask(_ byte: UInt8, equals other: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: (UInt16(byte ^ other) &- 1) >> 8)
    }
}
