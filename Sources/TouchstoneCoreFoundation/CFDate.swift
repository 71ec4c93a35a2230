internal import Foundation

/// The time now.
///
/// - Returns: Seconds since 2001-01-01 00:00:00 UTC.
@discardableResult
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
