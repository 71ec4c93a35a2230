internal import TouchstoneCore

/// An operation that an access control may constrain (EV-62).
public enum LAAccessControlOperation: Int, Sendable {
    /// Adding an item.
    case createItem = 0
    /// Reading an item.
    case useItem = 1
    /// Making a key.
    case createKey = 2
    /// Signing with a key.
    case useKeySign = 3
    /// Decrypting with a key.
    case useKeyDecrypt = 4
    /// Agreeing on a secret with a key.
    case useKeyKeyExchange = 5

    var value: AccessControlOperation {
        switch self {
        case .createItem: .createItem
        case .useItem: .useItem
        case .createKey: .createKey
        case .useKeySign: .useKeySign
        case .useKeyDecrypt: .useKeyDecrypt
        case .useKeyKeyExchange: .useKeyKeyExchange
        }
    }
}
