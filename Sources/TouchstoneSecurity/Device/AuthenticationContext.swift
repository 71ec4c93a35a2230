import TouchstoneCore
package import TouchstoneInterfaces

/// What the keychain wants of an `LAContext`, which is made of this module and not the other way round.
package protocol AuthenticationContext: AnyObject {
    var deviceContext: DeviceContext { get }
    var localizedReason: String { get }
    /// What one evaluation on this context shows and allows.
    func evaluationOptions(reason: String) -> AuthenticationInterface.Options
}
