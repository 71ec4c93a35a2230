internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation

/// A keychain dictionary on its way to the device, which is the one to judge it: here it only changes its shape.
struct ItemQuery {
    /// Everything but the authentication context.
    private(set) var entries: KeychainInterface.Dictionary = [:]
    private(set) var context: (any AuthenticationContext)?
    /// Whether the call must fail rather than ask the owner (AC-41).
    private(set) var forbidsInteraction = false

    /// - Throws: `.param` for a key that is not text, a value of a type that no attribute has, or a context that is none.
    init(_ dictionary: CFDictionary) throws(Status) {
        entries.reserveCapacity(dictionary.count)
        for (key, value) in dictionary {
            guard let key = key as? String else { throw .param }
            if key == Key.authenticationContext {
                guard let context = value as? any AuthenticationContext else { throw .param }
                self.context = context
            } else {
                guard let value = AttributeValue(value as AnyObject) else { throw .param }
                if Self.forbidsInteraction(key, value) {
                    // Ours to obey: the device would answer at once, and not say what it needs, which may be had without asking (EV-40).
                    forbidsInteraction = true
                } else {
                    entries[key] = value
                }
            }
        }
    }

    private static func forbidsInteraction(_ key: String, _ value: AttributeValue) -> Bool {
        (key, value) == (Key.authenticationUI, .string("u_AuthUIF"))
            || (key, value) == (Key.noAuthenticationUI, .boolean(true))
    }

    /// Whether one item is returned by itself; else an array is, even of one (section 5 of the primary-key table).
    var isLimitedToOne: Bool {
        switch entries[Key.matchLimit] {
        case nil, .string("m_LimitOne"), .number(1), .real(1): true
        default: false
        }
    }

    /// What the prompt says: the context's text, else the query's, else ours (AC-27).
    var reason: String {
        if let reason = context?.localizedReason, !reason.isEmpty { return reason }
        if case .string(let reason)? = entries[Key.operationPrompt], !reason.isEmpty { return reason }
        return "access an item in your keychain"
    }

    var itemClass: AttributeValue? { entries[Key.itemClass] }

    func asks(for key: String) -> Bool { entries[key] == .boolean(true) }

    /// The keys that the client reads; all others are the device's affair.
    enum Key {
        static let itemClass = "class"
        static let authenticationContext = "u_AuthCtx"
        static let authenticationUI = "u_AuthUI"
        static let noAuthenticationUI = "u_NoAuthUI"
        static let operationPrompt = "u_OpPrompt"
        static let matchLimit = "m_Limit"
        static let returnData = "r_Data"
        static let returnAttributes = "r_Attributes"
        static let returnReference = "r_Ref"
        static let returnPersistentReference = "r_PersistentRef"
        static let data = "v_Data"
        static let persistentReference = "v_PersistentRef"
    }
}
