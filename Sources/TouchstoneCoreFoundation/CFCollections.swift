public import Foundation

// Not here: `CFArrayGetValueAtIndex` and `CFDictionaryGetValue`. They lend a pointer to what the collection holds, and
// Foundation's collections on Linux hold Swift values, to which there is none.

/// The number of objects in an array.
///
/// - Parameter array: The array.
/// - Returns: How many it has.
@discardableResult
public func CFArrayGetCount(_ array: CFArray) -> CFIndex { array.count }

/// The number of pairs in a dictionary.
///
/// - Parameter dictionary: The dictionary.
/// - Returns: How many it has.
@discardableResult
public func CFDictionaryGetCount(_ dictionary: CFDictionary) -> CFIndex { dictionary.count }
