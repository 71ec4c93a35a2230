// What to search, what to return, and how.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// Search: policy (SecPolicy).
@safe nonisolated(unsafe) public let kSecMatchPolicy: CFString = CFString(.matchPolicy)

/// Search: item list (CFArray).
@safe nonisolated(unsafe) public let kSecMatchItemList: CFString = CFString(.matchItemList)

/// Search: search list (CFArray of SecKeychain).
@safe nonisolated(unsafe) public let kSecMatchSearchList: CFString = CFString(.matchSearchList)

/// Search: issuers (CFArray of CFData).
@safe nonisolated(unsafe) public let kSecMatchIssuers: CFString = CFString(.matchIssuers)

/// Search: email address if present (CFString).
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent: CFString = CFString(.matchEmailAddressIfPresent)

/// Search: subject contains (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectContains: CFString = CFString(.matchSubjectContains)

/// Search: host or subdomain of host (CFString).
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost: CFString = CFString(.matchHostOrSubdomainOfHost)

/// Search: case insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive: CFString = CFString(.matchCaseInsensitive)

/// Search: trusted only (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly: CFString = CFString(.matchTrustedOnly)

/// Search: valid on date (CFDate or kCFNull, = now).
@safe nonisolated(unsafe) public let kSecMatchValidOnDate: CFString = CFString(.matchValidOnDate)

/// Search: limit (CFNumber or kSecMatchLimitOne/All).
@safe nonisolated(unsafe) public let kSecMatchLimit: CFString = CFString(.matchLimit)

/// Value of `kSecMatchLimit`: one.
@safe nonisolated(unsafe) public let kSecMatchLimitOne: CFString = "m_LimitOne"

/// Value of `kSecMatchLimit`: all.
@safe nonisolated(unsafe) public let kSecMatchLimitAll: CFString = "m_LimitAll"

/// What to return: data (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnData: CFString = CFString(.returnData)

/// What to return: attributes (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnAttributes: CFString = CFString(.returnAttributes)

/// What to return: ref (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnRef: CFString = CFString(.returnRef)

/// What to return: persistent ref (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnPersistentRef: CFString = CFString(.returnPersistentRef)

/// Value of the item: data (CFData).
@safe nonisolated(unsafe) public let kSecValueData: CFString = CFString(.valueData)

/// Value of the item: ref (SecKey/SecCertificate/SecIdentity).
@safe nonisolated(unsafe) public let kSecValueRef: CFString = CFString(.valueRef)

/// Value of the item: persistent ref (CFData).
@safe nonisolated(unsafe) public let kSecValuePersistentRef: CFString = CFString(.valuePersistentRef)

/// How to do it: item list (CFArray).
@safe nonisolated(unsafe) public let kSecUseItemList: CFString = "u_ItemList"

/// How to do it: operation prompt (CFString).
@safe nonisolated(unsafe) public let kSecUseOperationPrompt: CFString = CFString(.useOperationPrompt)

/// How to do it: no authentication UI (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI: CFString = CFString(.useNoAuthenticationUI)

/// How to do it: authentication UI (authui constant).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI: CFString = CFString(.useAuthenticationUI)

/// How to do it: data protection keychain (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain: CFString = CFString(.useDataProtectionKeychain)

/// How to do it: user independent keychain (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain: CFString = CFString(.useUserIndependentKeychain)

/// Value of `kSecUseAuthenticationUI`: allow (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// Value of `kSecUseAuthenticationUI`: fail (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// Value of `kSecUseAuthenticationUI`: skip (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// How to do it: authentication context (LAContext).
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext: CFString = CFString(.useAuthenticationContext)

/// Search: subject starts with (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith: CFString = CFString(.matchSubjectStartsWith)

/// Search: subject ends with (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith: CFString = CFString(.matchSubjectEndsWith)

/// Search: subject whole string (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString: CFString = CFString(.matchSubjectWholeString)

/// Search: diacritic insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive: CFString = CFString(.matchDiacriticInsensitive)

/// Search: width insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive: CFString = CFString(.matchWidthInsensitive)

/// How to do it: keychain (SecKeychain).
@safe nonisolated(unsafe) public let kSecUseKeychain: CFString = "u_Keychain"
