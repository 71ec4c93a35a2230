/// When something was written: by the wall clock, but never before what its writer had seen (SY-20).
package struct ClockTime: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01 00:00:00 UTC, 48 bits of them.
    package let milliseconds: UInt64
    /// Tells apart what was written in the same millisecond, or while the clock stood behind.
    package let count: UInt16

    package static let longestAhead: UInt64 = 24 * 3600 * 1000
    static let maximumMilliseconds = UInt64(1) << 48 - 1

    package init(milliseconds: UInt64, count: UInt16 = 0) {
        self.milliseconds = min(milliseconds, Self.maximumMilliseconds)
        self.count = count
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.milliseconds, left.count) < (right.milliseconds, right.count)
    }

    /// More than a day ahead of `now`, in milliseconds: it waits until that is no longer so.
    package func isAhead(of now: UInt64) -> Bool {
        milliseconds > Self.longestAhead && milliseconds - Self.longestAhead > now
    }

    /// Milliseconds × 2¹⁶ + count.
    package var bits: UInt64 { milliseconds << 16 | UInt64(count) }
    package init(bits: UInt64) { self.init(milliseconds: bits >> 16, count: UInt16(truncatingIfNeeded: bits)) }
}

/// Gives each write of a device a time after everything that the device had seen.
package struct HybridClock: Sendable {
    package private(set) var last = ClockTime(milliseconds: 0)

    package init() {}

    /// The time of a write, `now` by the wall clock in milliseconds.
    ///
    /// After all that was seen, unless that is more than a day ahead: nobody would take it.
    package mutating func tick(now: UInt64) -> ClockTime {
        last =
            if now > last.milliseconds || last.isAhead(of: now) {
                ClockTime(milliseconds: now)
            } else if last.count < .max {
                ClockTime(milliseconds: last.milliseconds, count: last.count + 1)
            } else {
                ClockTime(milliseconds: last.milliseconds + 1)
            }
        return last
    }

    package mutating func see(_ time: ClockTime) { last = max(last, time) }
}
