public import Foundation

/// What this device knows of a server that it has a key for.
///
/// Kept in the keychain, nowhere else.
public struct RegisteredServer: Codable, Sendable, Equatable {
    /// Where requests go: the address in the app's configuration when it registered.
    public let server: URL
    /// The server's name in signed messages and in prompts.
    public let audience: String
    /// The app's identifier in signed messages.
    public let application: String
    /// The account's name, as it was typed.
    public let account: String
    /// What the device is called there.
    public let deviceName: String
    /// SHA-256 of the key's SubjectPublicKeyInfo.
    public let keyID: Data
    /// Why the key cannot be used any more; nil: as far as is known it can.
    public internal(set) var registrationNeeded: SignInError.RegistrationReason?

    /// 16 bytes.
    let userHandle: Data
    /// The key's application tag.
    let keyTag: String

    /// A key that may have taken the place of this one at the server: a rotation that was sent, and whose answer is not known.
    var pending: Pending?

    struct Pending: Codable, Sendable, Equatable {
        let keyID: Data
        let keyTag: String
    }

    /// The record of the same registration with another key.
    func with(keyID: Data, keyTag: String, pending: Pending? = nil) -> RegisteredServer {
        RegisteredServer(
            server: server, audience: audience, application: application, account: account, deviceName: deviceName,
            keyID: keyID, userHandle: userHandle, keyTag: keyTag, pending: pending)
    }
}
