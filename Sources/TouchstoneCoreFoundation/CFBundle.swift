// Keys of an `Info.plist`. Why they are `nonisolated(unsafe)` and `@safe` is said in `CFError.swift`.

public import Foundation

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
