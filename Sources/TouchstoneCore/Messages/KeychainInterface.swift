package import Foundation

/// `io.touchstone.Keychain`: items, addressed by Apple's dictionaries.
///
/// The daemon reads the dictionaries; a client only carries them.
package enum KeychainInterface {
    package static let name = "io.touchstone.Keychain"

    /// A keychain dictionary: the values of Apple's constants as keys (`"class"`, `"acct"`, `"r_Data"`, …).
    package typealias Dictionary = [String: AttributeValue]

    /// One item of a result: what the return keys asked for, nothing else.
    package struct Item: Codable, Hashable, Sendable {
        package var attributes: Dictionary?
        package var data: Data?
        package var persistentReference: Data?
        /// Of an identity; `data` is its key's.
        package var certificate: Data?
        /// Of a key of the enclave, where a reference is asked for; `data` is then what `KeyInterface` calls the key.
        package var publicKey: Data?

        package init(
            attributes: Dictionary? = nil, data: Data? = nil, persistentReference: Data? = nil,
            certificate: Data? = nil, publicKey: Data? = nil
        ) {
            self.attributes = attributes
            self.data = data
            self.persistentReference = persistentReference
            self.certificate = certificate
            self.publicKey = publicKey
        }
    }

    package enum Add: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Add"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: Codable, Sendable {
            package var attributes: Dictionary
            /// Of an identity: the certificate that is added with the key.
            package var certificate: Dictionary?
            package var context: String?
            package init(attributes: Dictionary, certificate: Dictionary? = nil, context: String?) {
                self.attributes = attributes
                self.certificate = certificate
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            package var item: Item
            package init(item: Item) { self.item = item }
        }
    }

    package enum CopyMatching: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.CopyMatching"
        package struct Parameters: Codable, Sendable {
            package var query: Dictionary
            /// Contents of normalized names; the query has true for them under their key.
            package var issuers: [Data]?
            package var context: String?
            package init(query: Dictionary, issuers: [Data]? = nil, context: String?) {
                self.query = query
                self.issuers = issuers
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            package var items: [Item]
            package init(items: [Item]) { self.items = items }
        }
    }

    package enum Update: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Update"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: Codable, Sendable {
            package var query: Dictionary
            package var attributes: Dictionary
            package var context: String?
            package init(query: Dictionary, attributes: Dictionary, context: String?) {
                self.query = query
                self.attributes = attributes
                self.context = context
            }
        }
        package typealias Reply = Empty
    }

    package enum Delete: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Delete"
        package struct Parameters: Codable, Sendable {
            package var query: Dictionary
            package var context: String?
            package init(query: Dictionary, context: String?) {
                self.query = query
                self.context = context
            }
        }
        package typealias Reply = Empty
    }

    /// The call failed with this `OSStatus`.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Keychain.Failed"
        package var status: Int32
        /// A word of `RefusalCause`, or a newer one: why, where the status does not say it.
        package var reason: String?
        /// What stands in the way, where an access control does.
        package var accessControl: AccessControl?

        package init(_ status: Status, _ cause: RefusalCause? = nil, _ accessControl: AccessControl? = nil) {
            self.status = status.rawValue
            reason = cause?.rawValue
            self.accessControl = accessControl
        }

        package init(_ refusal: Refusal) {
            self.init(refusal.status, refusal.cause, refusal.accessControl)
        }
    }

    /// Nothing was done: evaluate each of these with `EvaluateAccessControl` on one context and call again with it (AC-40).
    package struct AuthenticationNeeded: VarlinkError {
        package static let name = "io.touchstone.Keychain.AuthenticationNeeded"
        package var operations: [ConstrainedOperation]
        package init(operations: [ConstrainedOperation]) { self.operations = operations }
    }

    package struct ConstrainedOperation: Codable, Hashable, Sendable {
        package var accessControl: AccessControl
        package var operation: AccessControlOperation
        package init(accessControl: AccessControl, operation: AccessControlOperation) {
            self.accessControl = accessControl
            self.operation = operation
        }
    }
}
