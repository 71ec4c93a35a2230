public import TouchstoneCoreFoundation

/// Who has to prove what before an item opens.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// Apple's bits.
    public let rawValue: CFOptionFlags

    /// Makes a set of flags.
    ///
    /// - Parameter rawValue: Apple's bits.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// Biometry if it is ready, else the passcode.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// The fingers or faces that are enrolled when the item is added (AC-50).
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A companion device nearby.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// Any one of the constraints is enough (AC-03).
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All of the constraints are required (AC-03).
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints hold for operations of a private key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// A password of the app is required as well (AC-04).
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// Old name of `biometryAny` (AC-06).
    public static let touchIDAny = SecAccessControlCreateFlags.biometryAny
    /// Old name of `biometryCurrentSet` (AC-06).
    public static let touchIDCurrentSet = SecAccessControlCreateFlags.biometryCurrentSet
    /// Old name of `companion`.
    public static let watch = SecAccessControlCreateFlags.companion
}
