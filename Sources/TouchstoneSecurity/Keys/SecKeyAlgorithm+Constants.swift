// RSA signatures

extension SecKeyAlgorithm {
    /// RSA of a block as it is.
    public static let rsaSignatureRaw = SecKeyAlgorithm("algid:sign:RSA:raw")
    /// RSA of any bytes in a PKCS#1 v1.5 block, without a DigestInfo.
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15")
    /// RSA PKCS#1 v1.5 of a SHA-1 digest.
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA1")
    /// RSA PKCS#1 v1.5 of a SHA-224 digest.
    public static let rsaSignatureDigestPKCS1v15SHA224 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA224")
    /// RSA PKCS#1 v1.5 of a SHA-256 digest.
    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA256")
    /// RSA PKCS#1 v1.5 of a SHA-384 digest.
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA384")
    /// RSA PKCS#1 v1.5 of a SHA-512 digest.
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA512")
    /// RSA PSS of a SHA-1 digest.
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA1:SHA1:20")
    /// RSA PSS of a SHA-224 digest.
    public static let rsaSignatureDigestPSSSHA224 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA224:SHA224:24")
    /// RSA PSS of a SHA-256 digest.
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA256:SHA256:32")
    /// RSA PSS of a SHA-384 digest.
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA384:SHA384:48")
    /// RSA PSS of a SHA-512 digest.
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA512:SHA512:64")
    /// RSA PKCS#1 v1.5 of a message, hashed with SHA-1.
    public static let rsaSignatureMessagePKCS1v15SHA1 = SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA1")
    /// RSA PKCS#1 v1.5 of a message, hashed with SHA-224.
    public static let rsaSignatureMessagePKCS1v15SHA224 = SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA224")
    /// RSA PKCS#1 v1.5 of a message, hashed with SHA-256.
    public static let rsaSignatureMessagePKCS1v15SHA256 = SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA256")
    /// RSA PKCS#1 v1.5 of a message, hashed with SHA-384.
    public static let rsaSignatureMessagePKCS1v15SHA384 = SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA384")
    /// RSA PKCS#1 v1.5 of a message, hashed with SHA-512.
    public static let rsaSignatureMessagePKCS1v15SHA512 = SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA512")
    /// RSA PSS of a message, hashed with SHA-1.
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA1:SHA1:20")
    /// RSA PSS of a message, hashed with SHA-224.
    public static let rsaSignatureMessagePSSSHA224 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA224:SHA224:24")
    /// RSA PSS of a message, hashed with SHA-256.
    public static let rsaSignatureMessagePSSSHA256 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA256:SHA256:32")
    /// RSA PSS of a message, hashed with SHA-384.
    public static let rsaSignatureMessagePSSSHA384 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA384:SHA384:48")
    /// RSA PSS of a message, hashed with SHA-512.
    public static let rsaSignatureMessagePSSSHA512 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA512:SHA512:64")
}

// ECDSA signatures

extension SecKeyAlgorithm {
    /// The former name of `ecdsaSignatureDigestRFC4754`.
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:RFC4754")
    /// ECDSA of a digest of any length; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754")
    /// ECDSA of a SHA-1 digest; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA1")
    /// ECDSA of a SHA-224 digest; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA224")
    /// ECDSA of a SHA-256 digest; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA256")
    /// ECDSA of a SHA-384 digest; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA384")
    /// ECDSA of a SHA-512 digest; r and s as they are.
    public static let ecdsaSignatureDigestRFC4754SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA512")
    /// ECDSA of a message, hashed with SHA-1; r and s as they are.
    public static let ecdsaSignatureMessageRFC4754SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA1")
    /// ECDSA of a message, hashed with SHA-224; r and s as they are.
    public static let ecdsaSignatureMessageRFC4754SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA224")
    /// ECDSA of a message, hashed with SHA-256; r and s as they are.
    public static let ecdsaSignatureMessageRFC4754SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA256")
    /// ECDSA of a message, hashed with SHA-384; r and s as they are.
    public static let ecdsaSignatureMessageRFC4754SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA384")
    /// ECDSA of a message, hashed with SHA-512; r and s as they are.
    public static let ecdsaSignatureMessageRFC4754SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA512")
    /// ECDSA of a digest of any length; r and s in DER.
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962")
    /// ECDSA of a SHA-1 digest; r and s in DER.
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA1")
    /// ECDSA of a SHA-224 digest; r and s in DER.
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA224")
    /// ECDSA of a SHA-256 digest; r and s in DER.
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA256")
    /// ECDSA of a SHA-384 digest; r and s in DER.
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA384")
    /// ECDSA of a SHA-512 digest; r and s in DER.
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA512")
    /// ECDSA of a message, hashed with SHA-1; r and s in DER.
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA1")
    /// ECDSA of a message, hashed with SHA-224; r and s in DER.
    public static let ecdsaSignatureMessageX962SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA224")
    /// ECDSA of a message, hashed with SHA-256; r and s in DER.
    public static let ecdsaSignatureMessageX962SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA256")
    /// ECDSA of a message, hashed with SHA-384; r and s in DER.
    public static let ecdsaSignatureMessageX962SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA384")
    /// ECDSA of a message, hashed with SHA-512; r and s in DER.
    public static let ecdsaSignatureMessageX962SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA512")
}

