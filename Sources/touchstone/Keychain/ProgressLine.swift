import Foundation
import Glibc

/// One line on standard error that says how far long work is; nothing where that is not a terminal.
struct ProgressLine {
    private let isShown = isatty(STDERR_FILENO) == 1
    private var next = ContinuousClock.now + first
    private var isDirty = false

    /// Short work says nothing.
    private static let first = Duration.milliseconds(500)
    private static let pause = Duration.milliseconds(100)

    mutating func show(_ text: @autoclosure () throws -> String) rethrows {
        guard isShown, ContinuousClock.now >= next else { return }
        next = .now + Self.pause
        isDirty = true
        StandardError.write("\r\(try text())\u{1B}[K")
    }

    mutating func clear() {
        if isDirty { StandardError.write("\r\u{1B}[K") }
        isDirty = false
    }
}
