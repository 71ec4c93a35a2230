internal import Dispatch
internal import Foundation
internal import Synchronization
import TouchstoneCore
package import TouchstoneInterfaces

/// Tells whoever watches which messages pass through a daemon: who, which method, how long, how many bytes; never what is in them.
///
/// While nobody watches it costs one look at a flag for each message.
package final class MessageTrace: Sendable {
    package typealias Message = InspectorInterface.Message
    package typealias Watcher = @Sendable (_ messages: [Message], _ lost: Int) -> Void

    package enum Limits {
        package static let watchers = 16
        /// Messages that wait to be told; what comes on top is only counted.
        package static let waiting = 1024
        /// Of an application identifier, in characters.
        static let app = 200
    }

    private let isWatched = Atomic<Bool>(false)
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "io.touchstone.trace")

    private struct State {
        var watchers: [UInt64: Watcher] = [:]
        var nextWatcher: UInt64 = 0
        var sequence = 0
        var calls = 0
        var waiting: [Message] = []
        var lost = 0
    }

    package init() {}

    /// Tells `watcher` each message from now on, on the trace's queue, which it must not hold up.
    ///
    /// - Returns: What `unwatch` takes; nil where there are too many already.
    package func watch(_ watcher: @escaping Watcher) -> UInt64? {
        state.withLock { state in
            guard state.watchers.count < Limits.watchers else { return nil }
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = watcher
            isWatched.store(true, ordering: .relaxed)
            return state.nextWatcher
        }
    }

    package func unwatch(_ number: UInt64) {
        state.withLock { state in
            state.watchers[number] = nil
            isWatched.store(!state.watchers.isEmpty, ordering: .relaxed)
        }
    }

    /// The two ends of a connection, as the side sees it that calls.
    struct Route: Sendable {
        var caller: InspectorInterface.Party
        var callee: InspectorInterface.Party
        /// Names the caller, where it is no daemon; asked only where somebody watches.
        var app: @Sendable () -> AppIdentifier? = { nil }
    }

    /// A call that was told, and whose answer is to be.
    struct Call: Sendable {
        fileprivate let number: Int
        fileprivate let start = ContinuousClock.now
    }

    /// Tells a call; nil where nobody watches, or it is the watchers' own.
    func called(_ method: String, _ route: @autoclosure () -> Route, bytes: Int) -> Call? {
        guard isToBeTold(method) else { return nil }
        let route = route()
        let number = tell(
            method, from: route.caller, to: route.callee, app: route.app(), .call, outcome: nil, bytes: bytes)
        return Call(number: number)
    }

    /// Tells the answer of a call that was told.
    func answered(_ call: Call?, _ method: String, _ route: @autoclosure () -> Route, outcome: String, bytes: Int) {
        guard let call, isToBeTold(method) else { return }
        let route = route()
        tell(
            method, from: route.callee, to: route.caller, app: route.app(), .answer(call), outcome: outcome,
            bytes: bytes)
    }

    /// Tells one more answer of a stream, whenever that began.
    func streamed(_ method: String, _ route: @autoclosure () -> Route, bytes: Int) {
        guard isToBeTold(method) else { return }
        let route = route()
        tell(method, from: route.callee, to: route.caller, app: route.app(), .part, outcome: "more", bytes: bytes)
    }

    /// What watchers cause is not told them, or they would never come to an end.
    private func isToBeTold(_ method: String) -> Bool {
        isWatched.load(ordering: .relaxed) && !method.hasPrefix(InspectorInterface.name)
    }

    private enum Kind {
        case call
        case answer(Call)
        case part
    }

    @discardableResult
    private func tell(
        _ method: String, from: InspectorInterface.Party, to: InspectorInterface.Party, app: AppIdentifier?,
        _ kind: Kind,
        outcome: String?, bytes: Int
    ) -> Int {
        var message = Message(
            sequence: 0, time: Date().timeIntervalSince1970, from: from, to: to,
            app: app.map { AppIdentifier(String($0.rawValue.prefix(Limits.app))) }, method: method, call: nil,
            outcome: outcome, duration: nil,
            bytes: bytes)
        let (number, isFirst) = state.withLock { state in
            state.sequence += 1
            message.sequence = state.sequence
            switch kind {
            case .call:
                state.calls += 1
                message.call = state.calls
            case .answer(let call):
                message.call = call.number
                message.duration = (ContinuousClock.now - call.start) / .seconds(1)
            case .part: break
            }
            guard state.waiting.count < Limits.waiting else {
                state.lost += 1
                return (state.calls, false)
            }
            state.waiting.append(message)
            return (state.calls, state.waiting.count == 1)
        }
        if isFirst { queue.async { [self] in tellWatchers() } }
        return number
    }

    private func tellWatchers() {
        let (watchers, messages, lost) = state.withLock { state in
            defer { (state.waiting, state.lost) = ([], 0) }
            return (Array(state.watchers.values), state.waiting, state.lost)
        }
        for watcher in watchers { watcher(messages, lost) }
    }
}
