public import Foundation

/// The type of the number that a pointer points to.
public enum CFNumberType: CFIndex, Sendable {
    /// `Int8`.
    case sInt8Type = 1
    /// `Int16`.
    case sInt16Type = 2
    /// `Int32`.
    case sInt32Type = 3
    /// `Int64`.
    case sInt64Type = 4
    /// `Float`.
    case float32Type = 5
    /// `Double`.
    case float64Type = 6
    /// C's `char`.
    case charType = 7
    /// C's `short`.
    case shortType = 8
    /// C's `int`.
    case intType = 9
    /// C's `long`.
    case longType = 10
    /// C's `long long`.
    case longLongType = 11
    /// C's `float`.
    case floatType = 12
    /// C's `double`.
    case doubleType = 13
    /// `CFIndex`.
    case cfIndexType = 14
    /// `NSInteger`.
    case nsIntegerType = 15
    /// `CGFloat`.
    case cgFloatType = 16

    /// The last of them.
    public static var maxType: CFNumberType { .cgFloatType }
}

/// Makes a number.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - theType: The type of what `valuePtr` points to.
///   - valuePtr: The value.
/// - Returns: The number.
@discardableResult
public func CFNumberCreate(
    _ allocator: CFAllocator!, _ theType: CFNumberType, _ valuePtr: UnsafeRawPointer!
) -> CFNumber! {
    switch theType {
    case .sInt8Type, .charType: unsafe NSNumber(value: valuePtr.loadUnaligned(as: Int8.self))
    case .sInt16Type, .shortType: unsafe NSNumber(value: valuePtr.loadUnaligned(as: Int16.self))
    case .sInt32Type, .intType: unsafe NSNumber(value: valuePtr.loadUnaligned(as: Int32.self))
    case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType:
        unsafe NSNumber(value: valuePtr.loadUnaligned(as: Int64.self))
    case .float32Type, .floatType: unsafe NSNumber(value: valuePtr.loadUnaligned(as: Float.self))
    case .float64Type, .doubleType, .cgFloatType: unsafe NSNumber(value: valuePtr.loadUnaligned(as: Double.self))
    }
}

/// The value of a number in another type.
///
/// - Parameters:
///   - number: The number.
///   - theType: The type to have it in.
///   - valuePtr: Takes the value, cut to what the type can say.
/// - Returns: Whether the value is the number's.
@discardableResult
public func CFNumberGetValue(
    _ number: CFNumber!, _ theType: CFNumberType, _ valuePtr: UnsafeMutableRawPointer!
) -> Bool {
    /// Whether the number of a value that was written is the same as before.
    func isWhole<Value>(_ value: Value, _ back: NSNumber) -> Bool {
        unsafe valuePtr.storeBytes(of: value, as: Value.self)
        return back.compare(number) == .orderedSame
    }
    let double = number.doubleValue
    return switch theType {
    case .sInt8Type, .charType: isWhole(number.int8Value, NSNumber(value: number.int8Value))
    case .sInt16Type, .shortType: isWhole(number.int16Value, NSNumber(value: number.int16Value))
    case .sInt32Type, .intType: isWhole(number.int32Value, NSNumber(value: number.int32Value))
    case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType:
        isWhole(number.int64Value, NSNumber(value: number.int64Value))
    case .float32Type, .floatType: isWhole(number.floatValue, NSNumber(value: number.floatValue))
    case .float64Type, .doubleType, .cgFloatType: isWhole(double, NSNumber(value: double))
    }
}
