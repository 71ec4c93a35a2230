package import Crypto
package import Foundation
package import TouchstoneCore

/// Encryption to a public key of a curve, in Apple's format (SE-30): an ephemeral public key, the ciphertext of AES-GCM, its tag.
package struct ECIES: Hashable, Sendable {
    package enum InitializationVector: Hashable, Sendable {
        /// Zeros: safe because no two messages have the same key (SE-34).
        case zero
        /// Derived after the key.
        case derived
    }

    package let hash: HashAlgorithm
    package let initializationVector: InitializationVector

    package init(hash: HashAlgorithm, initializationVector: InitializationVector) {
        self.hash = hash
        self.initializationVector = initializationVector
    }

    /// Encrypts, with an ephemeral key that is used this once.
    ///
    /// - Throws: `errSecParam` for a key of an old curve.
    package func encrypt(
        _ plaintext: Data, to recipient: EllipticCurvePublicKey, ephemeral: EllipticCurvePrivateKey? = nil
    ) throws(Status) -> Data {
        guard !recipient.curve.isOld else { throw .param }
        let ephemeral = if let ephemeral { ephemeral } else { try EllipticCurvePrivateKey(recipient.curve) }
        let point = ephemeral.publicKey.x963Representation
        let (key, nonce) = try keyAndNonce(ephemeral.sharedSecret(with: recipient), point, recipient.curve)
        do {
            let box = try AES.GCM.seal(plaintext, using: key, nonce: nonce)
            return point + box.ciphertext + box.tag
        } catch {
            throw .internalError
        }
    }

    /// Decrypts.
    ///
    /// - Parameters:
    ///   - ciphertext: What `encrypt` returned: at least a point and a tag.
    ///   - curve: That of the private key.
    ///   - sharedSecret: The key agreement of the private key with the ephemeral one.
    /// - Returns: The plaintext.
    /// - Throws: `errSecParam` for anything that was not encrypted to this key (SE-33); what `sharedSecret` throws.
    package func decrypt(
        _ ciphertext: Data, _ curve: EllipticCurve,
        sharedSecret: (EllipticCurvePublicKey) throws(Status) -> SymmetricKey
    ) throws(Status) -> Data {
        let pointSize = 1 + 2 * curve.fieldSize
        guard ciphertext.count >= pointSize + Self.tagSize else { throw .param }
        let point = Data(ciphertext.prefix(pointSize))
        guard let ephemeral = try? EllipticCurvePublicKey(x963Representation: point) else { throw .param }
        let (key, nonce) = try keyAndNonce(sharedSecret(ephemeral), point, curve)
        do {
            let box = try AES.GCM.SealedBox(
                nonce: nonce, ciphertext: ciphertext.dropFirst(pointSize).dropLast(Self.tagSize),
                tag: ciphertext.suffix(Self.tagSize))
            return try AES.GCM.open(box, using: key)
        } catch {
            throw .param
        }
    }

    /// The AES key and the 16 bytes, not 12, of the nonce (SE-31).
    private func keyAndNonce(
        _ secret: SymmetricKey, _ point: Data, _ curve: EllipticCurve
    ) throws(Status) -> (SymmetricKey, AES.GCM.Nonce) {
        let keySize = curve.sizeInBits <= 256 ? 16 : 32
        let nonceSize = AES.GCM.Nonce.appleByteCount
        do {
            switch initializationVector {
            case .zero:
                return (try hash.deriveKey(from: secret, info: point, byteCount: keySize), try .zero)
            case .derived:
                let derived = try hash.deriveKey(from: secret, info: point, byteCount: keySize + nonceSize)
                var bytes = unsafe derived.withUnsafeBytes { unsafe Data($0) }
                defer { bytes.erase() }
                return (SymmetricKey(data: bytes.prefix(keySize)), try AES.GCM.Nonce(data: bytes.suffix(nonceSize)))
            }
        } catch let status as Status {
            throw status
        } catch {
            throw .internalError
        }
    }

    private static let tagSize = 16
}

extension EllipticCurvePrivateKey {
    package func decrypt(_ ciphertext: Data, _ scheme: ECIES) throws(Status) -> Data {
        try scheme.decrypt(ciphertext, publicKey.curve) { other throws(Status) in try sharedSecret(with: other) }
    }
}

extension AES.GCM.Nonce {
    /// Longer than usual.
    static let appleByteCount = 16

    static var zero: AES.GCM.Nonce {
        get throws { try AES.GCM.Nonce(data: Data(count: appleByteCount)) }
    }
}
