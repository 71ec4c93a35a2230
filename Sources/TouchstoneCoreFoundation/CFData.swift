public import Foundation

/// Makes data of bytes, which are copied.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - bytes: The bytes; may be nil where there are none.
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
///   - bytes: The bytes, which must stay for as long as the data does; may be nil where there are none.
///   - length: How many, at least 0.
///   - bytesDeallocator: `kCFAllocatorNull` where the caller keeps the bytes.
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
