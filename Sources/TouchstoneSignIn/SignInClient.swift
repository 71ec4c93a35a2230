import TouchstoneSignInProtocol

#if canImport(TouchstoneSecurity)
import TouchstoneLocalAuthentication
import TouchstoneSecurity
#else
import LocalAuthentication
import Security
#endif
