internal import TouchstoneCore
public import TouchstoneCoreFoundation
import TouchstoneInterfaces
import TouchstoneSystem
internal import TouchstoneTransport

/// Adds an item to the keychain.
///
/// Durable when it returns. Blocks while the owner is asked, which adding seldom needs (AC-21).
///
/// The value of a password is at most 16 MiB, that of a certificate or a key 700 KiB; `errSecDataTooLarge` is the answer to more. It is
/// meant for secrets: keep a key here, and what it encrypts in a file.
///
/// > Source: section 6 of the primary-key table; AC-40.
///
/// - Parameters:
///   - attributes: The class, the attributes and the data of the item, and what to return of it.
///   - result: Takes what the `kSecReturn…` keys ask for, and is left alone where they ask for nothing.
/// - Returns: `errSecSuccess`, or why nothing was added; `errSecNotAvailable` also where the connection broke and it may have been.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status("SecItemAdd") {
        let query = try ItemQuery(attributes)
        let shape = ItemResult(query)
        let (attributes, certificate) = try query.added()
        let reply = try query.authentication.call(KeychainInterface.Add.self, as: "SecItemAdd") {
            .init(attributes: attributes, certificate: certificate, context: $0.context, options: $0.options)
        }
        if shape.isAskedFor { unsafe result?.initialize(to: shape.addedObject(reply.item)) }
    }
}

/// Finds items in the keychain.
///
/// Blocks while the owner is asked: call it off the main queue (AC-26).
///
/// `kSecMatchPolicy` and `kSecMatchTrustedOnly` keep the certificates and identities that meet a policy, or that the machine trusts (TR-10).
///
/// > Source: section 5 of the primary-key table; AC-22, AC-23, AC-25, AC-40...AC-43.
///
/// - Parameters:
///   - query: The class and the attributes to look for, how many to return, and what of each.
///   - result: Takes one item, or an array where the query has a limit other than one; left alone if nothing is asked for. A search by
///     the reference of an identity says whether it is there, and gives its persistent reference where that alone of one is asked for.
/// - Returns: `errSecSuccess`, or why nothing was returned.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status("SecItemCopyMatching") {
        let query = try ItemQuery(query)
        let shape = ItemResult(query)
        if shape.isAskedFor, unsafe result == nil { throw Status.param }
        func parameters(_ authentication: CallAuthentication) -> KeychainInterface.CopyMatching.Parameters {
            .init(
                query: query.searched, issuers: query.issuers, context: authentication.context,
                options: authentication.options)
        }
        typealias Method = KeychainInterface.CopyMatching
        if let filter = try query.trustFilter(), let itemClass = query.itemClass {
            let wide = query.withoutTrustFilter
            let items = try query.authentication.stream(
                Method.self, as: "SecItemCopyMatching",
                {
                    .init(
                        query: wide.searched, issuers: wide.issuers, context: $0.context, options: $0.options)
                }, { $0.items })
            let trusted = filter.items(items, of: itemClass).prefix(query.limit ?? .max)
            guard let first = trusted.first else { throw Status.itemNotFound }
            guard query.isLimitedToOne else {
                if !query.isOfIdentity { unsafe result?.initialize(to: trusted.compactMap(shape.object) as NSArray) }
                return
            }
            if shape.isAskedFor, !query.isOfIdentity || shape.isPersistentReferenceAlone {
                unsafe result?.initialize(to: shape.object(first))
            }
            return
        }
        guard query.isLimitedToOne else {
            let objects = try query.authentication.stream(Method.self, as: "SecItemCopyMatching", parameters) {
                $0.items.compactMap(shape.object)
            }
            if !query.isOfIdentity { unsafe result?.initialize(to: objects as NSArray) }
            return
        }
        let reply = try query.authentication.call(
            Method.self, as: "SecItemCopyMatching", isRepeatable: true, parameters)
        if shape.isAskedFor {
            guard let item = reply.items.first else { throw Status.itemNotFound }
            if query.isOfIdentity, !shape.isPersistentReferenceAlone { return }
            unsafe result?.initialize(to: shape.object(item))
        }
    }
}

/// Changes all items that a query finds, or none.
///
/// Blocks while the owner is asked, which changing a protected item needs (AC-21).
///
/// > Source: section 7 of the primary-key table; AC-40.
///
/// - Parameters:
///   - query: The class and the attributes to look for.
///   - attributesToUpdate: The new values.
/// - Returns: `errSecSuccess`, or why nothing was changed; `errSecNotAvailable` also where the connection broke and it may have been.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    status("SecItemUpdate") {
        let query = try ItemQuery(query)
        let changes = try ItemQuery(attributesToUpdate)
        // AC-48: a context belongs into the query, as does what forbids to ask, and a reference (section 7).
        if changes.context != nil { throw RefusedKey(.noSuchAttr, .useAuthenticationContext) }
        if changes.forbidsInteraction { throw RefusedKey(.noSuchAttr, .useAuthenticationUI) }
        if changes.hasReference { throw RefusedKey(.noSuchAttr, .valueRef) }
        _ = try query.authentication.call(KeychainInterface.Update.self, as: "SecItemUpdate") {
            .init(
                query: query.searched, attributes: changes.entries, context: $0.context, options: $0.options)
        }
    }
}

/// Deletes all items that a query finds.
///
/// The owner is not asked (AC-24).
///
/// > Source: section 8 of the primary-key table; AC-24, AC-40.
///
/// - Parameter query: The class and the attributes to look for.
/// - Returns: `errSecSuccess`, or why nothing was deleted; `errSecNotAvailable` also where the connection broke and it may have been.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status("SecItemDelete") {
        let query = try ItemQuery(query)
        _ = try query.authentication.call(KeychainInterface.Delete.self, as: "SecItemDelete") {
            .init(query: query.searched, context: $0.context)
        }
    }
}

private func status(_ function: String, _ body: () throws -> Void) -> OSStatus {
    do {
        try body()
        return Status.success.rawValue
    } catch {
        // Where the device refused, the line is printed already.
        if error is RefusedKey || error is Status {
            RefusedCall(function, error, wanted: nil)?.explain(on: DeviceEndpoint.current())
        }
        return Status(failure: error).rawValue
    }
}
