import Crypto
import Foundation
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneTransport

/// Why an item can never be opened again.
enum ItemLoss {
    /// By what its owner did: removed passcode, other fingers.
    case expired
    case damaged
}

extension EnclaveClient {
    /// Whether a row can never be opened again, as far as can be told without asking anybody (KC-31, KC-32).
    ///
    /// Called on the enclave; `metadataKey` is nil while the class of the row is locked, or destroyed.
    func loss(of row: ItemRow, metadataKey: MetadataKey?, isDestroyed: Bool) throws -> ItemLoss? {
        guard let metadataKey else { return isDestroyed ? .expired : nil }
        guard let attributes = ItemCipher.openMetadata(row.metadata, classKey: metadataKey, binding: row.binding),
            case .accessControl(let control)? = attributes[.accessControl], control.protection == row.accessibility
        else { return .damaged }
        let binding = EnclaveInterface.ItemBinding(accessGroup: attributes.accessGroup, item: row.binding.bytes)
        let reply = try call(
            EnclaveInterface.UnwrapKeys.self,
            .init(items: [.init(wrappedKey: row.wrappedKey, binding: binding)], app: "", context: nil))
        guard let opened = reply.items.first else { throw Status.internalError }
        if let key = opened.key, let secret = row.secret {
            let plain = ItemCipher.openSecret(secret, key: SymmetricKey(data: key), binding: row.binding)
            return plain == nil ? .damaged : nil
        }
        guard opened.state == .gone else { return nil }
        return control.requirement.proofs.contains(.biometryCurrentSet) ? .expired : .damaged
    }
}

extension KeychainStore.KeychainWriter {
    /// KC-16: what its owner destroyed goes for good, what is damaged aside.
    func clear(_ row: ItemRow, _ loss: ItemLoss, at date: Date) throws {
        switch loss {
        case .expired: try delete(row)
        case .damaged: try putAside(row, at: date)
        }
    }
}
