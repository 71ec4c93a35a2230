import Foundation
import Security

/// A library of its own.
public struct Vault {
    /// The service of its items.
    public let service: String

    /// A vault of one service.
    public init(service: String) { self.service = service }

    /// The query for its items.
    public func query(guardedBy control: SecAccessControl?) -> [CFString: Any] {
        var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
        query[kSecAttrAccessControl] = control
        return query
    }
}

func status() -> OSStatus { Security.errSecItemNotFound }
