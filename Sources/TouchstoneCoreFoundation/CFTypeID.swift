internal import Foundation

/// Names the type of a Core Foundation object.
public typealias CFTypeID = UInt

/// A class of ours that has a type identifier of its own.
package protocol CoreFoundationType: AnyObject {
    static var typeID: CFTypeID { get }
}

/// The type of an object.
///
/// - Parameter object: Any object.
/// - Returns: Its type, to be compared with what a `…GetTypeID` function returns.
@discardableResult
public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID {
    switch object {
    case let own as any CoreFoundationType: type(of: own).typeID
    case is NSString: CFStringGetTypeID()
    case is NSData: CFDataGetTypeID()
    case let number as NSNumber: type(of: number) == booleanClass ? CFBooleanGetTypeID() : CFNumberGetTypeID()
    case is NSDictionary: CFDictionaryGetTypeID()
    case is NSArray: CFArrayGetTypeID()
    case is NSDate: CFDateGetTypeID()
    case is NSError: CFErrorGetTypeID()
    case is NSSet: CFSetGetTypeID()
    case is NSNull: CFNullGetTypeID()
    default: 0
    }
}

/// The type of `CFNull`.
@discardableResult public func CFNullGetTypeID() -> CFTypeID { 16 }
/// The type of `CFSet`.
@discardableResult public func CFSetGetTypeID() -> CFTypeID { 17 }
/// The type of `CFDictionary`.
@discardableResult public func CFDictionaryGetTypeID() -> CFTypeID { 18 }
/// The type of `CFArray`.
@discardableResult public func CFArrayGetTypeID() -> CFTypeID { 19 }
/// The type of `CFData`.
@discardableResult public func CFDataGetTypeID() -> CFTypeID { 20 }
/// The type of `CFBoolean`.
@discardableResult public func CFBooleanGetTypeID() -> CFTypeID { 21 }
/// The type of `CFNumber`.
@discardableResult public func CFNumberGetTypeID() -> CFTypeID { 22 }
/// The type of `CFString`.
@discardableResult public func CFStringGetTypeID() -> CFTypeID { 7 }
/// The type of `CFError`.
@discardableResult public func CFErrorGetTypeID() -> CFTypeID { 27 }
/// The type of `CFDate`.
@discardableResult public func CFDateGetTypeID() -> CFTypeID { 42 }

/// Foundation makes truth values of a class of their own, whose name it does not give.
private let booleanClass: AnyClass = type(of: NSNumber(value: true))
