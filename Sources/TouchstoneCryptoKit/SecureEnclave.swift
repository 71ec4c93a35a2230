internal import TouchstoneCore
import TouchstoneInterfaces
public import TouchstoneSecurity
import TouchstoneSystem
internal import TouchstoneTransport

/// Keys that are made in a device's enclave and used there: their private part never leaves it.
///
/// What an app keeps of a key is its `dataRepresentation`: the key, wrapped so that only this enclave opens it, only for this app, and
/// only once the owner has proven what the key's access control wants.
///
/// > Source: SE-01...SE-03, SE-16.
public enum SecureEnclave: Sendable {
    /// Whether a device is running and its enclave answers.
    ///
    /// Looked at again each time, which costs a message to the device. False also for a program that the device does not know.
    public static var isAvailable: Bool {
        // On a connection of its own: the kept ones say on standard error that there is no device, and this is only a question.
        guard let client = try? DeviceEndpoint.current().client() else { return false }
        defer { client.close() }
        let answer = try? client.call(
            AuthenticationInterface.CanEvaluatePolicy.self, .init(context: nil, policy: .deviceOwnerAuthentication))
        return answer != nil
    }

    /// Of a key for which nothing else is said: used while the device is unlocked, on this device only, and nobody is asked.
    @usableFromInline static let defaultAccessControl: SecAccessControl = {
        guard let value = try? AccessControl(protection: .whenUnlockedThisDeviceOnly, flags: .privateKeyUsage) else {
            preconditionFailure("AC-02 forbids no single flag")
        }
        return SecAccessControl(value)
    }()
}
