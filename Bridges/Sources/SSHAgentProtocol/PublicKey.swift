internal import Crypto
internal import CryptoExtras
internal import Foundation

/// An ECDSA key on P-256 as ssh writes it (SA-4).
public enum P256Key {
    /// The algorithm's name.
    public static let algorithm = "ecdsa-sha2-nistp256"

    /// - Parameter point: 65 bytes, uncompressed.
    /// - Returns: The key's blob; nil for another length.
    public static func blob(point: [UInt8]) -> [UInt8]? {
        guard point.count == 65, point.first == 4 else { return nil }
        var writer = WireWriter()
        writer.text(algorithm)
        writer.text("nistp256")
        writer.string(point)
        return writer.bytes
    }

    /// - Parameter raw: r and s, 32 bytes each.
    /// - Returns: The signature's blob; nil for another length.
    public static func signature(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        var numbers = WireWriter()
        numbers.magnitude(raw.prefix(32))
        numbers.magnitude(raw.suffix(32))
        var writer = WireWriter()
        writer.text(algorithm)
        writer.string(numbers.bytes)
        return writer.bytes
    }

    /// The line of a `.pub` file.
    public static func line(blob: [UInt8], comment: String) -> String {
        "\(algorithm) \(Data(blob).base64EncodedString()) \(comment)"
    }
}

/// A server's key, as far as its signatures can be verified here (SA-12).
public struct HostKey: Hashable, Sendable {
    private enum Key: Hashable, Sendable {
        case ed25519([UInt8])
        case p256([UInt8])
        case p384([UInt8])
        case p521([UInt8])
        case rsa(exponent: [UInt8], modulus: [UInt8])
    }

    private let key: Key
    /// The key itself: of a certificate, the one inside it.
    public let blob: [UInt8]

    /// - Parameter blob: A key, or a certificate. nil: of a kind that is not verified, or malformed.
    public init?(blob: [UInt8]) {
        var reader = WireReader(blob)
        guard blob.count <= 64 << 10, let name = reader.text() else { return nil }
        let suffix = "-cert-v01@openssh.com"
        let isCertificate = name.hasSuffix(suffix)
        let type = isCertificate ? String(name.dropLast(suffix.count)) : name
        if isCertificate { guard reader.string() != nil else { return nil } }
        var plain = WireWriter()
        plain.text(type)
        switch type {
        case "ssh-ed25519":
            guard let point = reader.string(), point.count == 32 else { return nil }
            key = .ed25519(point)
            plain.string(point)
        case "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521":
            guard let curve = reader.text(), type == "ecdsa-sha2-\(curve)", let point = reader.string() else {
                return nil
            }
            switch (curve, point.count) {
            case ("nistp256", 65): key = .p256(point)
            case ("nistp384", 97): key = .p384(point)
            case ("nistp521", 133): key = .p521(point)
            default: return nil
            }
            plain.text(curve)
            plain.string(point)
        case "ssh-rsa":
            guard let exponent = reader.magnitude(), let modulus = reader.magnitude(), !exponent.isEmpty,
                (256...2048).contains(modulus.count), exponent.count <= 8
            else { return nil }
            key = .rsa(exponent: exponent, modulus: modulus)
            plain.magnitude(exponent)
            plain.magnitude(modulus)
        default: return nil
        }
        guard isCertificate || reader.isAtEnd else { return nil }
        self.blob = plain.bytes
    }

    /// As `ssh-keygen -l` writes it.
    public var fingerprint: String {
        let digest = Data(SHA256.hash(data: blob)).base64EncodedString()
        return "SHA256:\(digest.prefix { $0 != "=" })"
    }

    /// Its beginning, for a person to compare (SA-16).
    public var shortFingerprint: String { String(fingerprint.prefix(23)) }

    /// Whether this key signed the data: with SHA-2, and nothing behind the signature.
    public func isValid(signature: [UInt8], for data: [UInt8]) -> Bool {
        var reader = WireReader(signature)
        guard let algorithm = reader.text(), let bytes = reader.string(), reader.isAtEnd else { return false }
        switch (key, algorithm) {
        case (.ed25519(let point), "ssh-ed25519"):
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: point)
            return bytes.count == 64 && key?.isValidSignature(bytes, for: data) ?? false
        case (.p256(let point), "ecdsa-sha2-nistp256"):
            guard let raw = Self.raw(bytes, 32), let key = try? P256.Signing.PublicKey(x963Representation: point),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
            else { return false }
            return key.isValidSignature(signature, for: data)
        case (.p384(let point), "ecdsa-sha2-nistp384"):
            guard let raw = Self.raw(bytes, 48), let key = try? P384.Signing.PublicKey(x963Representation: point),
                let signature = try? P384.Signing.ECDSASignature(rawRepresentation: raw)
            else { return false }
            return key.isValidSignature(signature, for: data)
        case (.p521(let point), "ecdsa-sha2-nistp521"):
            guard let raw = Self.raw(bytes, 66), let key = try? P521.Signing.PublicKey(x963Representation: point),
                let signature = try? P521.Signing.ECDSASignature(rawRepresentation: raw)
            else { return false }
            return key.isValidSignature(signature, for: data)
        case (.rsa(let exponent, let modulus), "rsa-sha2-256"), (.rsa(let exponent, let modulus), "rsa-sha2-512"):
            guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else { return false }
            let signature = _RSA.Signing.RSASignature(rawRepresentation: bytes)
            return algorithm == "rsa-sha2-256"
                ? key.isValidSignature(signature, for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5)
                : key.isValidSignature(signature, for: SHA512.hash(data: data), padding: .insecurePKCS1v1_5)
        default: return false
        }
    }

    /// r and s, each of so many bytes.
    private static func raw(_ numbers: [UInt8], _ count: Int) -> [UInt8]? {
        var reader = WireReader(numbers)
        guard let r = reader.magnitude(), let s = reader.magnitude(), reader.isAtEnd, r.count <= count,
            s.count <= count
        else { return nil }
        func padded(_ number: [UInt8]) -> [UInt8] { Array(repeating: 0, count: count - number.count) + number }
        return padded(r) + padded(s)
    }
}
