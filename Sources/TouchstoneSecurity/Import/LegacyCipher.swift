internal import CNettle

/// A cipher of old files, in CBC mode with PKCS#7 padding, for reading only.
enum LegacyCipher {
    /// Three keys, of 24 bytes.
    case tripleDES
    /// A key of any length up to 128 bytes, of which this many bits count.
    case rc2(effectiveBits: UInt32)

    static let blockSize = 8

    /// Nil if the padding is wrong, or the ciphertext is not a whole number of blocks.
    func decrypt(_ ciphertext: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8]? {
        guard !ciphertext.isEmpty, ciphertext.count.isMultiple(of: Self.blockSize), vector.count == Self.blockSize,
            var plaintext = decryptBlocks(ciphertext, key: key)
        else { return nil }
        for index in plaintext.indices {
            plaintext[index] ^= index < Self.blockSize ? vector[index] : ciphertext[index - Self.blockSize]
        }
        guard let padding = plaintext.last, (1...UInt8(Self.blockSize)).contains(padding),
            plaintext.suffix(Int(padding)).allSatisfy({ $0 == padding })
        else {
            plaintext.zero()
            return nil
        }
        plaintext.removeLast(Int(padding))
        return plaintext
    }

    /// Each block by itself.
    private func decryptBlocks(_ ciphertext: [UInt8], key: [UInt8]) -> [UInt8]? {
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        switch self {
        case .tripleDES:
            guard key.count == 3 * Self.blockSize else { return nil }
            var context = des3_ctx()
            defer { unsafe withUnsafeMutableBytes(of: &context) { unsafe Memory.zero($0) } }
            // Says that a key is weak, which the maker of the file has chosen.
            _ = unsafe nettle_des3_set_key(&context, key)
            unsafe nettle_des3_decrypt(&context, ciphertext.count, &plaintext, ciphertext)
        case .rc2(let effectiveBits):
            guard (1...128).contains(key.count) else { return nil }
            var context = arctwo_ctx()
            defer { unsafe withUnsafeMutableBytes(of: &context) { unsafe Memory.zero($0) } }
            unsafe nettle_arctwo_set_key_ekb(&context, key.count, key, effectiveBits)
            unsafe nettle_arctwo_decrypt(&context, ciphertext.count, &plaintext, ciphertext)
        }
        return plaintext
    }
}
