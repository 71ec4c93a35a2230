@_exported public import TouchstoneCryptoKit
