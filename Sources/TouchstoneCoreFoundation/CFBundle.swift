public import Foundation

/// A program with what it brings.
public typealias CFBundle = Bundle

/// The bundle of the program that runs.
///
/// - Returns: The bundle.
@discardableResult
public func CFBundleGetMainBundle() -> CFBundle! { Bundle.main }

/// The identifier that the `Info.plist` of a bundle gives it.
///
/// - Parameter bundle: The bundle.
/// - Returns: The identifier; nil if there is no `Info.plist`, as with most programs on Linux.
@discardableResult
public func CFBundleGetIdentifier(_ bundle: CFBundle!) -> CFString! { bundle.bundleIdentifier as NSString? }

// Keys of an `Info.plist`. Why they are `nonisolated(unsafe)` and `@safe` is said in `CFError.swift`.

/// The identifier of a bundle.
@safe nonisolated(unsafe) public let kCFBundleIdentifierKey: CFString! = "CFBundleIdentifier"
/// The name of a bundle.
@safe nonisolated(unsafe) public let kCFBundleNameKey: CFString! = "CFBundleName"
/// The version of a bundle.
@safe nonisolated(unsafe) public let kCFBundleVersionKey: CFString! = "CFBundleVersion"
/// The executable of a bundle.
@safe nonisolated(unsafe) public let kCFBundleExecutableKey: CFString! = "CFBundleExecutable"
/// The version of the dictionary itself.
@safe nonisolated(unsafe) public let kCFBundleInfoDictionaryVersionKey: CFString! = "CFBundleInfoDictionaryVersion"
/// The language of a bundle.
@safe nonisolated(unsafe) public let kCFBundleDevelopmentRegionKey: CFString! = "CFBundleDevelopmentRegion"
/// The localizations of a bundle.
@safe nonisolated(unsafe) public let kCFBundleLocalizationsKey: CFString! = "CFBundleLocalizations"
