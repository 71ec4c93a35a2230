package import Foundation

/// The calls of `io.touchstone.Key`, with what touchstoned knows of the app that makes them.
///
/// The enclave answers with the errors of that interface.
extension EnclaveInterface {
    package enum CreateKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CreateKey"
        package struct Parameters: Codable, Sendable {
            package var kind: KeyInterface.Kind
            package var accessControl: AccessControl
            package var accessGroup: String
            package var app: String
            package var context: String?
            package init(
                kind: KeyInterface.Kind, accessControl: AccessControl, accessGroup: String, app: String,
                context: String?
            ) {
                self.kind = kind
                self.accessControl = accessControl
                self.accessGroup = accessGroup
                self.app = app
                self.context = context
            }
        }
        package typealias Reply = KeyInterface.Create.Reply
    }

    package enum InspectKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectKey"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            /// Of which the key must be.
            package var accessGroups: [String]
            package init(key: Data, accessGroups: [String]) {
                self.key = key
                self.accessGroups = accessGroups
            }
        }
        package typealias Reply = KeyInterface.Inspect.Reply
    }

    /// Whose key is to be used, and on which context.
    package struct KeyUse: Codable, Hashable, Sendable {
        package var key: Data
        package var app: String
        /// Of which the key must be.
        package var accessGroups: [String]
        package var context: String?
        package init(key: Data, app: String, accessGroups: [String], context: String?) {
            self.key = key
            self.app = app
            self.accessGroups = accessGroups
            self.context = context
        }
    }

    package enum Sign: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Sign"
        package struct Parameters: Codable, Sendable {
            package var use: KeyUse
            package var data: Data
            package init(use: KeyUse, data: Data) {
                self.use = use
                self.data = data
            }
        }
        package typealias Reply = KeyInterface.Sign.Reply
    }

    package enum ExchangeKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ExchangeKeys"
        package struct Parameters: Codable, Sendable {
            package var use: KeyUse
            package var publicKey: Data
            package var operation: AccessControlOperation
            package init(use: KeyUse, publicKey: Data, operation: AccessControlOperation) {
                self.use = use
                self.publicKey = publicKey
                self.operation = operation
            }
        }
        package typealias Reply = KeyInterface.ExchangeKeys.Reply
    }

    /// The key is in the TPM, which is asked meanwhile: the answer comes as an event with this ticket.
    package struct Deferred: VarlinkError {
        package static let name = "io.touchstone.Enclave.Deferred"
        package var ticket: String
        package init(ticket: String) { self.ticket = ticket }
    }

    /// The reply of `CreateKey`, `Sign` or `ExchangeKeys`, or why there is none.
    package struct KeyResult: Codable, Hashable, Sendable {
        package var key: Data?
        package var publicKey: Data?
        package var signature: Data?
        package var sharedSecret: Data?
        /// Of `KeyInterface.Failed`.
        package var status: Int32?
        /// Whether the key can never be used again.
        package var isInvalidated: Bool?
        /// Of either error.
        package var reason: String?
        package init(
            key: Data? = nil, publicKey: Data? = nil, signature: Data? = nil, sharedSecret: Data? = nil,
            status: Int32? = nil, isInvalidated: Bool? = nil, reason: String? = nil
        ) {
            self.key = key
            self.publicKey = publicKey
            self.signature = signature
            self.sharedSecret = sharedSecret
            self.status = status
            self.isInvalidated = isInvalidated
            self.reason = reason
        }
    }
}
