internal import Crypto
internal import CryptoExtras
package import Foundation
package import TouchstoneCore

/// What both halves of an RSA key can do.
package protocol RSAKey: Sendable {
    /// Bits of the modulus.
    var keySizeInBits: Int { get }

    var publicKey: RSAPublicKey { get }

    /// The number that this half makes of another.
    ///
    /// - Parameter block: A number less than the modulus, as long as it.
    /// - Returns: The other number, as long as the modulus.
    /// - Throws: `errSecParam` if it is longer or not less.
    func apply(_ block: Data) throws(Status) -> Data
}

extension RSAKey {
    /// Bytes of the modulus, and of what the key makes.
    package var modulusByteCount: Int { (keySizeInBits + 7) / 8 }
}

/// A modulus and an exponent.
package struct RSAPublicKey: RSAKey {
    private let key: _RSA.Signing.PublicKey
    private let exponent: UInt64
    private let modulus: Data

    /// Reads PKCS#1 or a SubjectPublicKeyInfo; throws for a modulus of less than 1024 bits or more than 8192.
    package init(derRepresentation: Data) throws {
        try self.init(_RSA.Signing.PublicKey(unsafeDERRepresentation: derRepresentation))
    }

    fileprivate init(_ key: _RSA.Signing.PublicKey) throws {
        let numbers = try key.getKeyPrimitives()
        guard numbers.publicExponent.count <= 8 else { throw Status.param }
        self.key = key
        exponent = numbers.publicExponent.reduce(0) { $0 << 8 | UInt64($1) }
        modulus = numbers.modulus
    }

    package var keySizeInBits: Int { key.keySizeInBits }
    package var pkcs1DERRepresentation: Data { key.pkcs1DERRepresentation }
    package var publicKey: RSAPublicKey { self }

    package func apply(_ block: Data) throws(Status) -> Data {
        guard block.count == modulusByteCount, let result = modularPower(block, exponent, modulus: modulus) else {
            throw .param
        }
        return result
    }
}

/// A modulus, its factors and both exponents.
package struct RSAPrivateKey: RSAKey {
    // The one type of swift-crypto that gives the operation itself: blinded, in constant time, its result checked.
    private let key: _RSA.BlindSigning.PrivateKey<SHA384>

    package let publicKey: RSAPublicKey

    /// A new key.
    ///
    /// - Parameter sizeInBits: 1024 to 8192, a multiple of 8.
    /// - Throws: `errSecKeySizeNotAllowed` for another size.
    package init(sizeInBits: Int) throws(Status) {
        guard Self.sizesInBits.contains(sizeInBits), sizeInBits.isMultiple(of: 8) else { throw .keySizeNotAllowed }
        do {
            if sizeInBits.isMultiple(of: 128) {
                try self.init(_RSA.BlindSigning.PrivateKey(unsafeKeySize: .init(bitCount: sizeInBits)))
            } else {
                var key = try Self.newPKCS1(sizeInBits: sizeInBits)
                defer { key.erase() }
                try self.init(derRepresentation: key)
            }
        } catch {
            throw .internalError
        }
    }

    /// Reads PKCS#1 or PKCS#8; throws for a modulus of less than 1024 bits or more than 8192, and for numbers that do not belong together.
    package init(derRepresentation: some DataProtocol) throws {
        try self.init(_RSA.BlindSigning.PrivateKey(unsafeDERRepresentation: derRepresentation))
    }

    private init(_ key: _RSA.BlindSigning.PrivateKey<SHA384>) throws {
        self.key = key
        publicKey = try RSAPublicKey(derRepresentation: key.publicKey.pkcs1DERRepresentation)
    }

    package var keySizeInBits: Int { key.keySizeInBits }
    package var pkcs1DERRepresentation: Data { key.derRepresentation }

    package func apply(_ block: Data) throws(Status) -> Data {
        guard block.count == modulusByteCount else { throw .param }
        do {
            return try key.blindSignature(for: block).rawRepresentation
        } catch {
            throw .param
        }
    }
}
