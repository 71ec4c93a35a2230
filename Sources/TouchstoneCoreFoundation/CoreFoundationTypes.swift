// Core Foundation's names for Foundation's classes. With these, `as CFDictionary`, `as CFString` and the like compile as they
// stand: Linux has no toll-free bridging, so the two are one type.

@_exported public import Foundation

/// Any Core Foundation object.
public typealias CFTypeRef = AnyObject
/// A dictionary of objects.
public typealias CFDictionary = NSDictionary
/// A dictionary of objects that may change.
public typealias CFMutableDictionary = NSMutableDictionary
/// A text.
public typealias CFString = NSString
/// Bytes.
public typealias CFData = NSData
/// Bytes that may change.
public typealias CFMutableData = NSMutableData
/// An array of objects.
public typealias CFArray = NSArray
/// An array of objects that may change.
public typealias CFMutableArray = NSMutableArray
/// A set of objects.
public typealias CFSet = NSSet
/// A point in time.
public typealias CFDate = NSDate
/// A number.
///
/// The same class as `CFBoolean`: a client cannot give the two different conformances. `CFGetTypeID` tells them apart.
public typealias CFNumber = NSNumber
/// A truth value.
public typealias CFBoolean = NSNumber
/// A null object.
public typealias CFNull = NSNull
/// An error.
public typealias CFError = NSError
/// The domain of an error.
public typealias CFErrorDomain = CFString

/// An index or a count.
public typealias CFIndex = Int
/// A set of bits.
public typealias CFOptionFlags = UInt
/// Seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = Double
/// Seconds.
public typealias CFTimeInterval = Double
/// A result code.
public typealias OSStatus = Int32
/// Four characters in a number.
public typealias OSType = FourCharCode
/// Four characters in a number.
public typealias FourCharCode = UInt32
/// Objective-C's integer.
public typealias NSInteger = Int
/// Where a method puts its error.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

/// No error.
public var noErr: OSStatus { 0 }
