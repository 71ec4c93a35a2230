public import TouchstoneCoreFoundation

/// A result code in words.
///
/// - Parameters:
///   - status: The code.
///   - reserved: Disregarded.
/// - Returns: Apple's description, else `OSStatus` and the number; never nil.
@discardableResult
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    (StatusMessages.byStatus[status] ?? "OSStatus \(status)") as CFString
}
