// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// One item as a mutable dictionary, in the manner of Objective-C: what was read is changed and becomes the next query.
final class ItemWrapper {
    private(set) var item = NSMutableDictionary()
    private let search = NSMutableDictionary()

    init(identifier: String) throws {
        search.setObject(kSecClassGenericPassword, forKey: kSecClass as NSString)
        search.setObject(
            (identifier as NSString).data(using: String.Encoding.utf8.rawValue)!, forKey: kSecAttrGeneric as NSString)
        search.setObject(kSecMatchLimitOne, forKey: kSecMatchLimit as NSString)
        search.setObject(kCFBooleanTrue!, forKey: kSecReturnAttributes as NSString)

        var found: AnyObject?
        let status = SecItemCopyMatching(search as CFDictionary, &found)
        if status == errSecItemNotFound {
            item.setObject("" as NSString, forKey: kSecAttrAccount as NSString)
            item.setObject("" as NSString, forKey: kSecAttrService as NSString)
            item.setObject(NSData(), forKey: kSecValueData as NSString)
            item.setObject(search.object(forKey: kSecAttrGeneric as NSString)!, forKey: kSecAttrGeneric as NSString)
            return
        }
        guard status == errSecSuccess, let attributes = found as? NSDictionary else { throw PasswordError(status) }
        item = attributes.mutableCopy() as! NSMutableDictionary
        let query = attributes.mutableCopy() as! NSMutableDictionary
        query.setObject(kSecClassGenericPassword, forKey: kSecClass as NSString)
        query.setObject(kCFBooleanTrue!, forKey: kSecReturnData as NSString)
        var data: AnyObject?
        let read = SecItemCopyMatching(query, &data)
        guard read == noErr else { throw PasswordError(read) }
        item.setObject(data as! NSData, forKey: kSecValueData as NSString)
    }

    var password: NSString? {
        return (item.object(forKey: kSecValueData as NSString) as? Data).flatMap {
            NSString(data: $0, encoding: String.Encoding.utf8.rawValue)
        }
    }

    func setObject(_ object: Any, forKey key: CFString) throws {
        item.setObject(object, forKey: key as NSString)
        try write()
    }

    func reset() throws {
        let query = search.mutableCopy() as! NSMutableDictionary
        query.removeObjects(forKeys: [kSecMatchLimit as NSString, kSecReturnAttributes as NSString])
        let status = SecItemDelete(query)
        guard status == noErr || status == errSecItemNotFound else { throw PasswordError(status) }
    }

    private func write() throws {
        var attributes: CFTypeRef?
        var status = SecItemCopyMatching(search, &attributes)
        if status == errSecSuccess {
            let query = (attributes as! NSDictionary).mutableCopy() as! NSMutableDictionary
            query.setObject(search.object(forKey: kSecClass as NSString)!, forKey: kSecClass as NSString)
            let changes = item.mutableCopy() as! NSMutableDictionary
            changes.removeObject(forKey: kSecClass as NSString)
            // What the keychain keeps itself is not changed from outside.
            for key in [kSecAttrCreationDate, kSecAttrModificationDate, kSecAttrAccessControl, kSecAttrAccessGroup] {
                changes.removeObject(forKey: key as NSString)
            }
            status = SecItemUpdate(query, changes)
        } else if status == errSecItemNotFound {
            let new = item.mutableCopy() as! NSMutableDictionary
            new.setObject(kSecClassGenericPassword, forKey: kSecClass as NSString)
            status = SecItemAdd(new, nil)
        }
        guard status == noErr else { throw PasswordError(status) }
    }
}
