// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

private protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    fileprivate var isNil: Bool { return self == nil }
}

/// A property that is kept in the keychain.
@propertyWrapper
final class Stored<Value: Codable> {
    private let account: String
    private let service: String
    private let accessible: CFString
    private let initial: Value

    /// The status of the last call.
    private(set) var projectedValue: OSStatus = errSecSuccess

    init(
        wrappedValue: Value, _ account: String, service: String = Bundle.main.bundleIdentifier ?? "Stored",
        accessible: CFString = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    ) {
        self.account = account
        self.service = service
        self.accessible = accessible
        initial = wrappedValue
    }

    var wrappedValue: Value {
        get {
            var query = base
            query[kSecReturnData] = kCFBooleanTrue
            var item: CFTypeRef?
            projectedValue = SecItemCopyMatching(query as CFDictionary, &item)
            guard projectedValue == errSecSuccess, let data = item as? Data else { return initial }
            return (try? JSONDecoder().decode([Value].self, from: data))?.first ?? initial
        }
        set {
            if (newValue as? OptionalValue)?.isNil == true {
                projectedValue = SecItemDelete(base as CFDictionary)
                return
            }
            guard let data = try? JSONEncoder().encode([newValue]) else {
                projectedValue = errSecParam
                return
            }
            projectedValue = SecItemUpdate(base as CFDictionary, [kSecValueData: data] as CFDictionary)
            guard projectedValue == errSecItemNotFound else { return }
            var item = base
            item[kSecAttrAccessible] = accessible
            item[kSecValueData] = data
            projectedValue = SecItemAdd(item as CFDictionary, nil)
        }
    }

    private var base: [CFString: Any] {
        return [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
    }
}

/// Settings as an app declares them.
struct Session {
    @Stored("token", service: "session") var token: String? = nil
    @Stored("attempts", service: "session") var attempts = 0
    @Stored("scopes", service: "session", accessible: kSecAttrAccessibleWhenUnlocked) var scopes: Set<String> = []
}
