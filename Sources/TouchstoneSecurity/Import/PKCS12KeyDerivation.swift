internal import Crypto
internal import TouchstoneCertificates

/// A hash function of PKCS#12.
enum PKCS12Hash {
    case sha1
    case sha256
    case sha384
    case sha512

    /// Nil for another, and for parameters, of which none of these has any.
    init?(_ identifier: AlgorithmIdentifier) {
        switch identifier.algorithm {
        case [0x2b, 0x0e, 0x03, 0x02, 0x1a]: self = .sha1
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]: self = .sha256
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]: self = .sha384
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]: self = .sha512
        default: return nil
        }
    }

    /// Whether a code authenticates bytes under a passphrase.
    func isValid(
        _ code: [UInt8], of bytes: [UInt8], passphrase: [UInt8], salt: [UInt8], iterations: Int
    ) -> Bool {
        switch self {
        case .sha1:
            isValid(Insecure.SHA1.self, code, of: bytes, passphrase: passphrase, salt: salt, iterations: iterations)
        case .sha256: isValid(SHA256.self, code, of: bytes, passphrase: passphrase, salt: salt, iterations: iterations)
        case .sha384: isValid(SHA384.self, code, of: bytes, passphrase: passphrase, salt: salt, iterations: iterations)
        case .sha512: isValid(SHA512.self, code, of: bytes, passphrase: passphrase, salt: salt, iterations: iterations)
        }
    }

    private func isValid<Hash: HashFunction>(
        _ hash: Hash.Type, _ code: [UInt8], of bytes: [UInt8], passphrase: [UInt8], salt: [UInt8], iterations: Int
    ) -> Bool {
        var key = PKCS12KeyDerivation<Hash>(passphrase: passphrase, salt: salt, iterations: iterations)
            .derive(.authentication, count: Hash.Digest.byteCount)
        defer { key.zero() }
        return HMAC<Hash>.isValidAuthenticationCode(code, authenticating: bytes, using: SymmetricKey(data: key))
    }
}

/// The key derivation of RFC 7292, appendix B.
struct PKCS12KeyDerivation<Hash: HashFunction> {
    /// UTF-16, big-endian, with a zero at its end.
    let passphrase: [UInt8]
    let salt: [UInt8]
    let iterations: Int

    /// What the bytes are for.
    enum Purpose: UInt8 {
        case key = 1
        case vector = 2
        case authentication = 3
    }

    func derive(_ purpose: Purpose, count: Int) -> [UInt8] {
        let block = Hash.blockByteCount
        let diversifier = [UInt8](repeating: purpose.rawValue, count: block)
        var input = Self.fill(salt, block) + Self.fill(passphrase, block)
        defer { input.zero() }
        var result: [UInt8] = []
        while result.count < count {
            var hash = Hash()
            hash.update(data: diversifier)
            hash.update(data: input)
            var digest = hash.finalize()
            for _ in 1..<max(iterations, 1) {
                var next = Hash()
                unsafe digest.withUnsafeBytes { unsafe next.update(bufferPointer: $0) }
                digest = next.finalize()
            }
            result += digest
            Self.add(Self.fill(Array(digest), block), to: &input)
        }
        return Array(result.prefix(count))
    }

    /// Bytes repeated to a whole number of blocks, none if there are none.
    private static func fill(_ bytes: [UInt8], _ block: Int) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let count = (bytes.count + block - 1) / block * block
        return (0..<count).map { bytes[$0 % bytes.count] }
    }

    /// Adds a number and one to each block, without the carry out of it.
    private static func add(_ number: [UInt8], to input: inout [UInt8]) {
        for start in stride(from: 0, to: input.count, by: number.count) {
            var carry = 1
            for index in number.indices.reversed() {
                let sum = Int(input[start + index]) + Int(number[index]) + carry
                input[start + index] = UInt8(truncatingIfNeeded: sum)
                carry = sum >> 8
            }
        }
    }
}
