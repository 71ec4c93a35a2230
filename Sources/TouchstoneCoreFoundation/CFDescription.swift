public import Foundation

/// An object in words, for a developer to read.
///
/// - Parameter cf: The object.
/// - Returns: Its description.
@discardableResult
public func CFCopyDescription(_ cf: CFTypeRef!) -> CFString! { String(describing: cf as Any? ?? "(null)") as NSString }

/// Writes an object in words to standard error.
///
/// - Parameter obj: The object.
public func CFShow(_ obj: CFTypeRef!) {
    FileHandle.standardError.write(Data("\(CFCopyDescription(obj) as String)\n".utf8))
}
