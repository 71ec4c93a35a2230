/// One method of a Varlink interface: its name and the shapes of what goes in and comes out.
///
/// The `.varlink` file beside the code that answers the method is its documentation; a test holds the two against each other.
package protocol VarlinkMethod: SendableMetatype {
    associatedtype Parameters: Codable & Sendable
    associatedtype Reply: Codable & Sendable
    /// Interface and method: `io.touchstone.Keychain.Add`.
    static var name: String { get }
    /// Whether a request may be as large as the largest value of an item.
    static var takesLargeRequests: Bool { get }
}

extension VarlinkMethod {
    package static var takesLargeRequests: Bool { false }
}

/// The parameters of one error of a Varlink interface.
package protocol VarlinkError: Error, Codable, Sendable {
    /// Interface and error: `io.touchstone.Keychain.Failed`.
    static var name: String { get }
}

/// Parameters of a method, or a reply, that has none.
package struct Empty: Codable, Hashable, Sendable {
    package init() {}
}
