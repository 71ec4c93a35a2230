public import Foundation

// Keys and values are objects, whatever the call-backs say: Foundation's collections on Linux hold nothing else. A nil among
// them is left out, where Apple's functions crash.

/// The number of objects in an array.
///
/// - Parameter array: The array.
/// - Returns: How many it has.
@discardableResult
public func CFArrayGetCount(_ array: CFArray) -> CFIndex { array.count }

/// Makes an array.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - values: Pointers to `numValues` objects, which the array retains; may be nil if there are none.
///   - numValues: How many, at least 0.
///   - callBacks: Disregarded.
/// - Returns: The array; nil for a negative number.
@discardableResult
public func CFArrayCreate(
    _ allocator: CFAllocator!, _ values: UnsafeMutablePointer<UnsafeRawPointer?>!, _ numValues: CFIndex,
    _ callBacks: UnsafePointer<CFArrayCallBacks>!
) -> CFArray! {
    guard numValues >= 0 else { return nil }
    return unsafe objects(values, numValues).compactMap(\.self) as NSArray
}

/// Makes an empty array that may change.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - capacity: Disregarded.
///   - callBacks: Disregarded.
/// - Returns: The array.
@discardableResult
public func CFArrayCreateMutable(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ callBacks: UnsafePointer<CFArrayCallBacks>!
) -> CFMutableArray! {
    NSMutableArray()
}

/// Appends an object.
///
/// - Parameters:
///   - theArray: The array.
///   - value: A pointer to the object, which the array retains.
public func CFArrayAppendValue(_ theArray: CFMutableArray!, _ value: UnsafeRawPointer!) {
    if let value = unsafe referenced(value) { theArray.add(value) }
}

/// An object of an array.
///
/// - Parameters:
///   - theArray: The array.
///   - idx: The object's place, from 0 and below the count; the process ends for another.
/// - Returns: A pointer to the object, or to an equal one, which lives for at least as long as the array does unchanged.
@discardableResult
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
    unsafe LentObjects.pointer(to: theArray.object(at: idx), of: theArray, at: idx)
}

/// The number of pairs in a dictionary.
///
/// - Parameter dictionary: The dictionary.
/// - Returns: How many it has.
@discardableResult
public func CFDictionaryGetCount(_ dictionary: CFDictionary) -> CFIndex { dictionary.count }

/// Makes a dictionary.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - keys: Pointers to `numValues` objects; of two equal ones the first counts.
///   - values: Pointers to as many objects.
///   - numValues: How many, at least 0.
///   - keyCallBacks: Disregarded.
///   - valueCallBacks: Disregarded.
/// - Returns: The dictionary; nil for a negative number.
@discardableResult
public func CFDictionaryCreate(
    _ allocator: CFAllocator!, _ keys: UnsafeMutablePointer<UnsafeRawPointer?>!,
    _ values: UnsafeMutablePointer<UnsafeRawPointer?>!, _ numValues: CFIndex,
    _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>!,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>!
) -> CFDictionary! {
    guard numValues >= 0 else { return nil }
    let dictionary = NSMutableDictionary()
    for (key, value) in unsafe zip(objects(keys, numValues), objects(values, numValues)) {
        if let key, let value, dictionary.object(forKey: key) == nil { set(value, forKey: key, in: dictionary) }
    }
    return dictionary.copy() as? NSDictionary
}

/// Copies a dictionary.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - theDict: The dictionary.
/// - Returns: One of the same pairs, which does not change.
@discardableResult
public func CFDictionaryCreateCopy(_ allocator: CFAllocator!, _ theDict: CFDictionary!) -> CFDictionary! {
    theDict.copy() as? NSDictionary
}

/// Makes an empty dictionary that may change.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - capacity: Disregarded.
///   - keyCallBacks: Disregarded.
///   - valueCallBacks: Disregarded.
/// - Returns: The dictionary.
@discardableResult
public func CFDictionaryCreateMutable(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>!,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>!
) -> CFMutableDictionary! {
    NSMutableDictionary()
}

/// Makes a dictionary that may change of one that need not.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - capacity: Disregarded.
///   - theDict: The dictionary.
/// - Returns: One of the same pairs.
@discardableResult
public func CFDictionaryCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theDict: CFDictionary!
) -> CFMutableDictionary! {
    theDict.mutableCopy() as? NSMutableDictionary
}

/// Adds a pair, unless there is one of an equal key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
///   - value: A pointer to the value.
public func CFDictionaryAddValue(
    _ theDict: CFMutableDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeRawPointer!
) {
    if unsafe !CFDictionaryContainsKey(theDict, key) { unsafe CFDictionarySetValue(theDict, key, value) }
}

/// Adds a pair, or exchanges the value of the one that has an equal key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
///   - value: A pointer to the value.
public func CFDictionarySetValue(
    _ theDict: CFMutableDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeRawPointer!
) {
    if let key = unsafe referenced(key), let value = unsafe referenced(value) { set(value, forKey: key, in: theDict) }
}

/// Removes a pair; does nothing if there is no pair with this key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
public func CFDictionaryRemoveValue(_ theDict: CFMutableDictionary!, _ key: UnsafeRawPointer!) {
    if let key = unsafe referenced(key) { theDict.removeObject(forKey: key) }
}

/// Whether a dictionary has a key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
/// - Returns: Whether it has an equal one.
@discardableResult
public func CFDictionaryContainsKey(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> Bool {
    unsafe referenced(key).flatMap { theDict.object(forKey: $0) } != nil
}

/// The value of a key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
/// - Returns: A pointer to the value, or to an equal one, which lives for at least as long as the dictionary does
///   unchanged; nil if there is no such key.
@discardableResult
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    guard let key = unsafe referenced(key), let value = theDict.object(forKey: key) else { return nil }
    return unsafe LentObjects.pointer(to: value, of: theDict, at: key)
}

/// The value of a key, where there is one.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: A pointer to the key.
///   - value: Takes what `CFDictionaryGetValue` returns; left alone where there is no such key. May be nil.
/// - Returns: Whether there is one.
@discardableResult
public func CFDictionaryGetValueIfPresent(
    _ theDict: CFDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeMutablePointer<UnsafeRawPointer?>!
) -> Bool {
    guard let found = unsafe CFDictionaryGetValue(theDict, key) else { return false }
    if let value = unsafe value { unsafe value.pointee = unsafe found }
    return true
}

private func referenced(_ pointer: UnsafeRawPointer?) -> NSObject? {
    unsafe pointer.flatMap { unsafe Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() as? NSObject }
}

private func objects(_ pointers: UnsafeMutablePointer<UnsafeRawPointer?>?, _ count: Int) -> [NSObject?] {
    unsafe UnsafeBufferPointer(start: pointers, count: unsafe pointers == nil ? 0 : count).map { unsafe referenced($0) }
}

private func set(_ value: NSObject, forKey key: NSObject, in dictionary: NSMutableDictionary) {
    dictionary.setObject(value, forKey: AnyHashable(key))
}
