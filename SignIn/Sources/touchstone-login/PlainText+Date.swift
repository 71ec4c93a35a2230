import Foundation

extension PlainText {
    /// Seconds since 1970, as a date.
    static func date(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601.year().month().day())
    }
}
