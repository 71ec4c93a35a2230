internal import Crypto
public import Foundation

/// A secret as it is kept: AES-256-GCM under the key of its item (SS-20).
public enum SealedSecret {
    /// Seals a secret.
    ///
    /// - Parameters:
    ///   - secret: 0 bytes or more.
    ///   - key: The item's.
    ///   - item: Its name, with which the secret is bound to it.
    /// - Returns: The nonce, the sealed secret and its tag.
    public static func seal(_ secret: Data, _ key: SymmetricKeyBytes, item: String) -> Data? {
        try? AES.GCM.seal(secret, using: key.key, authenticating: Data(item.utf8)).combined
    }

    /// Opens a secret.
    ///
    /// - Parameters:
    ///   - sealed: As it was kept.
    ///   - key: The item's.
    ///   - item: Its name.
    /// - Returns: The secret; nil where it is of another item, or was altered.
    public static func open(_ sealed: Data, _ key: SymmetricKeyBytes, item: String) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(box, using: key.key, authenticating: Data(item.utf8))
    }
}
