public import Foundation

/// Makes data of bytes, which are copied.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - bytes: The bytes; may be nil if there are none.
///   - length: How many, at least 0.
/// - Returns: The data; nil for a negative length, and for bytes that are not there.
@discardableResult
public func CFDataCreate(_ allocator: CFAllocator?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex) -> CFData! {
    guard length > 0, let bytes = unsafe bytes else { return length == 0 ? NSData() : nil }
    return unsafe NSData(bytes: bytes, length: length)
}

/// Makes data of bytes that stay where they are.
///
/// With any deallocator but `kCFAllocatorNull` the data owns the bytes, which `malloc` must have made, and frees them.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - bytes: The bytes, which must stay for as long as the data does; may be nil if there are none.
///   - length: How many, at least 0.
///   - bytesDeallocator: `kCFAllocatorNull` if the caller keeps the bytes.
/// - Returns: The data; nil for a negative length, and for bytes that are not there.
@discardableResult
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex, _ bytesDeallocator: CFAllocator?
) -> CFData! {
    guard length >= 0, let bytes = unsafe bytes else { return length == 0 ? NSData() : nil }
    return unsafe NSData(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes), length: length,
        freeWhenDone: bytesDeallocator !== kCFAllocatorNull)
}

/// The number of bytes of data.
///
/// - Parameter data: The data.
/// - Returns: Its length in bytes.
@discardableResult
public func CFDataGetLength(_ data: CFData) -> CFIndex { data.length }

/// The bytes of data.
///
/// - Parameter data: The data.
/// - Returns: Its bytes, valid for as long as it lives.
@discardableResult
public func CFDataGetBytePtr(_ data: CFData) -> UnsafePointer<UInt8>! {
    unsafe data.bytes.assumingMemoryBound(to: UInt8.self)
}

/// Copies data.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - theData: The data.
/// - Returns: The same bytes, which do not change.
@discardableResult
public func CFDataCreateCopy(_ allocator: CFAllocator!, _ theData: CFData!) -> CFData! { theData.copy() as? NSData }

/// Makes empty data that may change.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - capacity: Disregarded.
/// - Returns: The data.
@discardableResult
public func CFDataCreateMutable(_ allocator: CFAllocator!, _ capacity: CFIndex) -> CFMutableData! { NSMutableData() }

/// Makes data that may change of some that need not.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - capacity: Disregarded.
///   - theData: The data.
/// - Returns: The same bytes.
@discardableResult
public func CFDataCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theData: CFData!
) -> CFMutableData! {
    theData.mutableCopy() as? NSMutableData
}

/// Appends bytes, which are copied.
///
/// - Parameters:
///   - theData: The data.
///   - bytes: The bytes.
///   - length: How many; nothing happens where that is less than 1.
public func CFDataAppendBytes(_ theData: CFMutableData!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) {
    if length > 0 { unsafe theData.append(bytes, length: length) }
}

/// Copies bytes out of data.
///
/// - Parameters:
///   - theData: The data.
///   - range: Which bytes, within its length; the process ends for others.
///   - buffer: Takes them.
public func CFDataGetBytes(_ theData: CFData!, _ range: CFRange, _ buffer: UnsafeMutablePointer<UInt8>!) {
    unsafe theData.getBytes(buffer, range: NSRange(location: range.location, length: range.length))
}
