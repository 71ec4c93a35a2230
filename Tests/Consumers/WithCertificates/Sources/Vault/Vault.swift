import Foundation
import Security

/// A library of its own.
public struct Vault {
    public let service: String

    public init(service: String) { self.service = service }

    public func query(guardedBy control: SecAccessControl?) -> [CFString: Any] {
        var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
        query[kSecAttrAccessControl] = control
        return query
    }
}

func status() -> OSStatus { Security.errSecItemNotFound }
