package import Foundation
internal import Glibc

extension ContiguousBytes {
    /// Where the first zero is, which ends a message, from `offset` on; nil: nowhere.
    ///
    /// As fast without optimization: messages are up to some megabytes.
    package func firstZero(from offset: Int) -> Int? {
        unsafe withUnsafeBytes { bytes in
            guard offset < bytes.count, let start = bytes.baseAddress,
                let zero = unsafe memchr(start + offset, 0, bytes.count - offset)
            else { return nil }
            return unsafe UnsafeRawPointer(zero) - start
        }
    }
}
