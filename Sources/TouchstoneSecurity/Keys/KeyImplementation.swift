internal import Crypto
internal import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneKeyAlgorithms

/// What a `SecKey` stands for.
///
/// A software key holds its bytes; a key of the enclave holds what the enclave knows it by.
protocol KeyImplementation: Sendable {
    var keyType: KeyType { get }
    var keyClass: KeyClass { get }
    var sizeInBits: Int { get }

    /// Bytes of one block: the modulus of RSA, the field of a curve.
    var blockSize: Int { get }

    /// The public half: itself where it is public.
    var publicKey: SoftwareKey { get }

    /// PKCS#1 for RSA, X9.63 for a curve; throws where the bytes do not leave where they are.
    func externalRepresentation() throws(Status) -> Data

    /// Whether an operation may be asked of this key. What the public half does, to encrypt and to verify, it does itself.
    func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool

    /// What the key's item keeps encrypted.
    var itemData: Data? { get }

    /// The attributes of the key's item that are not those of every key of its type and class.
    var ownAttributes: KeychainInterface.Dictionary { get }

    /// What `SecKeyCopyAttributes` tells besides those of the item.
    var furtherAttributes: KeychainInterface.Dictionary { get }

    /// Signs with an algorithm that it supports.
    ///
    /// - Throws: As the next two: a `Status`, or what a call to the device throws.
    func signature(for data: Data, _ algorithm: KeyAlgorithm) throws -> Data

    /// Decrypts with an algorithm that it supports.
    func decrypt(_ ciphertext: Data, _ algorithm: KeyAlgorithm) throws -> Data

    /// The coordinate that it shares with another's point, of a key that supports key exchange.
    func sharedSecret(with other: EllipticCurvePublicKey) throws -> SymmetricKey
}

/// The value of `kSecAttrKeyType`.
enum KeyType: Int64 {
    case rsa = 42
    case ellipticCurve = 73

    /// A key of a type and a class in words, as far as they are known.
    static func kind(_ type: KeyType?, _ keyClass: KeyClass?) -> String {
        let type: String? =
            switch type {
            case .rsa: "RSA"
            case .ellipticCurve: "EC"
            case nil: nil
            }
        return [type, keyClass.map { "\($0)" }, "key"].compactMap(\.self).joined(separator: " ")
    }
}

/// The value of `kSecAttrKeyClass`.
enum KeyClass: Int64 {
    case `public` = 0
    case `private` = 1
    case symmetric = 2
}
