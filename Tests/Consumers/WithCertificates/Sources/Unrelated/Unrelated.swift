#if canImport(Security) || canImport(LocalAuthentication) || canImport(CryptoKit)
/// Whether a target without the flag takes itself to be on one of Apple's platforms.
public let findsApplesModules = true
#else
/// Whether a target without the flag takes itself to be on one of Apple's platforms.
public let findsApplesModules = false
#endif
