internal import Glibc

/// Zeroing that the compiler may not leave out.
enum Memory {
    static func zero(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        unsafe explicit_bzero(start, bytes.count)
    }
}

extension [UInt8] {
    /// Overwrites all of it, where nobody else holds the same bytes.
    mutating func zero() {
        unsafe withUnsafeMutableBytes { unsafe Memory.zero($0) }
    }
}
