/// A sentence for whoever typed a command.
public struct Problem: Error, CustomStringConvertible, Sendable {
    /// The sentence.
    public let description: String

    /// Says it.
    public init(_ description: String) { self.description = description }
}
