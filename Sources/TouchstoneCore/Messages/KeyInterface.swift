package import Foundation

/// `io.touchstone.Key`: private keys that are made in the enclave and used there.
///
/// A key is a blob that only this device's enclave opens; whoever made it keeps it, in the keychain or elsewhere (SE-03).
package enum KeyInterface {
    package static let name = "io.touchstone.Key"

    /// What a key is for and how long it is.
    package enum Kind: String, Codable, CaseIterable, Sendable {
        /// NIST P-256: signs (ECDSA) and exchanges keys (ECDH).
        case p256
        /// ML-KEM of FIPS 203: takes out the secrets that others encapsulated.
        case mlkem768, mlkem1024
        /// ML-DSA of FIPS 204: signs messages.
        case mldsa65, mldsa87
    }

    /// Makes a key; asks nobody (SE-15).
    package enum Create: VarlinkMethod {
        package static let name = "io.touchstone.Key.Create"
        package struct Parameters: Codable, Sendable {
            package var kind: Kind
            package var accessControl: AccessControl
            /// One of the app's; nil: its first.
            package var accessGroup: String?
            /// Has the application password, where the control wants one.
            package var context: String?
            package init(kind: Kind, accessControl: AccessControl, accessGroup: String?, context: String?) {
                self.kind = kind
                self.accessControl = accessControl
                self.accessGroup = accessGroup
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            package var key: Data
            /// Of P-256 its point, uncompressed (X9.63, 65 bytes); of the others as their standards encode it.
            package var publicKey: Data
            package init(key: Data, publicKey: Data) {
                self.key = key
                self.publicKey = publicKey
            }
        }
    }

    /// What a key is; opens nothing, asks nobody, and is answered while the device is locked.
    package enum Inspect: VarlinkMethod {
        package static let name = "io.touchstone.Key.Inspect"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            package init(key: Data) { self.key = key }
        }
        package struct Reply: Codable, Sendable {
            package var kind: Kind
            package var publicKey: Data
            package var accessControl: AccessControl
            package var accessGroup: String
            package init(kind: Kind, publicKey: Data, accessControl: AccessControl, accessGroup: String) {
                self.kind = kind
                self.publicKey = publicKey
                self.accessControl = accessControl
                self.accessGroup = accessGroup
            }
        }
    }

    /// Signs a digest.
    package enum Sign: VarlinkMethod {
        package static let name = "io.touchstone.Key.Sign"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            /// Of P-256 a digest of 32 bytes.
            package var data: Data
            package var context: String?
            package init(key: Data, data: Data, context: String?) {
                self.key = key
                self.data = data
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            /// Of P-256 r and s, 32 bytes each.
            package var signature: Data
            package init(signature: Data) { self.signature = signature }
        }
    }

    /// Agrees on a secret with the holder of another key.
    package enum ExchangeKeys: VarlinkMethod {
        package static let name = "io.touchstone.Key.ExchangeKeys"
        package struct Parameters: Codable, Sendable {
            package var key: Data
            /// The other's.
            package var publicKey: Data
            /// What it is done for, and the owner is told: `useKeyKeyExchange` or `useKeyDecrypt`.
            package var operation: AccessControlOperation
            package var context: String?
            package init(key: Data, publicKey: Data, operation: AccessControlOperation, context: String?) {
                self.key = key
                self.publicKey = publicKey
                self.operation = operation
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            /// Of P-256 the coordinate x, 32 bytes.
            package var sharedSecret: Data
            package init(sharedSecret: Data) { self.sharedSecret = sharedSecret }
        }
    }

    /// The call failed with this `OSStatus`.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Key.Failed"
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
        package static let name = "io.touchstone.Key.AuthenticationNeeded"
        package var operations: [KeychainInterface.ConstrainedOperation]
        package init(operations: [KeychainInterface.ConstrainedOperation]) { self.operations = operations }
    }

    /// The key can never be used again: its owner changed the enrolled fingers or removed the passcode it was bound to (AC-52).
    package struct Invalidated: VarlinkError {
        package static let name = "io.touchstone.Key.Invalidated"
        /// A word of `RefusalCause`, or a newer one.
        package var reason: String?
        package init(_ cause: RefusalCause? = nil) { reason = cause?.rawValue }
    }
}
