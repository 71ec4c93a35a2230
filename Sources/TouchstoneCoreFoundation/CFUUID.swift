public import Foundation

/// A number that nothing else has.
public typealias CFUUID = NSUUID

/// Makes one.
///
/// - Parameter alloc: Disregarded.
/// - Returns: A random one (version 4).
@discardableResult
public func CFUUIDCreate(_ alloc: CFAllocator!) -> CFUUID! { NSUUID() }

/// One in letters.
///
/// - Parameters:
///   - alloc: Disregarded.
///   - uuid: The number.
/// - Returns: 36 characters, hexadecimal digits in capitals and hyphens.
@discardableResult
public func CFUUIDCreateString(_ alloc: CFAllocator!, _ uuid: CFUUID!) -> CFString! { uuid.uuidString as NSString }
