import Security

/// What guards an item, made in a package between an app and Touchstone.
public func ownersOnly() -> SecAccessControl? {
    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
}
