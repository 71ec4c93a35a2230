public import Foundation

/// A value of a dictionary of the keychain's, as `io.touchstone.Keychain` has them: one of its members is set.
public struct KeychainValue: Codable, Sendable {
    /// What a row with an access control wants.
    public struct Control: Codable, Sendable {
        /// When the row can be opened at all, in the keychain's short spelling, such as `aku`.
        public var protection: String
        /// Flags of `SecAccessControlCreateFlags`.
        public var flags: Int

        /// An access control.
        public init(protection: String, flags: Int) {
            self.protection = protection
            self.flags = flags
        }
    }

    /// A text.
    public var string: String?
    /// Bytes; base64 on the wire.
    public var data: Data?
    /// A number.
    public var number: Int?
    /// A Boolean.
    public var boolean: Bool?
    /// Seconds since 2001.
    public var date: Double?
    /// An access control.
    public var accessControl: Control?

    /// An access control.
    public init(accessControl: Control) { self.accessControl = accessControl }

    private init() {}

    /// A text.
    public static func text(_ text: String) -> KeychainValue {
        var value = KeychainValue()
        value.string = text
        return value
    }

    /// Bytes.
    public static func bytes(_ bytes: Data) -> KeychainValue {
        var value = KeychainValue()
        value.data = bytes
        return value
    }

    /// A number.
    public static func number(_ number: Int) -> KeychainValue {
        var value = KeychainValue()
        value.number = number
        return value
    }

    /// The Boolean true.
    public static let yes: KeychainValue = {
        var value = KeychainValue()
        value.boolean = true
        return value
    }()
}
