internal import Foundation
internal import Synchronization

/// The threads on which replies run, each for one and never again.
enum ReplyThread {
    private static let key = "io.touchstone.reply"
    private static let isReported = Mutex(false)

    /// From here on this thread runs a reply.
    static func begin() { Thread.current.threadDictionary[key] = true }

    /// Says once in a process, on standard error, that inside a reply `canEvaluatePolicy` is a mistake: here it answers, on Apple's
    /// platforms it may never return (CE-15).
    static func reportQuestion() {
        guard Thread.current.threadDictionary[key] != nil else { return }
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        guard isFirst else { return }
        let message = "touchstone: canEvaluatePolicy was called inside a reply, which can deadlock on other platforms\n"
        FileHandle.standardError.write(Data(message.utf8))
    }
}
