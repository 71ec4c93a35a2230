// Attributes of items, and the values that some of them take.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

public import TouchstoneCoreFoundation

/// Attribute: accessible (CFString, accessible constant).
@safe nonisolated(unsafe) public let kSecAttrAccessible: CFString = "pdmn"

/// Attribute: access control (SecAccessControl).
@safe nonisolated(unsafe) public let kSecAttrAccessControl: CFString = "accc"

/// Attribute: access group (CFString).
@safe nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = "agrp"

/// Attribute: creation date (CFDate, read-only).
@safe nonisolated(unsafe) public let kSecAttrCreationDate: CFString = "cdat"

/// Attribute: modification date (CFDate, read-only).
@safe nonisolated(unsafe) public let kSecAttrModificationDate: CFString = "mdat"

/// Attribute: description (CFString).
@safe nonisolated(unsafe) public let kSecAttrDescription: CFString = "desc"

/// Attribute: comment (CFString).
@safe nonisolated(unsafe) public let kSecAttrComment: CFString = "icmt"

/// Attribute: creator (CFNumber, 4CC).
@safe nonisolated(unsafe) public let kSecAttrCreator: CFString = "crtr"

/// Attribute: type (CFNumber, 4CC).
@safe nonisolated(unsafe) public let kSecAttrType: CFString = "type"

/// Attribute: label (CFString).
@safe nonisolated(unsafe) public let kSecAttrLabel: CFString = "labl"

/// Attribute: is invisible (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsInvisible: CFString = "invi"

/// Attribute: is negative (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsNegative: CFString = "nega"

/// Attribute: account (CFString).
@safe nonisolated(unsafe) public let kSecAttrAccount: CFString = "acct"

/// Attribute: service (CFString).
@safe nonisolated(unsafe) public let kSecAttrService: CFString = "svce"

/// Attribute: generic (CFData).
@safe nonisolated(unsafe) public let kSecAttrGeneric: CFString = "gena"

/// Attribute: security domain (CFString).
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain: CFString = "sdmn"

/// Attribute: server (CFString).
@safe nonisolated(unsafe) public let kSecAttrServer: CFString = "srvr"

/// Attribute: protocol (protocol constant, header says CFNumber).
@safe nonisolated(unsafe) public let kSecAttrProtocol: CFString = "ptcl"

/// Attribute: authentication type (authtype constant, header says CFNumber).
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType: CFString = "atyp"

/// Attribute: port (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrPort: CFString = "port"

/// Attribute: path (CFString).
@safe nonisolated(unsafe) public let kSecAttrPath: CFString = "path"

/// Attribute: subject (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSubject: CFString = "subj"

/// Attribute: issuer (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrIssuer: CFString = "issr"

/// Attribute: serial number (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSerialNumber: CFString = "slnr"

/// Attribute: subject key ID (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID: CFString = "skid"

/// Attribute: public key hash (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash: CFString = "pkhh"

/// Attribute: certificate type (CFNumber, read-only; X.509 version 1..3).
@safe nonisolated(unsafe) public let kSecAttrCertificateType: CFString = "ctyp"

/// Attribute: certificate encoding (CFNumber, read-only; 3 = DER).
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding: CFString = "cenc"

/// Attribute: key class (keyclass constant).
@safe nonisolated(unsafe) public let kSecAttrKeyClass: CFString = "kcls"

/// Attribute: application label (CFData, SHA-1 of public key for asymmetric keys).
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel: CFString = "klbl"

/// Attribute: is permanent (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsPermanent: CFString = "perm"

/// Attribute: application tag (CFData).
@safe nonisolated(unsafe) public let kSecAttrApplicationTag: CFString = "atag"

/// Attribute: key type (keytype constant or CFNumber).
@safe nonisolated(unsafe) public let kSecAttrKeyType: CFString = "type"

/// Attribute: key size in bits (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = "bsiz"