// RSA encryption

extension SecKeyAlgorithm {
    /// RSA of a block as it is.
    public static let rsaEncryptionRaw = SecKeyAlgorithm("algid:encrypt:RSA:raw")
    /// RSA of a PKCS#1 v1.5 block.
    public static let rsaEncryptionPKCS1 = SecKeyAlgorithm("algid:encrypt:RSA:PKCS1")
    /// RSA OAEP with SHA-1.
    public static let rsaEncryptionOAEPSHA1 = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA1")
    /// RSA OAEP with SHA-224.
    public static let rsaEncryptionOAEPSHA224 = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA224")
    /// RSA OAEP with SHA-256.
    public static let rsaEncryptionOAEPSHA256 = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA256")
    /// RSA OAEP with SHA-384.
    public static let rsaEncryptionOAEPSHA384 = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA384")
    /// RSA OAEP with SHA-512.
    public static let rsaEncryptionOAEPSHA512 = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA512")
    /// RSA OAEP with SHA-1 of a new AES key, and AES-GCM of the rest.
    public static let rsaEncryptionOAEPSHA1AESGCM = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA1:AESGCM")
    /// RSA OAEP with SHA-224 of a new AES key, and AES-GCM of the rest.
    public static let rsaEncryptionOAEPSHA224AESGCM = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA224:AESGCM")
    /// RSA OAEP with SHA-256 of a new AES key, and AES-GCM of the rest.
    public static let rsaEncryptionOAEPSHA256AESGCM = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA256:AESGCM")
    /// RSA OAEP with SHA-384 of a new AES key, and AES-GCM of the rest.
    public static let rsaEncryptionOAEPSHA384AESGCM = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA384:AESGCM")
    /// RSA OAEP with SHA-512 of a new AES key, and AES-GCM of the rest.
    public static let rsaEncryptionOAEPSHA512AESGCM = SecKeyAlgorithm("algid:encrypt:RSA:OAEP:SHA512:AESGCM")
}

// ECIES encryption

extension SecKeyAlgorithm {
    /// ECIES: standard ECDH, X9.63 with SHA-1, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionStandardX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")
    /// ECIES: standard ECDH, X9.63 with SHA-224, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionStandardX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")
    /// ECIES: standard ECDH, X9.63 with SHA-256, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionStandardX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")
    /// ECIES: standard ECDH, X9.63 with SHA-384, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionStandardX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")
    /// ECIES: standard ECDH, X9.63 with SHA-512, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionStandardX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")
    /// ECIES: cofactor ECDH, X9.63 with SHA-1, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionCofactorX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")
    /// ECIES: cofactor ECDH, X9.63 with SHA-224, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionCofactorX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")
    /// ECIES: cofactor ECDH, X9.63 with SHA-256, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionCofactorX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
    /// ECIES: cofactor ECDH, X9.63 with SHA-384, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionCofactorX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")
    /// ECIES: cofactor ECDH, X9.63 with SHA-512, AES-GCM with an initialization vector of zeros.
    public static let eciesEncryptionCofactorX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")
    /// ECIES: standard ECDH, X9.63 with SHA-224, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
    /// ECIES: standard ECDH, X9.63 with SHA-256, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    /// ECIES: standard ECDH, X9.63 with SHA-384, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
    /// ECIES: standard ECDH, X9.63 with SHA-512, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, X9.63 with SHA-224, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, X9.63 with SHA-256, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, X9.63 with SHA-384, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
    /// ECIES: cofactor ECDH, X9.63 with SHA-512, AES-GCM with a derived initialization vector.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// key exchange

extension SecKeyAlgorithm {
    /// Standard ECDH; the coordinate itself.
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm("algid:keyexchange:ECDH")
    /// Standard ECDH, and X9.63 key derivation with SHA-1.
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA1")
    /// Standard ECDH, and X9.63 key derivation with SHA-224.
    public static let ecdhKeyExchangeStandardX963SHA224 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA224")
    /// Standard ECDH, and X9.63 key derivation with SHA-256.
    public static let ecdhKeyExchangeStandardX963SHA256 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA256")
    /// Standard ECDH, and X9.63 key derivation with SHA-384.
    public static let ecdhKeyExchangeStandardX963SHA384 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA384")
    /// Standard ECDH, and X9.63 key derivation with SHA-512.
    public static let ecdhKeyExchangeStandardX963SHA512 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA512")
    /// Cofactor ECDH; the coordinate itself.
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm("algid:keyexchange:ECDHC")
    /// Cofactor ECDH, and X9.63 key derivation with SHA-1.
    public static let ecdhKeyExchangeCofactorX963SHA1 = SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA1")
    /// Cofactor ECDH, and X9.63 key derivation with SHA-224.
    public static let ecdhKeyExchangeCofactorX963SHA224 = SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA224")
    /// Cofactor ECDH, and X9.63 key derivation with SHA-256.
    public static let ecdhKeyExchangeCofactorX963SHA256 = SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA256")
    /// Cofactor ECDH, and X9.63 key derivation with SHA-384.
    public static let ecdhKeyExchangeCofactorX963SHA384 = SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA384")
    /// Cofactor ECDH, and X9.63 key derivation with SHA-512.
    public static let ecdhKeyExchangeCofactorX963SHA512 = SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA512")
}
