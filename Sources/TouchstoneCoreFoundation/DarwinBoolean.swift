/// A truth value as functions of C on Apple's platforms write it.
@frozen public struct DarwinBoolean: ExpressibleByBooleanLiteral, CustomStringConvertible, Equatable, Sendable {
    /// The value.
    public var boolValue: Bool

    /// Makes one of a truth value.
    ///
    /// - Parameter value: The value.
    public init(_ value: Bool) { boolValue = value }

    /// Makes one of `true` or `false`.
    ///
    /// - Parameter value: The value.
    public init(booleanLiteral value: Bool) { boolValue = value }

    /// `true` or `false`.
    public var description: String { boolValue.description }
}
