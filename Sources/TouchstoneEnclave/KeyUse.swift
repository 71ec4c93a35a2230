package import Foundation
package import TouchstoneCore

/// What became of the use of a private key.
package enum KeyUse<Product: Sendable>: Sendable {
    case done(Product)
    /// All was proven; the hardware that has the key has to do it, outside of the enclave's turn.
    case held(HeldKey)
    case refused(KeyRefusal)
}

/// Why a private key is not made, or not used.
package enum KeyRefusal: Error, Hashable, Sendable {
    /// The owner has to prove this first, or the context has no application password (AC-40, AC-48).
    case needed(AccessControl, AccessControlOperation)
    /// All was proven, and the context's application password is not this key's (AC-46).
    case wrongPassword(AccessControl, AccessControlOperation)
    /// What it was bound to is no more (AC-52).
    case invalidated(RefusalCause)
    /// Of this status; the access control is there where it stands in the way.
    case failed(Status, RefusalCause? = nil, AccessControl? = nil)

    init(_ refusal: Refusal) { self = .failed(refusal.status, refusal.cause, refusal.accessControl) }
}

/// What a private key is for.
package enum KeyKind: String, CaseIterable, Sendable {
    case p256, mlkem768, mlkem1024, mldsa65, mldsa87
}

/// A new private key, as its blob, and its public key.
package struct MadeKey: Hashable, Sendable {
    package var key: Data
    package var publicKey: Data
}

extension Enclave {
    /// Which private key is wanted, by whom, and on which context.
    package struct KeyCreation: Sendable {
        package var kind: KeyKind
        package var accessControl: AccessControl
        package var accessGroup: AccessGroup
        package var app: AppIdentifier
        package var context: String?

        package init(
            kind: KeyKind, accessControl: AccessControl, accessGroup: AccessGroup, app: AppIdentifier,
            context: String? = nil
        ) {
            self.kind = kind
            self.accessControl = accessControl
            self.accessGroup = accessGroup
            self.app = app
            self.context = context
        }
    }

    /// Whose private key is to be used, and on which context.
    package struct KeyRequest: Sendable {
        /// The blob.
        package var key: Data
        package var app: AppIdentifier
        /// The app's, of which the key must be.
        package var accessGroups: [AccessGroup]
        package var context: String?

        package init(key: Data, app: AppIdentifier, accessGroups: [AccessGroup], context: String? = nil) {
            self.key = key
            self.app = app
            self.accessGroups = accessGroups
            self.context = context
        }
    }

    /// What a private key is.
    package struct KeyDescription: Hashable, Sendable {
        package var kind: KeyKind
        package var publicKey: Data
        package var accessControl: AccessControl
        package var accessGroup: AccessGroup
    }
}
