internal import Crypto
package import Foundation
package import TouchstoneCore

extension EllipticCurvePrivateKey {
    /// Signs (SE-20); a digest longer than the curve is cut to its left bits (SE-21).
    ///
    /// - Throws: `errSecParam` for a digest of a wrong length, or of none: anyone can sign that for any key; and for a key of an old curve.
    package func signature(
        for data: Data, _ input: SignatureInput, _ encoding: ECDSASignatureEncoding
    ) throws(Status) -> Data {
        let digest = try GivenDigest(nonempty: input.digest(of: data))
        do {
            return switch self {
            case .old: throw Status.param
            case .p256(let key): try key.signature(for: digest).encoded(encoding)
            case .p384(let key): try key.signature(for: digest).encoded(encoding)
            case .p521(let key): try key.signature(for: digest).encoded(encoding)
            }
        } catch let status as Status {
            throw status
        } catch {
            throw .internalError
        }
    }
}

extension EllipticCurvePublicKey {
    /// Whether a signature is that of this key.
    ///
    /// - Throws: `errSecParam` for a digest of a wrong length, or of none; a signature that is not a signature at all is merely not valid.
    package func isValidSignature(
        _ signature: Data, for data: Data, _ input: SignatureInput, _ encoding: ECDSASignatureEncoding
    ) throws(Status) -> Bool {
        let digest = try GivenDigest(nonempty: input.digest(of: data))
        switch self {
        case .old(let key): return key.isValidSignature(signature, for: digest.data, encoding)
        case .p256(let key):
            return P256.Signing.ECDSASignature(signature, encoding).map { key.isValidSignature($0, for: digest) }
                ?? false
        case .p384(let key):
            return P384.Signing.ECDSASignature(signature, encoding).map { key.isValidSignature($0, for: digest) }
                ?? false
        case .p521(let key):
            return P521.Signing.ECDSASignature(signature, encoding).map { key.isValidSignature($0, for: digest) }
                ?? false
        }
    }
}

extension SignatureInput {
    /// The number that a key of this many bytes signs: of a longer digest its left bytes (SE-21), of a shorter one all of them with zeros before.
    ///
    /// - Throws: As `digest(of:)`; `errSecParam` also for a digest of no bytes: anyone can sign that for any key.
    package func number(of data: Data, byteCount: Int) throws(Status) -> Data {
        let digest = try digest(of: data)
        guard !digest.isEmpty else { throw .param }
        return Data(count: max(0, byteCount - digest.count)) + digest.prefix(byteCount)
    }
}

extension ECDSASignatureEncoding {
    /// Writes a signature of P-256 that came as r and s.
    ///
    /// - Throws: `errSecInternal` if it is not one.
    package func p256Signature(_ bytes: Data) throws(Status) -> Data {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes) else { throw .internalError }
        return signature.encoded(self)
    }
}

extension GivenDigest {
    fileprivate init(nonempty data: Data) throws(Status) {
        guard !data.isEmpty else { throw .param }
        self.init(data: data)
    }
}

/// What the signatures of the three curves have in common.
private protocol ECDSASignature {
    init<Bytes: DataProtocol>(rawRepresentation: Bytes) throws
    init<Bytes: DataProtocol>(derRepresentation: Bytes) throws
    var rawRepresentation: Data { get }
    var derRepresentation: Data { get }
}

extension P256.Signing.ECDSASignature: ECDSASignature {}
extension P384.Signing.ECDSASignature: ECDSASignature {}
extension P521.Signing.ECDSASignature: ECDSASignature {}

extension ECDSASignature {
    fileprivate init?(_ bytes: Data, _ encoding: ECDSASignatureEncoding) {
        do {
            switch encoding {
            case .x962: try self.init(derRepresentation: bytes)
            case .rfc4754: try self.init(rawRepresentation: bytes)
            }
        } catch {
            return nil
        }
    }

    fileprivate func encoded(_ encoding: ECDSASignatureEncoding) -> Data {
        switch encoding {
        case .x962: derRepresentation
        case .rfc4754: rawRepresentation
        }
    }
}
