internal import CGMP
internal import Crypto
internal import CryptoExtras
public import Foundation

/// How secrets go over the bus in one session (SS-10…12).
///
/// It hides nothing from programs that read the bus as the same user. It is here because clients ask for it.
public enum SessionCipher: Sendable {
    /// As they are.
    case plain
    /// AES-128-CBC, with a key of 16 bytes.
    case encrypted(key: SymmetricKeyBytes)

    /// Why a session or a secret is refused.
    public enum Failure: Error, Hashable, Sendable {
        /// No algorithm of ours: libsecret then falls back to `plain` (SS-12).
        case notSupported
        /// The client's public value, or its secret, is malformed.
        case malformed
    }

    /// The words that clients send.
    public static let plainName = "plain"
    /// The words that clients send.
    public static let encryptedName = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    /// Agrees on a key.
    ///
    /// - Parameters:
    ///   - publicValue: The client's, 1 to 128 bytes, big-endian.
    ///   - exponent: Ours, at least 32 random bytes.
    /// - Returns: The cipher, and our public value of 128 bytes.
    /// - Throws: `.malformed`: a value of at most 1, or of at least p − 1.
    public static func agree(
        with publicValue: [UInt8], exponent: [UInt8]
    ) throws(Failure) -> (cipher: SessionCipher, publicValue: [UInt8]) {
        let theirs = Array(publicValue.drop { $0 == 0 })
        guard let last = theirs.last, theirs.count <= prime.count, theirs != [1] else { throw .malformed }
        // p is odd: p − 1 differs in its last byte alone.
        guard last != prime[prime.count - 1] - 1 || theirs.dropLast() != prime.dropLast() else { throw .malformed }
        guard let ours = power([2], exponent), let shared = power(theirs, exponent) else { throw .malformed }
        // All 128 bytes, also where the first ones are zero: clients do so.
        let key = HKDF<SHA256>.deriveKey(inputKeyMaterial: SymmetricKey(data: shared), outputByteCount: 16)
        return (.encrypted(key: SymmetricKeyBytes(key)), ours)
    }

    /// A number of 32 random bytes.
    public static func newExponent() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Encrypts a secret.
    ///
    /// - Parameter secret: 0 bytes or more.
    /// - Returns: The parameters, 16 bytes or none, and the value.
    public func seal(_ secret: Data) -> (parameters: [UInt8], value: [UInt8])? {
        guard case .encrypted(let key) = self else { return ([], Array(secret)) }
        let vector = AES._CBC.IV()
        guard let sealed = try? AES._CBC.encrypt(secret, using: key.key, iv: vector) else { return nil }
        return (Array(vector), Array(sealed))
    }

    /// Decrypts a secret.
    ///
    /// - Parameters:
    ///   - parameters: 16 bytes, or none in a plain session.
    ///   - value: The secret as it came.
    /// - Returns: The secret.
    /// - Throws: `.malformed`.
    public func open(parameters: [UInt8], value: [UInt8]) throws(Failure) -> Data {
        guard case .encrypted(let key) = self else { return Data(value) }
        guard parameters.count == 16, !value.isEmpty, value.count.isMultiple(of: 16) else { throw .malformed }
        do {
            return Data(
                try AES._CBC.decrypt(Data(value), using: key.key, iv: AES._CBC.IV(ivBytes: Data(parameters))))
        } catch {
            throw .malformed
        }
    }

    private static func power(_ base: [UInt8], _ exponent: [UInt8]) -> [UInt8]? {
        var result = [UInt8](repeating: 0, count: prime.count)
        let isDone = unsafe touchstone_secret_power(
            &result, base, base.count, exponent, exponent.count, prime, prime.count)
        return isDone ? result : nil
    }

    /// The second group of RFC 2409: 1024 bits.
    static let prime: [UInt8] = {
        let words: [UInt64] = [
            0xFFFF_FFFF_FFFF_FFFF, 0xC90F_DAA2_2168_C234, 0xC4C6_628B_80DC_1CD1, 0x2902_4E08_8A67_CC74,
            0x020B_BEA6_3B13_9B22, 0x514A_0879_8E34_04DD, 0xEF95_19B3_CD3A_431B, 0x302B_0A6D_F25F_1437,
            0x4FE1_356D_6D51_C245, 0xE485_B576_625E_7EC6, 0xF44C_42E9_A637_ED6B, 0x0BFF_5CB6_F406_B7ED,
            0xEE38_6BFB_5A89_9FA5, 0xAE9F_2411_7C4B_1FE6, 0x4928_6651_ECE6_5381, 0xFFFF_FFFF_FFFF_FFFF,
        ]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }()
}

/// A key that is in no description.
public struct SymmetricKeyBytes: Sendable, CustomStringConvertible {
    let key: SymmetricKey

    init(_ key: SymmetricKey) { self.key = key }

    /// A new key of 32 random bytes.
    public init() { key = SymmetricKey(size: .bits256) }

    /// A key that was kept.
    ///
    /// - Parameter bytes: 32 bytes; nil for any other count.
    public init?(_ bytes: Data) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// What is kept of it.
    public var bytes: Data { unsafe key.withUnsafeBytes { unsafe Data($0) } }

    /// Not the key.
    public var description: String { "a key" }
}
