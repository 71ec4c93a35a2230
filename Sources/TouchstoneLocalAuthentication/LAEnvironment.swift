internal import Dispatch
public import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneSecurity
import TouchstoneSystem
internal import TouchstoneTransport

/// What the owner can be asked for on this device, without a context and without asking anybody (CE-19).
///
/// One connection to the device is kept while somebody observes, and none otherwise.
///
/// > Concurrency: Every member may be used from any thread, hence `Sendable`.
public final class LAEnvironment: NSObject, Sendable {
    /// Is told of changes of an environment.
    public protocol Observer: NSObjectProtocol {
        /// The state has changed: `environment.state` already is the new one.
        ///
        /// Called on a private queue, once for each change. Changes that come together may be reported as one.
        ///
        /// - Parameters:
        ///   - environment: The environment.
        ///   - oldState: Its state before.
        func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State)
    }

    // Unchecked: an observer is only ever called, and on the one queue.
    private struct Observation: @unchecked Sendable {
        let name: ObjectIdentifier
        weak var observer: (any Observer)?

        init(_ observer: any Observer) {
            name = ObjectIdentifier(observer)
            self.observer = observer
        }
    }

    private struct Watch {
        var observations: [Observation] = []
        /// The state that the observers know; nil while nobody watches.
        var told: State?
        /// The connection that brings the news.
        var client: VarlinkClient?
        /// Counts up with every start and every end, so that a thread knows whether it is still the one that watches.
        var turn = 0

        mutating func hasObservers() -> Bool {
            observations.removeAll { $0.observer == nil }
            return !observations.isEmpty
        }

        /// Nobody observes: the thread that watches ends.
        ///
        /// - Returns: The connection to close.
        mutating func end() -> VarlinkClient? {
            turn += 1
            told = nil
            defer { client = nil }
            return client
        }
    }

    private let endpoint: any VarlinkEndpoint
    private let watch = Mutex(Watch())
    private let queue = DispatchQueue(label: "io.touchstone.environment")

    private init(_ endpoint: any VarlinkEndpoint) {
        self.endpoint = endpoint
    }

    // MARK: - State

    /// The state as it is now: the device is asked.
    ///
    /// > Source: CE-19. Without a device: neither biometry nor a passcode.
    public var state: State {
        typealias Method = AuthenticationInterface.GetEnvironment
        return State(try? endpoint.call(Method.self, Empty(), isRepeatable: true).environment)
    }

    // MARK: - Observers

    /// Adds an observer, which is told of every change from now on: enrolment, lockout, a passcode set or removed.
    ///
    /// It is held weakly, and added once however often this is called. A lockout that comes only with time (PC-20) is reported when the
    /// device next does something. A change while the device was off is reported when it is on again.
    ///
    /// - Parameter observer: The observer.
    public func addObserver(_ observer: any Observer) {
        let observation = Observation(observer)
        let (turn, old): (Int?, VarlinkClient?) = watch.withLock { watch in
            let isWatched = watch.hasObservers()
            if !watch.observations.contains(where: { $0.name == observation.name }) {
                watch.observations.append(observation)
            }
            if isWatched { return (nil, nil) }
            // The thread of observers that are all gone may still listen.
            let old = watch.end()
            return (watch.turn, old)
        }
        old?.close()
        guard let turn else { return }
        // Every change from here on is reported, however long the connection takes.
        let state = state
        watch.withLock { watch in
            if watch.turn == turn { watch.told = state }
        }
        // Holds on to the environment, so that nobody else has to.
        Thread.detachNewThread { [self] in observe(turn) }
    }

    /// Removes an observer.
    ///
    /// - Parameter observer: The observer; one that was never added is not an error.
    public func removeObserver(_ observer: any Observer) {
        let name = ObjectIdentifier(observer)
        let client: VarlinkClient? = watch.withLock { watch in
            watch.observations.removeAll { $0.name == name }
            guard !watch.hasObservers() else { return nil }
            return watch.end()
        }
        client?.close()
    }

    // MARK: - Inside

    private static let environments = Mutex<[Key: Known]>([:])

    private enum Key: Hashable {
        case named(String)
        case object(ObjectIdentifier)
    }

    private struct Known {
        weak var environment: LAEnvironment?
    }

    /// One for each device, as long as anybody has it.
    static func of(_ endpoint: any VarlinkEndpoint) -> LAEnvironment {
        let key: Key
        if let name = endpoint.identifier {
            key = .named(name)
        } else if type(of: endpoint) is AnyClass {
            key = .object(ObjectIdentifier(endpoint as AnyObject))
        } else {
            return LAEnvironment(endpoint)
        }
        return environments.withLock { environments in
            environments = environments.filter { $0.value.environment != nil }
            if let known = environments[key]?.environment { return known }
            let new = LAEnvironment(endpoint)
            environments[key] = Known(environment: new)
            return new
        }
    }

    /// Listens to the device, and again where it was restarted, until nobody observes.
    private func observe(_ turn: Int) {
        var delay = Self.shortestDelay
        while isObserved(turn) {
            if let client = try? endpoint.client(), keep(client, turn) {
                try? client.stream(AuthenticationInterface.GetEnvironment.self, Empty()) { reply in
                    delay = Self.shortestDelay
                    tell(State(reply.environment), turn)
                    return isObserved(turn)
                }
            }
            guard isObserved(turn) else { return }
            Thread.sleep(forTimeInterval: delay)
            delay = min(2 * delay, Self.longestDelay)
        }
    }

    private func isObserved(_ turn: Int) -> Bool {
        let (isObserved, client): (Bool, VarlinkClient?) = watch.withLock { watch in
            guard watch.turn == turn else { return (false, nil) }
            return watch.hasObservers() ? (true, nil) : (false, watch.end())
        }
        client?.close()
        return isObserved
    }

    /// - Returns: False if nobody observes any more.
    private func keep(_ client: VarlinkClient, _ turn: Int) -> Bool {
        watch.withLock { watch in
            guard watch.turn == turn else { return false }
            watch.client = client
            return true
        }
    }

    private func tell(_ state: State, _ turn: Int) {
        let old: State? = watch.withLock { watch in
            guard watch.turn == turn, watch.told != state else { return nil }
            defer { watch.told = state }
            return watch.told
        }
        guard let old else { return }
        queue.async { [self] in
            let observers = watch.withLock { $0.observations.compactMap(\.observer) }
            // Whoever asks for an environment, or makes a context, means this device.
            DeviceEndpoint.$scoped.withValue(endpoint) {
                for observer in observers { observer.environment(self, stateDidChangeFromOldState: old) }
            }
        }
    }

    private static let shortestDelay = 0.05
    private static let longestDelay = 2.0
}

extension LAEnvironment {
    /// The environment of the user that runs this program, on the device that is current.
    ///
    /// The same object for as long as anybody has it or observes it.
    public static var currentUser: LAEnvironment { of(DeviceEndpoint.current()) }
}

extension LAEnvironment.Observer {
    /// Does nothing: an observer need not have this method, which is optional on Apple's platforms.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - oldState: Its state before.
    public func environment(
        _ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State
    ) {}
}