/// Attribute: effective key size (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize: CFString = "esiz"

/// Attribute: is sensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsSensitive: CFString = "sens"

/// Attribute: is extractable (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsExtractable: CFString = "extr"

/// Attribute: can encrypt (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt: CFString = "encr"

/// Attribute: can decrypt (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt: CFString = "decr"

/// Attribute: can derive (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanDerive: CFString = "drve"

/// Attribute: can sign (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanSign: CFString = "sign"

/// Attribute: can verify (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanVerify: CFString = "vrfy"

/// Attribute: can wrap (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanWrap: CFString = "wrap"

/// Attribute: can unwrap (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap: CFString = "unwp"

/// Attribute: sync view hint (CFString).
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint: CFString = "vwht"

/// Attribute: token ID (CFString).
@safe nonisolated(unsafe) public let kSecAttrTokenID: CFString = "tkid"

/// Attribute: synchronizable (CFBoolean or kSecAttrSynchronizableAny).
@safe nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = "sync"

/// Attribute: persistant reference (CFData, misspelt alias).
@safe nonisolated(unsafe) public let kSecAttrPersistantReference: CFString = "persistref"

/// Attribute: persistent reference (CFData, 16-byte UUID).
@safe nonisolated(unsafe) public let kSecAttrPersistentReference: CFString = "persistref"

/// Access group of the items on tokens; readable, never writable.
@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken: CFString = "com.apple.token"

/// Value of `kSecAttrKeyClass`: public.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"

/// Value of `kSecAttrKeyClass`: private.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"

/// Value of `kSecAttrKeyClass`: symmetric.
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric: CFString = "2"

/// Value of `kSecAttrKeyType`: RSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"

/// Value of `kSecAttrKeyType`: EC.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = "73"

/// Value of `kSecAttrKeyType`: ECSEC prime random.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// Value of `kSecAttrSynchronizable` in a search: synchronizable or not.
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny: CFString = "syna"

/// Key generation: private key attrs (CFDictionary).
@safe nonisolated(unsafe) public let kSecPrivateKeyAttrs: CFString = "private"

/// Key generation: public key attrs (CFDictionary).
@safe nonisolated(unsafe) public let kSecPublicKeyAttrs: CFString = "public"

/// Value of `kSecAttrTokenID`: the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"

/// Attribute: access (SecAccess).
@safe nonisolated(unsafe) public let kSecAttrAccess: CFString = "acls"

/// Attribute: PRF (prf constant).
@safe nonisolated(unsafe) public let kSecAttrPRF: CFString = "prf"

/// Attribute: salt (CFData).
@safe nonisolated(unsafe) public let kSecAttrSalt: CFString = "salt"

/// Attribute: rounds (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrRounds: CFString = "rounds"

/// Value of `kSecAttrKeyType`: DES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES: CFString = "14"

/// Value of `kSecAttrKeyType`: 3 DES.
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES: CFString = "17"

/// Value of `kSecAttrKeyType`: RC2.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2: CFString = "23"

/// Value of `kSecAttrKeyType`: RC4.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4: CFString = "25"

/// Value of `kSecAttrKeyType`: DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA: CFString = "43"

/// Value of `kSecAttrKeyType`: CAST.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST: CFString = "56"

/// Value of `kSecAttrKeyType`: ECDSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA: CFString = "73"

/// Value of `kSecAttrKeyType`: AES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES: CFString = "2147483649"

/// Value of `kSecAttrPRF`: hmac alg SHA1.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1: CFString = "hsha1"

/// Value of `kSecAttrPRF`: hmac alg SHA224.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224: CFString = "hsha224"

/// Value of `kSecAttrPRF`: hmac alg SHA256.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256: CFString = "hsha256"

/// Value of `kSecAttrPRF`: hmac alg SHA384.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384: CFString = "hsha384"

/// Value of `kSecAttrPRF`: hmac alg SHA512.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512: CFString = "hsha512"
