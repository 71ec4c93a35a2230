// What to search, what to return, and how.
//
// Each is a constant object, as on Apple's platforms: `nonisolated(unsafe)` because Foundation makes no `NSString`
// Sendable on account of its mutable subclass, `@safe` because an immutable string is safe to read from any isolation.

public import TouchstoneCoreFoundation

/// Search: policy (SecPolicy).
@safe nonisolated(unsafe) public let kSecMatchPolicy: CFString = "m_Policy"

/// Search: item list (CFArray).
@safe nonisolated(unsafe) public let kSecMatchItemList: CFString = "m_ItemList"

/// Search: search list (CFArray of SecKeychain).
@safe nonisolated(unsafe) public let kSecMatchSearchList: CFString = "m_SearchList"

/// Search: issuers (CFArray of CFData).
@safe nonisolated(unsafe) public let kSecMatchIssuers: CFString = "m_Issuers"

/// Search: email address if present (CFString).
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"

/// Search: subject contains (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectContains: CFString = "m_SubjectContains"

/// Search: host or subdomain of host (CFString).
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"

/// Search: case insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"

/// Search: trusted only (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"

/// Search: valid on date (CFDate or kCFNull, = now).
@safe nonisolated(unsafe) public let kSecMatchValidOnDate: CFString = "m_ValidOnDate"

/// Search: limit (CFNumber or kSecMatchLimitOne/All).
@safe nonisolated(unsafe) public let kSecMatchLimit: CFString = "m_Limit"

/// Value of `kSecMatchLimit`: one.
@safe nonisolated(unsafe) public let kSecMatchLimitOne: CFString = "m_LimitOne"

/// Value of `kSecMatchLimit`: all.
@safe nonisolated(unsafe) public let kSecMatchLimitAll: CFString = "m_LimitAll"

/// What to return: data (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnData: CFString = "r_Data"

/// What to return: attributes (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnAttributes: CFString = "r_Attributes"

/// What to return: ref (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnRef: CFString = "r_Ref"

/// What to return: persistent ref (CFBoolean).
@safe nonisolated(unsafe) public let kSecReturnPersistentRef: CFString = "r_PersistentRef"

/// Value of the item: data (CFData).
@safe nonisolated(unsafe) public let kSecValueData: CFString = "v_Data"

/// Value of the item: ref (SecKey/SecCertificate/SecIdentity).
@safe nonisolated(unsafe) public let kSecValueRef: CFString = "v_Ref"

/// Value of the item: persistent ref (CFData).
@safe nonisolated(unsafe) public let kSecValuePersistentRef: CFString = "v_PersistentRef"

/// How to do it: item list (CFArray).
@safe nonisolated(unsafe) public let kSecUseItemList: CFString = "u_ItemList"

/// How to do it: operation prompt (CFString).
@safe nonisolated(unsafe) public let kSecUseOperationPrompt: CFString = "u_OpPrompt"

/// How to do it: no authentication UI (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"

/// How to do it: authentication UI (authui constant).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI: CFString = "u_AuthUI"

/// How to do it: data protection keychain (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain: CFString = "nleg"

/// How to do it: user independent keychain (CFBoolean).
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain: CFString = "u_UserIndependentKeychain"

/// Value of `kSecUseAuthenticationUI`: allow (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// Value of `kSecUseAuthenticationUI`: fail (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// Value of `kSecUseAuthenticationUI`: skip (AC-41).
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// How to do it: authentication context (LAContext).
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

/// Search: subject starts with (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith: CFString = "m_SubjectStartsWith"

/// Search: subject ends with (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith: CFString = "m_SubjectEndsWith"

/// Search: subject whole string (CFString).
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString: CFString = "m_SubjectWholeString"

/// Search: diacritic insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"

/// Search: width insensitive (CFBoolean).
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"

/// How to do it: keychain (SecKeychain).
@safe nonisolated(unsafe) public let kSecUseKeychain: CFString = "u_Keychain"
