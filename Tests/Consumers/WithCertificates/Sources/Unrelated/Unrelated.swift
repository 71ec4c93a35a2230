/// Whether a target without the flag takes itself to be on one of Apple's platforms.
#if canImport(Security) || canImport(LocalAuthentication) || canImport(CryptoKit)
public let findsApplesModules = true
#else
public let findsApplesModules = false
#endif
