public import Foundation

/// Makes an error.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - domain: The domain of the code.
///   - code: The code.
///   - userInfo: More about it, by `NSLocalizedDescriptionKey` and the like.
/// - Returns: The error.
@discardableResult
public func CFErrorCreate(
    _ allocator: CFAllocator?, _ domain: CFErrorDomain, _ code: CFIndex, _ userInfo: CFDictionary?
) -> CFError! {
    NSError(domain: domain as String, code: code, userInfo: userInfo as? [String: Any])
}

/// The domain of an error.
///
/// - Parameter error: The error.
/// - Returns: Its domain.
@discardableResult
public func CFErrorGetDomain(_ error: CFError) -> CFErrorDomain! { error.domain as NSString }

/// The code of an error.
///
/// - Parameter error: The error.
/// - Returns: Its code.
@discardableResult
public func CFErrorGetCode(_ error: CFError) -> CFIndex { error.code }

/// What an error carries beside its code.
///
/// - Parameter error: The error.
/// - Returns: Its dictionary, which may be empty.
@discardableResult
public func CFErrorCopyUserInfo(_ error: CFError) -> CFDictionary! { error.userInfo as NSDictionary }

/// An error in words.
///
/// - Parameter error: The error.
/// - Returns: The description to show.
@discardableResult
public func CFErrorCopyDescription(_ error: CFError) -> CFString! { error.localizedDescription as NSString }

/// The reason of an error in words.
///
/// - Parameter error: The error.
/// - Returns: The reason, where there is one.
@discardableResult
public func CFErrorCopyFailureReason(_ error: CFError) -> CFString! { error.localizedFailureReason as NSString? }

/// The domain of `OSStatus` codes.
@safe nonisolated(unsafe) public let kCFErrorDomainOSStatus: CFErrorDomain! = "NSOSStatusErrorDomain"
/// The domain of `errno` codes.
@safe nonisolated(unsafe) public let kCFErrorDomainPOSIX: CFErrorDomain! = "NSPOSIXErrorDomain"
/// The domain of Foundation's codes.
@safe nonisolated(unsafe) public let kCFErrorDomainCocoa: CFErrorDomain! = "NSCocoaErrorDomain"

/// An error in words to show, of a dictionary of an error.
@safe nonisolated(unsafe) public let kCFErrorLocalizedDescriptionKey: CFString! = "NSLocalizedDescription"
/// What failed, in words to show.
@safe nonisolated(unsafe) public let kCFErrorLocalizedFailureKey: CFString! = "NSLocalizedFailure"
/// Why it failed, in words to show.
@safe nonisolated(unsafe) public let kCFErrorLocalizedFailureReasonKey: CFString! = "NSLocalizedFailureReason"
/// What would help, in words to show.
@safe nonisolated(unsafe) public let kCFErrorLocalizedRecoverySuggestionKey: CFString! = "NSLocalizedRecoverySuggestion"
/// An error in words for a developer.
@safe nonisolated(unsafe) public let kCFErrorDescriptionKey: CFString! = "NSDescription"
/// The error behind it (CFError).
@safe nonisolated(unsafe) public let kCFErrorUnderlyingErrorKey: CFString! = "NSUnderlyingError"
/// The address that it is about (CFURL).
@safe nonisolated(unsafe) public let kCFErrorURLKey: CFString! = "NSURL"
/// The path of the file that it is about.
@safe nonisolated(unsafe) public let kCFErrorFilePathKey: CFString! = "NSFilePath"

// The domains and keys above, and those of `CFBundle.swift` are `nonisolated(unsafe)` because Foundation makes no `NSString` Sendable
// on account of its mutable subclass, and `@safe` because an immutable string is safe to read from any isolation.
