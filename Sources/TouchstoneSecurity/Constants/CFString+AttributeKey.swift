internal import TouchstoneCore
internal import TouchstoneCoreFoundation

extension CFString {
    /// The constant object of a key.
    convenience init(_ key: AttributeKey) { self.init(string: key.rawValue) }
}
