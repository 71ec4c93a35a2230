/// A part of something that is counted.
public struct CFRange: Hashable, Sendable {
    /// Where it begins.
    public var location: CFIndex
    /// How much of it.
    public var length: CFIndex

    /// An empty range at the beginning.
    public init() { self.init(location: 0, length: 0) }

    /// A range.
    ///
    /// - Parameters:
    ///   - location: Where it begins.
    ///   - length: How much of it.
    public init(location: CFIndex, length: CFIndex) {
        self.location = location
        self.length = length
    }
}

/// Makes a range.
///
/// - Parameters:
///   - loc: Where it begins.
///   - len: How much of it.
/// - Returns: The range.
@discardableResult
public func CFRangeMake(_ loc: CFIndex, _ len: CFIndex) -> CFRange { CFRange(location: loc, length: len) }
