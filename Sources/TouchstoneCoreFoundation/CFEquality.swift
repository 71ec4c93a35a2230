internal import Foundation

/// Whether two objects are equal.
///
/// - Parameters:
///   - first: An object.
///   - second: Another.
/// - Returns: Whether they are the same object, or say the same.
@discardableResult
public func CFEqual(_ first: CFTypeRef!, _ second: CFTypeRef!) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return first === second || (first as? NSObject)?.isEqual(second) == true
}

/// The hash of an object, the same for two that are equal.
///
/// - Parameter object: The object.
/// - Returns: Its hash.
@discardableResult
public func CFHash(_ object: CFTypeRef!) -> UInt {
    UInt(bitPattern: (object as? NSObject)?.hash ?? 0)
}
