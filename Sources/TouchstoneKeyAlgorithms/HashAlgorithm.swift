package import Crypto
package import Foundation
package import TouchstoneCore

/// A hash that Apple's algorithms name.
package enum HashAlgorithm: String, CaseIterable, Sendable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// Bytes of a digest.
    package var byteCount: Int {
        switch self {
        case .sha1: Insecure.SHA1.byteCount
        case .sha224: SHA224Digest.byteCount
        case .sha256: SHA256.byteCount
        case .sha384: SHA384.byteCount
        case .sha512: SHA512.byteCount
        }
    }

    package func hash(_ data: Data) -> Data {
        var function = start()
        function.update(data: data)
        return Data(function.finalize())
    }

    private func start() -> any HashFunction {
        switch self {
        case .sha1: Insecure.SHA1()
        case .sha224: SHA224()
        case .sha256: SHA256()
        case .sha384: SHA384()
        case .sha512: SHA512()
        }
    }
}

extension HashAlgorithm {
    /// The key derivation function of ANSI X9.63 (SE-22): `Hash(Z ‖ counter ‖ info)`, the counter of 32 bits from 1, as often as it takes.
    ///
    /// - Parameters:
    ///   - secret: Z, the coordinate that a key agreement gives.
    ///   - info: What else goes into every hash; may be empty.
    ///   - byteCount: How much to derive, 0 to `maximumDerivedByteCount`.
    /// - Returns: The key.
    /// - Throws: `errSecParam` for another size.
    package func deriveKey(
        from secret: SymmetricKey, info: Data, byteCount: Int
    ) throws(Status) -> SymmetricKey {
        guard (0...Self.maximumDerivedByteCount).contains(byteCount) else { throw .param }
        var derived = Data(capacity: byteCount + self.byteCount)
        defer { derived.erase() }
        var counter: UInt32 = 0
        while derived.count < byteCount {
            counter += 1
            var hash = start()
            unsafe secret.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
            hash.update(data: counter.bigEndianBytes + info)
            derived.append(Data(hash.finalize()))
        }
        return SymmetricKey(data: derived.prefix(byteCount))
    }

    /// The most that is derived at once: far more than any key, and little enough that a wrong number does not take all memory.
    package static let maximumDerivedByteCount = 1 << 20

    /// The mask generation function MGF1 of RFC 8017 B.2.1.
    func mask(_ seed: Data, byteCount: Int) -> Data {
        var mask = Data(capacity: byteCount + self.byteCount)
        var counter: UInt32 = 0
        while mask.count < byteCount {
            mask += hash(seed + counter.bigEndianBytes)
            counter += 1
        }
        return mask.prefix(byteCount)
    }
}

extension Data {
    /// Overwrites all of it.
    mutating func erase() { resetBytes(in: startIndex..<endIndex) }
}

extension FixedWidthInteger {
    /// The most significant first.
    var bigEndianBytes: [UInt8] { unsafe withUnsafeBytes(of: bigEndian) { unsafe Array($0) } }
}
