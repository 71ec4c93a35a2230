internal import Crypto
internal import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneLocalAuthentication
internal import TouchstoneSecurity
internal import TouchstoneTransport

/// What a failed call throws to an app: the one place where failures become errors of CryptoKit.
func thrown(_ failure: any Error) -> any Error {
    if let authentication = AuthenticationInterface.Failed(behind: failure) {
        return NSError.localAuthentication(authentication)
    }
    // AC-52: what the key was bound to is no more.
    if (failure as? RemoteError)?.as(KeyInterface.Invalidated.self) != nil { return CryptoKitError.unwrapFailure }
    switch Status(failure: failure) {
    // AC-45: not of this device; not of this app.
    case .decode, .itemNotFound: return CryptoKitError.unwrapFailure
    case .param, .dataTooLarge: return CryptoKitError.incorrectParameterSize
    case let status: return CryptoKitError.underlyingCoreCryptoError(error: status.rawValue)
    }
}
