// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// The scheme of a credential.
enum Scheme: RawRepresentable, CaseIterable {
    case http, https, ftp, imaps, ssh

    init?(rawValue: String) {
        switch rawValue {
        case String(kSecAttrProtocolHTTP): self = .http
        case String(kSecAttrProtocolHTTPS): self = .https
        case String(kSecAttrProtocolFTP): self = .ftp
        case String(kSecAttrProtocolIMAPS): self = .imaps
        case String(kSecAttrProtocolSSH): self = .ssh
        default: return nil
        }
    }

    var rawValue: String {
        switch self {
        case .http: return String(kSecAttrProtocolHTTP)
        case .https: return String(kSecAttrProtocolHTTPS)
        case .ftp: return String(kSecAttrProtocolFTP)
        case .imaps: return String(kSecAttrProtocolIMAPS)
        case .ssh: return String(kSecAttrProtocolSSH)
        }
    }
}

/// A user of a server and a password.
struct Credential: Equatable {
    var user: String
    var password: String
    var server: URL
    var scheme = Scheme.https
    var authentication = kSecAttrAuthenticationTypeDefault
    var realm: String?
}

/// Internet passwords.
final class CredentialStore {
    typealias Call = (_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus

    var copyMatching: Call = SecItemCopyMatching
    var add: Call = SecItemAdd

    /// Adds a credential, or changes the password of the one that is there.
    @discardableResult
    func save(_ credential: Credential) throws -> Data {
        var item = attributes(of: credential)
        item[kSecValueData as String] = credential.password.data(using: .utf8)
        item[kSecReturnPersistentRef as String] = kCFBooleanTrue
        var reference: CFTypeRef?
        var status = add(item as CFDictionary, &reference)
        if status == errSecDuplicateItem {
            let change = [kSecValueData: credential.password.data(using: .utf8)!] as CFDictionary
            status = SecItemUpdate(attributes(of: credential) as CFDictionary, change)
            if status == errSecSuccess {
                var query = attributes(of: credential)
                query[kSecReturnPersistentRef as String] = kCFBooleanTrue
                status = copyMatching(query as CFDictionary, &reference)
            }
        }
        guard status == errSecSuccess, let data = reference as? Data else { throw PasswordError(status) }
        return data
    }

    /// All credentials, or those of a host.
    func credentials(host: String? = nil) throws -> [Credential] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecMatchLimit as String: kSecMatchLimitAll,
            kSecReturnAttributes as String: true,
            kSecReturnData as String: true,
        ]
        if let host = host { query[kSecAttrServer as String] = host }
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) { copyMatching(query as CFDictionary, $0) }
        switch status {
        case errSecSuccess: break
        case errSecItemNotFound: return []
        default: throw PasswordError(status)
        }
        guard let items = result as? [[CFString: Any]] else { throw PasswordError.notReadable }
        return items.compactMap(credential)
    }

    /// The credential that a reference, kept somewhere else, stands for.
    func credential(_ reference: Data) throws -> Credential? {
        let query = NSMutableDictionary(dictionary: [
            kSecValuePersistentRef as String: reference as NSData, kSecReturnData as String: true as NSNumber,
            kSecReturnAttributes as String: true as NSNumber,
        ])
        var item: CFTypeRef?
        let status = copyMatching(query as CFDictionary, &item)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw PasswordError(status) }
        return (item as? NSDictionary as? [CFString: Any]).flatMap(credential)
    }

    func remove(_ credential: Credential) throws {
        let status = SecItemDelete(attributes(of: credential) as CFDictionary)
        guard status == errSecSuccess else { throw PasswordError(status) }
    }

    @discardableResult
    func removeAll() -> Bool {
        let classes = [kSecClassInternetPassword, kSecClassGenericPassword]
        return classes.map { SecItemDelete([kSecClass as String: $0] as CFDictionary) }
            .allSatisfy { $0 == errSecSuccess || $0 == errSecItemNotFound }
    }

    private func credential(_ item: [CFString: Any]) -> Credential? {
        guard let user = item[kSecAttrAccount] as? String, let host = item[kSecAttrServer] as? String,
            let data = item[kSecValueData] as? Data, let password = String(data: data, encoding: .utf8),
            let scheme = (item[kSecAttrProtocol] as? String).flatMap(Scheme.init(rawValue:)),
            let type = item[kSecAttrAuthenticationType] as? String
        else { return nil }
        var url = URLComponents()
        url.scheme = "\(scheme)"
        url.host = host
        // What was not given has come back as nothing: no text, the port 0.
        url.port = (item[kSecAttrPort] as? Int).flatMap { $0 == 0 ? nil : $0 }
        url.path = item[kSecAttrPath] as? String ?? ""
        let realm = item[kSecAttrSecurityDomain] as? String
        return Credential(
            user: user, password: password, server: url.url!, scheme: scheme, authentication: type as CFString,
            realm: realm?.isEmpty == false ? realm : nil)
    }

    private func attributes(of credential: Credential) -> [String: Any] {
        var item = [String: Any]()
        item[kSecClass as String] = kSecClassInternetPassword
        item[kSecAttrAccount as String] = credential.user
        item[kSecAttrServer as String] = credential.server.host
        item[kSecAttrPort as String] = credential.server.port
        item[kSecAttrPath as String] = credential.server.path.isEmpty ? nil : credential.server.path
        item[kSecAttrProtocol as String] = credential.scheme.rawValue
        item[kSecAttrAuthenticationType as String] = credential.authentication
        item[kSecAttrSecurityDomain as String] = credential.realm
        return item
    }
}
