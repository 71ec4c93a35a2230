// Options of `SecPKCS12Import` and keys of its results.
// Why they are `nonisolated(unsafe)` and `@safe` is said in `AttributeConstants.swift`.

public import TouchstoneCoreFoundation

/// Option of an import: the passphrase of the file (CFString).
@safe nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"

/// Option of an import on macOS: the file keychain to import into (SecKeychain).
@safe nonisolated(unsafe) public let kSecImportExportKeychain: CFString = "keychain"

/// Option of an import on macOS: the access of what is imported (SecAccess).
@safe nonisolated(unsafe) public let kSecImportExportAccess: CFString = "access"

/// Option of an import: whether nothing is stored in a keychain (CFBoolean).
@safe nonisolated(unsafe) public let kSecImportToMemoryOnly: CFString = "memory"

/// Result of an import: the label of the item (CFString).
@safe nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"

/// Result of an import: what names the key (CFData).
@safe nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"

/// Result of an import: the trust object of the chain (SecTrust).
@safe nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"

/// Result of an import: the certificates of the chain, the identity's first (CFArray of SecCertificate).
@safe nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"

/// Result of an import: the identity (SecIdentity).
@safe nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"
