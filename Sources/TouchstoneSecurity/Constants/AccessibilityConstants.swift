// Values of `kSecAttrAccessible`.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

public import TouchstoneCoreFoundation

/// Value of `kSecAttrAccessible`: when unlocked.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"

/// Value of `kSecAttrAccessible`: after first unlock.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"

/// Value of `kSecAttrAccessible`: always.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways: CFString = "dk"

/// Value of `kSecAttrAccessible`: when unlocked this device only.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

/// Value of `kSecAttrAccessible`: after first unlock this device only.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

/// Value of `kSecAttrAccessible`: always this device only.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"

/// Value of `kSecAttrAccessible`: when passcode set this device only.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
