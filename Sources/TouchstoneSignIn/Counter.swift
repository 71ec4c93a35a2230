import Foundation

#if canImport(TouchstoneSecurity)
import TouchstoneCoreFoundation
import TouchstoneSecurity
#else
import Security
#endif

/// How many messages a key has signed, in an item of its own.
///
/// The number is an attribute, so that the keychain itself compares it: of two
/// processes that count at once each gets a number that the other has not.
struct Counter {
    private let item: Item

    init(tag: String) { item = Item(.counter, account: tag) }

    /// The number after `value` will be the first.
    func start(at value: UInt64) throws(SignInError) {
        try item.delete()
        var added = item.query
        added[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        added[kSecAttrGeneric] = Self.bytes(value)
        try Item.check(SecItemAdd(added as CFDictionary, nil))
    }

    /// Stored when it returns.
    ///
    /// - Throws: ``KeyUseFailure``, `.missing` if the counter is gone: without it a key is not used, as starting again would have the
    ///   server take it for a copy.
    func next() throws -> UInt64 {
        for _ in 0..<Self.maximumTries {
            let value = try current()
            guard value < .max else { throw SignInError.keychain(errSecParam) }
            var query = item.query
            query[kSecAttrGeneric] = Self.bytes(value)
            let status = SecItemUpdate(
                query as CFDictionary, [kSecAttrGeneric: Self.bytes(value + 1)] as CFDictionary)
            // Another process was first: its number is there now.
            if status == errSecItemNotFound { continue }
            try Item.check(status)
            return value + 1
        }
        throw SignInError.busy
    }

    private func current() throws -> UInt64 {
        var query = item.query
        query[kSecReturnAttributes] = true
        guard let found = try Item.copy(query) as? [String: Any],
            let bytes = found[kSecAttrGeneric as String] as? Data, bytes.count == 8
        else { throw KeyUseFailure.missing }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ value: UInt64) -> Data {
        Data((0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    }

    private static let maximumTries = 16
}
