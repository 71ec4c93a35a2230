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
        guard query.itemClass == .key, query.attributes["tkid"] == .string(EnclaveKeyAttributes.token),
            query.attributes["kcls"] != .number(EnclaveKeyAttributes.publicKeyClass)
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
            if name == "klbl", query.attributes[name] != nil { continue }
            if name == "agrp", let asked = query.attributes[name], asked != value { throw Status.param }
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
    /// The value of `kSecAttrTokenIDSecureEnclave`.
    static let token = "com.apple.setoken"

    static let publicKeyClass: Int64 = 0

    /// Attributes that only the row knows: no query can name them.
    private static let accessControl = "key access control"
    private static let publicKey = "key public key"

    /// What is so of a key, whatever its app says.
    static func attributes(_ facts: KeyInterface.Inspect.Reply) -> [String: AttributeValue] {
        var attributes: [String: AttributeValue] = [
            "kcls": .number(1), "klbl": .data(Data(Insecure.SHA1.hash(data: facts.publicKey))),
            "agrp": .string(facts.accessGroup), accessControl: .accessControl(facts.accessControl),
            publicKey: .data(facts.publicKey), "type": .number(73),
        ]
        for size in ["bsiz", "esiz"] { attributes[size] = .number(256) }
        return attributes
    }

    /// What an update may not change: it is the key's, or would be of another one.
    static func isFixed(_ attribute: String) -> Bool {
        ["kcls", "klbl", "agrp", "tkid", "type", "bsiz", "esiz", "sync"].contains(attribute)
    }

    /// Takes the key's own control and its public key out of the attributes of its row; nil for any other row.
    static func take(from attributes: inout [String: AttributeValue]) -> (control: AccessControl, publicKey: Data)? {
        guard case .accessControl(let control)? = attributes.removeValue(forKey: accessControl),
            case .data(let publicKey)? = attributes.removeValue(forKey: publicKey)
        else { return nil }
        return (control, publicKey)
    }

    /// Whether these are the attributes of such a row.
    static func isKey(_ attributes: [String: AttributeValue]) -> Bool { attributes[accessControl] != nil }
}
