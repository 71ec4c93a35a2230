public import Foundation

/// True.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
/// False.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)

/// The truth value of an object.
///
/// - Parameter boolean: The object.
/// - Returns: Whether it is true.
@discardableResult
public func CFBooleanGetValue(_ boolean: CFBoolean) -> Bool { boolean.boolValue }
