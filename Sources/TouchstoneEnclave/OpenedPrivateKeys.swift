import Crypto
import Foundation

/// P-256 keys that were opened since the class keys last came or went: what a key asks for is looked at each time, and only its blob is not
/// opened again.
///
/// None that wants an application password, and none of the hardware's.
///
/// > Concurrency: Used in the enclave's turn only.
final class OpenedPrivateKeys {
    /// Past that, the one that was opened first goes.
    static let maximum = 256

    struct Opened {
        var blob: PrivateKeyBlob
        var key: P256.Signing.PrivateKey
        /// Of the class keys that opened it: a change of them that was not kept has its own.
        fileprivate var epoch: UInt64
    }

    private var keys: [Data: Opened] = [:]
    /// The blobs, in the order in which they were opened.
    private var order: [Data] = []
    private var epoch: UInt64 = 0

    var count: Int { keys.count }

    func key(_ blob: Data, epoch: UInt64) -> Opened? { keys[blob].flatMap { $0.epoch == epoch ? $0 : nil } }

    func add(_ key: P256.Signing.PrivateKey, of blob: PrivateKeyBlob, as bytes: Data, epoch: UInt64) {
        // A slice would keep the whole message that it came with.
        let bytes = Data(bytes)
        guard keys.updateValue(Opened(blob: blob, key: key, epoch: epoch), forKey: bytes) == nil else { return }
        order.append(bytes)
        if order.count > Self.maximum { keys[order.removeFirst()] = nil }
    }

    /// Forgets all; what is freed is zeroed by the library that made it.
    ///
    /// - Returns: The number of the class keys that there are from now on.
    func removeAll() -> UInt64 {
        (keys, order) = ([:], [])
        epoch += 1
        return epoch
    }
}
