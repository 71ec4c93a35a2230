// Item classes.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// The key of the item class.
@safe nonisolated(unsafe) public let kSecClass: CFString = CFString(.class)

/// Item class: generic password.
@safe nonisolated(unsafe) public let kSecClassGenericPassword: CFString = "genp"

/// Item class: internet password.
@safe nonisolated(unsafe) public let kSecClassInternetPassword: CFString = "inet"

/// Item class: certificate.
@safe nonisolated(unsafe) public let kSecClassCertificate: CFString = "cert"

/// Item class: key.
@safe nonisolated(unsafe) public let kSecClassKey: CFString = "keys"

/// Item class: identity.
@safe nonisolated(unsafe) public let kSecClassIdentity: CFString = "idnt"
