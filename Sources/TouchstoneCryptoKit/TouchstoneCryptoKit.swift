// Everything else that `import CryptoKit` brings on Apple's platforms: the same code, which Apple publishes.

@_exported public import Crypto
