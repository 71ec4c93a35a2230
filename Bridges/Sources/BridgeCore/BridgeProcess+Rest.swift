internal import CTouchstoneSystem
internal import Foundation
internal import Synchronization

extension BridgeProcess {
    private struct Rest {
        var began = ContinuousClock.now
        /// Whether somebody looks at it already.
        var isWatched = false
    }

    private static let rest = Mutex(Rest())
    /// How long nothing is done before the process counts as resting.
    private static let moment = Duration.seconds(1)

    /// Says that something is over: the start, or what a client wanted.
    ///
    /// If nothing else ends within a second, what only that needed is given back: pages of code and of constants, and freed memory. What
    /// is used again comes back from its file, mostly from the kernel's cache. Without this a bridge keeps every page that it ever used.
    public static func rests() {
        let isFirst = rest.withLock { rest in
            rest.began = .now
            defer { rest.isWatched = true }
            return !rest.isWatched
        }
        if isFirst { look(after: moment) }
    }

    private static func look(after time: Duration) {
        DispatchQueue.global().asyncAfter(deadline: .now() + (time / .seconds(1))) {
            let left = rest.withLock { rest -> Duration? in
                let left = moment - (.now - rest.began)
                guard left <= .zero else { return left }
                rest.isWatched = false
                return nil
            }
            if let left { look(after: left) } else { touchstone_return_start_code() }
        }
    }
}
