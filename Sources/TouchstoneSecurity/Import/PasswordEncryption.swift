internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SwiftASN1
internal import TouchstoneCertificates

/// A passphrase in the two forms that files use.
struct Passphrase {
    private(set) var utf8: [UInt8]
    /// UTF-16, big-endian, with a zero at its end.
    private(set) var utf16: [UInt8]

    init(_ text: String) {
        utf8 = Array(text.utf8)
        utf16 = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] } + [0, 0]
    }

    /// An empty passphrase is written by some as nothing at all.
    var isEmpty: Bool { utf8.isEmpty }

    mutating func omitTerminator() { utf16 = [] }

    mutating func zero() {
        utf8.zero()
        utf16.zero()
    }
}

/// A way to encrypt under a passphrase, with its parameters.
struct PasswordEncryption {
    private let derivation: Derivation
    private let cipher: Cipher
    private let salt: [UInt8]
    let iterations: Int

    private enum Derivation {
        /// Appendix B of RFC 7292 with SHA-1, which also derives the initialization vector.
        case pkcs12
        case pbkdf2(KDF.Insecure.PBKDF2.HashFunction, vector: [UInt8])
    }

    private enum Cipher {
        case aes(keySize: Int)
        case tripleDES
        /// Two keys, of which the first is also the third.
        case twoKeyTripleDES
        case rc2(keySize: Int)

        var keySize: Int {
            switch self {
            case .aes(let keySize), .rc2(let keySize): keySize
            case .tripleDES: 24
            case .twoKeyTripleDES: 16
            }
        }

        var vectorSize: Int {
            if case .aes = self { return 16 }
            return LegacyCipher.blockSize
        }
    }

    /// Nil for an algorithm that we do not know, and for wrong parameters.
    init?(_ identifier: AlgorithmIdentifier) {
        let prefix: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01]
        guard identifier.algorithm.starts(with: prefix),
            let fields = identifier.parameters?.children(.sequence), fields.count == 2
        else { return nil }
        switch Array(identifier.algorithm.dropFirst(prefix.count)) {
        case [0x0c, 0x01, 0x03]: self.init(.tripleDES, fields)
        case [0x0c, 0x01, 0x04]: self.init(.twoKeyTripleDES, fields)
        case [0x0c, 0x01, 0x05]: self.init(.rc2(keySize: 16), fields)
        case [0x0c, 0x01, 0x06]: self.init(.rc2(keySize: 5), fields)
        case [0x05, 0x0d]:
            guard let derivation = AlgorithmIdentifier(fields[0]), let cipher = AlgorithmIdentifier(fields[1]) else {
                return nil
            }
            self.init(derivation, cipher)
        default: return nil
        }
    }

    /// An algorithm of PKCS#12.
    private init?(_ cipher: Cipher, _ fields: [ASN1Node]) {
        guard let salt = fields[0].octets(.octetString), !salt.isEmpty, let iterations = fields[1].positiveInteger
        else {
            return nil
        }
        derivation = .pkcs12
        self.cipher = cipher
        self.salt = salt
        self.iterations = iterations
    }

    /// PBES2.
    private init?(_ derivation: AlgorithmIdentifier, _ cipher: AlgorithmIdentifier) {
        guard derivation.algorithm == [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c],
            let fields = derivation.parameters?.children(.sequence), (2...4).contains(fields.count),
            let salt = fields[0].octets(.octetString), !salt.isEmpty, let iterations = fields[1].positiveInteger,
            let vector = cipher.parameters?.octets(.octetString)
        else { return nil }
        switch cipher.algorithm {
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x02]: self.cipher = .aes(keySize: 16)
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x16]: self.cipher = .aes(keySize: 24)
        case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a]: self.cipher = .aes(keySize: 32)
        case [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03, 0x07]: self.cipher = .tripleDES
        default: return nil
        }
        var rest = fields.dropFirst(2)
        if rest.first?.identifier == .integer {
            guard rest.first?.positiveInteger == self.cipher.keySize else { return nil }
            rest = rest.dropFirst()
        }
        var hash = KDF.Insecure.PBKDF2.HashFunction.insecureSHA1
        if let node = rest.first {
            guard rest.count == 1, let identifier = AlgorithmIdentifier(node), let named = Self.hash(identifier) else {
                return nil
            }
            hash = named
        }
        guard vector.count == self.cipher.vectorSize else { return nil }
        self.derivation = .pbkdf2(hash, vector: vector)
        self.salt = salt
        self.iterations = iterations
    }

    /// The hash function of an HMAC.
    private static func hash(_ identifier: AlgorithmIdentifier) -> KDF.Insecure.PBKDF2.HashFunction? {
        let prefix: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02]
        guard identifier.algorithm.count == prefix.count + 1, identifier.algorithm.starts(with: prefix) else {
            return nil
        }
        return switch identifier.algorithm.last {
        case 0x07: .insecureSHA1
        case 0x08: .insecureSHA224
        case 0x09: .sha256
        case 0x0a: .sha384
        case 0x0b: .sha512
        default: nil
        }
    }

    /// Nil if the passphrase is another, or the ciphertext damaged: without authentication the two look the same.
    func decrypt(_ ciphertext: [UInt8], _ passphrase: Passphrase) -> [UInt8]? {
        var key: [UInt8]
        let vector: [UInt8]
        switch derivation {
        case .pkcs12:
            let derivation = PKCS12KeyDerivation<Insecure.SHA1>(
                passphrase: passphrase.utf16, salt: salt, iterations: iterations)
            key = derivation.derive(.key, count: cipher.keySize)
            vector = derivation.derive(.vector, count: cipher.vectorSize)
        case .pbkdf2(let hash, let given):
            // HMAC fills a short key with zeros, so that one zero is the same as no passphrase, which the library takes amiss.
            guard
                let derived = try? KDF.Insecure.PBKDF2.deriveKey(
                    from: passphrase.isEmpty ? [0] : passphrase.utf8, salt: salt, using: hash,
                    outputByteCount: cipher.keySize, unsafeUncheckedRounds: iterations)
            else { return nil }
            key = unsafe derived.withUnsafeBytes { unsafe Array($0) }
            vector = given
        }
        defer { key.zero() }
        switch cipher {
        case .aes:
            guard let vector = try? AES._CBC.IV(ivBytes: vector),
                var plaintext = try? AES._CBC.decrypt(ciphertext, using: SymmetricKey(data: key), iv: vector)
            else { return nil }
            defer { plaintext.resetBytes(in: plaintext.indices) }
            return Array(plaintext)
        case .tripleDES: return LegacyCipher.tripleDES.decrypt(ciphertext, key: key, vector: vector)
        case .twoKeyTripleDES:
            return LegacyCipher.tripleDES.decrypt(ciphertext, key: key + key.prefix(8), vector: vector)
        case .rc2(let keySize):
            return LegacyCipher.rc2(effectiveBits: UInt32(keySize) * 8).decrypt(ciphertext, key: key, vector: vector)
        }
    }
}
