public import Foundation

/// The time now.
///
/// - Returns: Seconds since 2001-01-01 00:00:00 UTC.
@discardableResult
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }

/// Makes a point in time.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - at: Seconds since 2001-01-01 00:00:00 UTC.
/// - Returns: The point.
@discardableResult
public func CFDateCreate(_ allocator: CFAllocator!, _ at: CFAbsoluteTime) -> CFDate! {
    NSDate(timeIntervalSinceReferenceDate: at)
}

/// The seconds of a point in time.
///
/// - Parameter theDate: The point.
/// - Returns: Seconds since 2001-01-01 00:00:00 UTC.
@discardableResult
public func CFDateGetAbsoluteTime(_ theDate: CFDate!) -> CFAbsoluteTime { theDate.timeIntervalSinceReferenceDate }
