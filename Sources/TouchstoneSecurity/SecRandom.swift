internal import CTouchstoneSystem
internal import Glibc

/// A random number generator.
public typealias SecRandomRef = OpaquePointer

/// The system's generator: the only one there is.
///
/// Never followed: `SecRandomCopyBytes` disregards it, as Apple's does. Immutable, hence `@safe` from any isolation.
@safe nonisolated(unsafe) public let kSecRandomDefault: SecRandomRef! = unsafe OpaquePointer(bitPattern: 1)

/// Fills a buffer with random bytes from the kernel.
///
/// - Parameters:
///   - generator: Disregarded.
///   - count: How many bytes to write.
///   - bytes: A buffer of at least that many.
/// - Returns: 0, or -1 with `errno` set.
public func SecRandomCopyBytes(_ generator: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else {
        errno = EINVAL
        return -1
    }
    let failure = unsafe touchstone_random(bytes, count)
    guard failure == 0 else {
        errno = failure
        return -1
    }
    return 0
}
