/// One method of a Varlink interface: its name and the shapes of what goes in and comes out.
///
/// `script/interfaces` writes it from the `.varlink` file beside the code that answers the method.
package protocol VarlinkMethod: SendableMetatype {
    associatedtype Parameters: MessageCodable
    associatedtype Reply: MessageCodable
    /// Interface and method: `io.touchstone.Keychain.Add`.
    static var name: String { get }
    /// Whether a request may be as large as the largest value of an item.
    static var takesLargeRequests: Bool { get }
    /// Whether other calls go first, where several wait for one connection.
    static var givesWay: Bool { get }
}

extension VarlinkMethod {
    package static var takesLargeRequests: Bool { false }
    package static var givesWay: Bool { false }
}

/// The parameters of one error of a Varlink interface.
package protocol VarlinkError: Error, MessageCodable {
    /// Interface and error: `io.touchstone.Keychain.Failed`.
    static var name: String { get }
}

/// Parameters of a method, or a reply, that has none.
package struct Empty: EmptyMessage, Hashable {
    package init() {}
}
