/// The key of a keychain dictionary for which a call is refused: the call or the class does not take it, or not with this value.
package struct RefusedKey: Error, Hashable, Sendable {
    package var status: Status
    package var key: AttributeKey

    package init(_ status: Status, _ key: AttributeKey) {
        self.status = status
        self.key = key
    }
}
