public import Foundation

// Decision: `AnyHashable(constant)` equals `AnyHashable("text")`, as on Apple's platforms.
//
// Without this conformance `result[kSecAttrAccount]` on an `[AnyHashable: Any]` misses on Linux, silently: a keychain wrapper
// that works on iOS would find no account in what it read. The protocol is the standard library's own hook for bridged
// classes, and Foundation on Darwin relies on the same one. Two things speak against it and were weighed: it is underscored (a
// test of ours fails if a toolchain drops it), and it holds for the whole process. The latter can only be noticed by a program
// that keeps "x" and NSString "x" as two different keys of one dictionary, which no program that also runs on Darwin does.
// Casts are not affected: `anyHashable as? NSString` and `is NSString` still answer yes.

/// Hashes and compares as the equal `String` when wrapped in `AnyHashable`.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// The equal `String`, wrapped.
    ///
    /// - Returns: The representation of this text in an `AnyHashable`.
    public func _toCustomAnyHashable() -> AnyHashable? {
        AnyHashable(self as String)
    }
}
