// Attributes of items, and the values that some of them take.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// Attribute: accessible (CFString, accessible constant).
@safe nonisolated(unsafe) public let kSecAttrAccessible: CFString = CFString(.accessible)

/// Attribute: access control (SecAccessControl).
@safe nonisolated(unsafe) public let kSecAttrAccessControl: CFString = CFString(.accessControl)

/// Attribute: access group (CFString).
@safe nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = CFString(.accessGroup)

/// Attribute: creation date (CFDate, read-only).
@safe nonisolated(unsafe) public let kSecAttrCreationDate: CFString = CFString(.creationDate)

/// Attribute: modification date (CFDate, read-only).
@safe nonisolated(unsafe) public let kSecAttrModificationDate: CFString = CFString(.modificationDate)

/// Attribute: description (CFString).
@safe nonisolated(unsafe) public let kSecAttrDescription: CFString = CFString(.description)

/// Attribute: comment (CFString).
@safe nonisolated(unsafe) public let kSecAttrComment: CFString = CFString(.comment)

/// Attribute: creator (CFNumber, 4CC).
@safe nonisolated(unsafe) public let kSecAttrCreator: CFString = CFString(.creator)

/// Attribute: type (CFNumber, 4CC).
@safe nonisolated(unsafe) public let kSecAttrType: CFString = CFString(.type)

/// Attribute: label (CFString).
@safe nonisolated(unsafe) public let kSecAttrLabel: CFString = CFString(.label)

/// Attribute: is invisible (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsInvisible: CFString = CFString(.isInvisible)

/// Attribute: is negative (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsNegative: CFString = CFString(.isNegative)

/// Attribute: account (CFString).
@safe nonisolated(unsafe) public let kSecAttrAccount: CFString = CFString(.account)

/// Attribute: service (CFString).
@safe nonisolated(unsafe) public let kSecAttrService: CFString = CFString(.service)

/// Attribute: generic (CFData).
@safe nonisolated(unsafe) public let kSecAttrGeneric: CFString = CFString(.generic)

/// Attribute: security domain (CFString).
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain: CFString = CFString(.securityDomain)

/// Attribute: server (CFString).
@safe nonisolated(unsafe) public let kSecAttrServer: CFString = CFString(.server)

/// Attribute: protocol (protocol constant, header says CFNumber).
@safe nonisolated(unsafe) public let kSecAttrProtocol: CFString = CFString(.protocol)

/// Attribute: authentication type (authtype constant, header says CFNumber).
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType: CFString = CFString(.authenticationType)

/// Attribute: port (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrPort: CFString = CFString(.port)

/// Attribute: path (CFString).
@safe nonisolated(unsafe) public let kSecAttrPath: CFString = CFString(.path)

/// Attribute: subject (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSubject: CFString = CFString(.subject)

/// Attribute: issuer (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrIssuer: CFString = CFString(.issuer)

/// Attribute: serial number (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSerialNumber: CFString = CFString(.serialNumber)

/// Attribute: subject key ID (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID: CFString = CFString(.subjectKeyID)

/// Attribute: public key hash (CFData, read-only).
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash: CFString = CFString(.publicKeyHash)

/// Attribute: certificate type (CFNumber, read-only; X.509 version 1..3).
@safe nonisolated(unsafe) public let kSecAttrCertificateType: CFString = CFString(.certificateType)

/// Attribute: certificate encoding (CFNumber, read-only; 3 = DER).
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding: CFString = CFString(.certificateEncoding)

/// Attribute: key class (keyclass constant).
@safe nonisolated(unsafe) public let kSecAttrKeyClass: CFString = CFString(.keyClass)

/// Attribute: application label (CFData, SHA-1 of public key for asymmetric keys).
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel: CFString = CFString(.applicationLabel)

/// Attribute: is permanent (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsPermanent: CFString = CFString(.isPermanent)

/// Attribute: application tag (CFData).
@safe nonisolated(unsafe) public let kSecAttrApplicationTag: CFString = CFString(.applicationTag)

/// Attribute: key type (keytype constant or CFNumber).
@safe nonisolated(unsafe) public let kSecAttrKeyType: CFString = CFString(.keyType)

/// Attribute: key size in bits (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = CFString(.keySizeInBits)

/// Attribute: effective key size (CFNumber).
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize: CFString = CFString(.effectiveKeySize)

/// Attribute: is sensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsSensitive: CFString = CFString(.isSensitive)

/// Attribute: is extractable (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrIsExtractable: CFString = CFString(.isExtractable)

/// Attribute: can encrypt (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt: CFString = CFString(.canEncrypt)

/// Attribute: can decrypt (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt: CFString = CFString(.canDecrypt)

/// Attribute: can derive (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanDerive: CFString = CFString(.canDerive)

/// Attribute: can sign (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanSign: CFString = CFString(.canSign)

/// Attribute: can verify (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanVerify: CFString = CFString(.canVerify)

/// Attribute: can wrap (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanWrap: CFString = CFString(.canWrap)

/// Attribute: can unwrap (CFBoolean).
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap: CFString = CFString(.canUnwrap)

/// Attribute: sync view hint (CFString).
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint: CFString = CFString(.syncViewHint)

/// Attribute: token ID (CFString).
@safe nonisolated(unsafe) public let kSecAttrTokenID: CFString = CFString(.tokenID)

/// Attribute: synchronizable (CFBoolean or kSecAttrSynchronizableAny).
@safe nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = CFString(.synchronizable)

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
