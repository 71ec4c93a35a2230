/// How functions of `SecCode` do their work: disregarded.
public struct SecCSFlags: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt32

    /// Flags of these bits.
    ///
    /// - Parameter rawValue: The bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// As the function usually does it.
    public static var kSecCSDefaultFlags: SecCSFlags { [] }
}
