// Domains of system identities, and the parts of a certificate's properties.
// Why they are `nonisolated(unsafe)` and `@safe` is said in `AttributeConstants.swift`.

public import TouchstoneCoreFoundation

/// Domain of a system identity: the one for everything without its own.
@safe nonisolated(unsafe) public let kSecIdentityDomainDefault: CFString = "com.apple.systemdefault"

/// Domain of a system identity: the Kerberos key distribution centre.
@safe nonisolated(unsafe) public let kSecIdentityDomainKerberosKDC: CFString = "com.apple.kerberos.kdc"

/// Part of a certificate's property: its type, one of `kSecPropertyType…` (CFString).
@safe nonisolated(unsafe) public let kSecPropertyKeyType: CFString = "type"

/// Part of a certificate's property: its name (CFString).
@safe nonisolated(unsafe) public let kSecPropertyKeyLabel: CFString = "label"

/// Part of a certificate's property: its name in the reader's language (CFString).
@safe nonisolated(unsafe) public let kSecPropertyKeyLocalizedLabel: CFString = "localized label"

/// Part of a certificate's property: its value, of the type given.
@safe nonisolated(unsafe) public let kSecPropertyKeyValue: CFString = "value"

/// Value of `kSecPropertyKeyType`: a warning (CFString).
@safe nonisolated(unsafe) public let kSecPropertyTypeWarning: CFString = "warning"

/// Value of `kSecPropertyKeyType`: a confirmation (CFString).
@safe nonisolated(unsafe) public let kSecPropertyTypeSuccess: CFString = "success"

/// Value of `kSecPropertyKeyType`: more properties (CFArray).
@safe nonisolated(unsafe) public let kSecPropertyTypeSection: CFString = "section"

/// Value of `kSecPropertyKeyType`: bytes (CFData).
@safe nonisolated(unsafe) public let kSecPropertyTypeData: CFString = "data"

/// Value of `kSecPropertyKeyType`: text (CFString).
@safe nonisolated(unsafe) public let kSecPropertyTypeString: CFString = "string"

/// Value of `kSecPropertyKeyType`: an address (CFURL).
@safe nonisolated(unsafe) public let kSecPropertyTypeURL: CFString = "url"

/// Value of `kSecPropertyKeyType`: a point in time (CFDate).
@safe nonisolated(unsafe) public let kSecPropertyTypeDate: CFString = "date"

/// Value of `kSecPropertyKeyType`: several values (CFArray).
@safe nonisolated(unsafe) public let kSecPropertyTypeArray: CFString = "array"

/// Value of `kSecPropertyKeyType`: a number (CFNumber).
@safe nonisolated(unsafe) public let kSecPropertyTypeNumber: CFString = "number"
