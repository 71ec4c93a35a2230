import Crypto
import Foundation
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Keys of the enclave as items: the row keeps the key's blob, and nothing guards it but the device (SE-04).
extension KeychainService {
    /// Reads a query that adds a key of the enclave, and gives it what follows from the key; others stay as they are.
    ///
    /// - Throws: `.decode` for what this device's enclave did not make: nothing is imported (SE-02). `.itemNotFound` for a key of another app's
    ///   group, `.param` where the query says of the key what is not so.
    func withEnclaveKey(_ query: KeychainQuery, for app: AppIdentity) throws -> KeychainQuery {
        guard query.itemClass == .key, query.attributes[.tokenID] == .secureEnclave,
            query.attributes[.keyClass] != .number(EnclaveKeyAttributes.publicKeyClass)
        else { return query }
        guard let key = query.data, query.synchronizable == false else { throw Status.param }
        let facts: KeyInterface.Inspect.Reply
        do {
            facts = try enclave.call(
                EnclaveInterface.InspectKey.self, .init(key: key, accessGroups: accessGroups(of: app)))
        } catch let error as RemoteError {
            throw error.as(KeyInterface.Failed.self).map { Status(rawValue: $0.status) } ?? .internalError
        }
        // SE-01: as items there are keys of P-256 alone; what is kept of others is data.
        guard facts.kind == .p256 else { throw Status.param }
        guard query.accessControl == nil || query.accessControl == facts.accessControl else { throw Status.param }
        var query = query
        for (name, value) in EnclaveKeyAttributes.attributes(facts) {
            // It is part of the primary key, and an app may have chosen it.
            if name == .applicationLabel, query.attributes[name] != nil { continue }
            if name == .accessGroup, let asked = query.attributes[name], asked != value { throw Status.param }
            query.attributes[name] = value
        }
        // What the key's own control wants is asked where the key is used.
        query.accessControl = try AccessControl(protection: .alwaysThisDeviceOnly, flags: [])
        query.accessibility = nil
        return query
    }
}

/// A key of the enclave as an item.
enum EnclaveKeyAttributes {
    static let publicKeyClass: Int64 = 0

    /// Attributes that only the row knows: no query can name them.
    private static let accessControl = AttributeKey(rawValue: "key access control")
    private static let publicKey = AttributeKey(rawValue: "key public key")

    /// What is so of a key, whatever its app says.
    static func attributes(_ facts: KeyInterface.Inspect.Reply) -> [AttributeKey: AttributeValue] {
        var attributes: [AttributeKey: AttributeValue] = [
            .keyClass: .number(1), .applicationLabel: .data(Data(Insecure.SHA1.hash(data: facts.publicKey))),
            .accessGroup: .string(facts.accessGroup.rawValue), accessControl: .accessControl(facts.accessControl),
            publicKey: .data(facts.publicKey), .keyType: .number(73),
        ]
        for size in [AttributeKey.keySizeInBits, .effectiveKeySize] { attributes[size] = .number(256) }
        return attributes
    }

    /// What an update may not change: it is the key's, or would be of another one.
    static func isFixed(_ attribute: AttributeKey) -> Bool {
        [
            .keyClass, .applicationLabel, .accessGroup, .tokenID, .keyType, .keySizeInBits, .effectiveKeySize,
            .synchronizable,
        ].contains(attribute)
    }

    /// Takes the key's own control and its public key out of the attributes of its row; nil for any other row.
    static func take(from attributes: inout [AttributeKey: AttributeValue]) -> (
        control: AccessControl, publicKey: Data
    )? {
        guard case .accessControl(let control)? = attributes.removeValue(forKey: accessControl),
            case .data(let publicKey)? = attributes.removeValue(forKey: publicKey)
        else { return nil }
        return (control, publicKey)
    }

    /// Whether these are the attributes of such a row.
    static func isKey(_ attributes: [AttributeKey: AttributeValue]) -> Bool { attributes[accessControl] != nil }
}
