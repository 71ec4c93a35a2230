/// What one of Apple's names of algorithms (`SecKeyAlgorithm`) stands for.
package enum KeyAlgorithm: Hashable, Sendable {
    case rsaSignature(RSASignatureScheme, SignatureInput)
    case rsaEncryption(RSAEncryptionScheme)
    case ecdsaSignature(ECDSASignatureEncoding, SignatureInput)
    case eciesEncryption(ECIES)
    /// With a hash, what comes out is derived by X9.63; without, it is the coordinate itself.
    case ecdhKeyExchange(HashAlgorithm?)
}

/// What is done with a key.
package enum KeyOperation: CaseIterable, Sendable {
    case sign
    case verify
    case encrypt
    case decrypt
    case keyExchange
}

/// How a signature is written.
package enum ECDSASignatureEncoding: Sendable {
    /// DER, a sequence of r and s.
    case x962
    /// r and s, each as long as a coordinate.
    case rfc4754
}

/// How the block is made that an RSA key signs.
package enum RSASignatureScheme: Sendable {
    case raw
    case pkcs1v15
    /// With MGF1 of the same hash and a salt as long as the hash.
    case pss
}

/// How the block is made that an RSA key encrypts.
package enum RSAEncryptionScheme: Hashable, Sendable {
    case raw
    case pkcs1
    /// With one hash for the label and for MGF1, and an empty label.
    case oaep(HashAlgorithm)
    /// OAEP for a new AES key, which encrypts the rest.
    case oaepWithAESGCM(HashAlgorithm)
}

extension KeyAlgorithm {
    /// The algorithm of one of Apple's values of `SecKeyAlgorithm`; nil for any other text.
    package init?(identifier: String) {
        guard let algorithm = Self.identifiers[identifier] else { return nil }
        self = algorithm
    }

    // Cofactor and standard are one: the cofactor of every curve here is 1.
    private static let identifiers: [String: KeyAlgorithm] = {
        var table: [String: KeyAlgorithm] = [
            "algid:sign:RSA:raw": .rsaSignature(.raw, .digest(nil)),
            "algid:sign:RSA:digest-PKCS1v15": .rsaSignature(.pkcs1v15, .digest(nil)),
            "algid:sign:ECDSA:RFC4754": .ecdsaSignature(.rfc4754, .digest(nil)),
            "algid:sign:ECDSA:digest-RFC4754": .ecdsaSignature(.rfc4754, .digest(nil)),
            "algid:sign:ECDSA:digest-X962": .ecdsaSignature(.x962, .digest(nil)),
            "algid:encrypt:RSA:raw": .rsaEncryption(.raw),
            "algid:encrypt:RSA:PKCS1": .rsaEncryption(.pkcs1),
            "algid:keyexchange:ECDH": .ecdhKeyExchange(nil),
            "algid:keyexchange:ECDHC": .ecdhKeyExchange(nil),
        ]
        for hash in HashAlgorithm.allCases {
            let name = hash.rawValue
            // Apple's text for SHA-224 says 24; its salt is as long as the hash nevertheless.
            let salt = hash == .sha224 ? 24 : hash.byteCount
            for (kind, input) in [("digest", SignatureInput.digest(hash)), ("message", .message(hash))] {
                table["algid:sign:RSA:\(kind)-PKCS1v15:\(name)"] = .rsaSignature(.pkcs1v15, input)
                table["algid:sign:RSA:\(kind)-PSS:\(name):\(name):\(salt)"] = .rsaSignature(.pss, input)
                table["algid:sign:ECDSA:\(kind)-X962:\(name)"] = .ecdsaSignature(.x962, input)
                table["algid:sign:ECDSA:\(kind)-RFC4754:\(name)"] = .ecdsaSignature(.rfc4754, input)
            }
            table["algid:encrypt:RSA:OAEP:\(name)"] = .rsaEncryption(.oaep(hash))
            table["algid:encrypt:RSA:OAEP:\(name):AESGCM"] = .rsaEncryption(.oaepWithAESGCM(hash))
            for agreement in ["ECDH", "ECDHC"] {
                table["algid:keyexchange:\(agreement):KDFX963:\(name)"] = .ecdhKeyExchange(hash)
                table["algid:encrypt:ECIES:\(agreement):KDFX963:\(name):AESGCM"] = .eciesEncryption(
                    ECIES(hash: hash, initializationVector: .zero))
                // There is none with SHA-1.
                if hash == .sha1 { continue }
                table["algid:encrypt:ECIES:\(agreement):KDFX963:\(name):AESGCM-KDFIV"] = .eciesEncryption(
                    ECIES(hash: hash, initializationVector: .derived))
            }
        }
        return table
    }()
}
