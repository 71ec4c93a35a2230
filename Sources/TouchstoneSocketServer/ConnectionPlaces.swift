import CTouchstoneSystem
package import Foundation
import Glibc
import Synchronization
package import TouchstoneCore
import TouchstoneTransport

/// How many connections a server has, and how many of them one program may have.
package struct ConnectionLimits: Sendable {
    /// All of them.
    package var total: Int
    /// Those that only a program of `isOwners` may take, of `total`.
    package var reserved: Int
    package var perProcess = 128
    package var perApp = 1024
    /// Those of `total` of which nobody knows the app, because nothing was asked yet.
    ///
    /// The oldest of them gives way to one more.
    package var unknown: Int
    /// Longest time, in seconds, for which a connection may ask nothing at all.
    package var silence: TimeInterval = 60
    /// Whether the app is one of the owner's programs: the command, an agent, the simulator, the carrier of sealed items.
    package var isOwners: @Sendable (AppIdentity) -> Bool = OwnersPrograms.contains

    /// As many as this process has descriptors for, at most 4,096: a connection takes up to four.
    package init() {
        var limit = rlimit()
        let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        let descriptors = isKnown ? Int(clamping: limit.rlim_cur) : 1024
        total = min(4096, max(256, (descriptors - 256) / 4))
        unknown = total / 8
        reserved = total / 64
    }
}

/// The programs that lie beside touchstoned, and those that an installation has in its `bin` (DEC-072).
enum OwnersPrograms {
    private static let installed = ["touchstone", "touchstone-agent", "touchstone-sync"]

    static func contains(_ app: AppIdentity) -> Bool { contains(app, daemons: own) }

    /// - Parameters:
    ///   - app: Who connected.
    ///   - daemons: The directory of touchstoned: `PREFIX/libexec/touchstone`, or where everything was built.
    /// - Returns: Whether it is one of them.
    static func contains(_ app: AppIdentity, daemons: String?) -> Bool {
        guard app.evidence == .executable, let daemons else { return false }
        let path = app.identifier.rawValue
        if (path as NSString).deletingLastPathComponent == daemons { return true }
        let libexec = "/libexec/touchstone"
        return daemons.hasSuffix(libexec)
            && installed.contains { path == "\(daemons.dropLast(libexec.count))/bin/\($0)" }
    }

    private static let own: String? = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        .map { ($0 as NSString).deletingLastPathComponent }
}

/// Counts the connections of a server, so that no program takes the places of the others.
///
/// A program is known by its first request. Until then a connection can lose its place: programs that connect and ask nothing
/// keep nobody out, however many processes they are.
final class ConnectionPlaces: Sendable {
    private let limits: ConnectionLimits
    private let state = Mutex(State())

    private struct State {
        var last: UInt64 = 0
        var known = 0
        var byProcess: [Int32: Int] = [:]
        var byApp: [AppIdentifier: Int] = [:]
        /// What ends each connection of which nobody knows the app, by its number.
        ///
        /// The numbers grow.
        var unknown: [UInt64: Ending] = [:]
    }

    private struct Ending {
        var process: Int32
        var disconnect: @Sendable () -> Void
    }

    init(_ limits: ConnectionLimits) { self.limits = limits }

    /// Gives a connection a place.
    ///
    /// - Parameters:
    ///   - process: The process that connected.
    ///   - disconnect: Begins to end the connection. Must not call back, and is not called any more once the place was left.
    /// - Returns: The place; nil where that process has as many as it may have.
    func enter(_ process: Int32, disconnect: @escaping @Sendable () -> Void) -> Place? {
        state.withLock { state in
            guard state.byProcess[process, default: 0] < limits.perProcess else { return nil }
            if state.unknown.count >= limits.unknown, let crowded = Self.crowded(state.unknown) {
                state.unknown.removeValue(forKey: crowded)?.disconnect()
            }
            state.last += 1
            state.byProcess[process, default: 0] += 1
            state.unknown[state.last] = Ending(process: process, disconnect: disconnect)
            return Place(self, state.last, process)
        }
    }

    /// The oldest connection of the process that has most: who is being looked up does not give way to a crowd.
    private static func crowded(_ unknown: [UInt64: Ending]) -> UInt64? {
        let counts = Dictionary(unknown.values.map { ($0.process, 1) }, uniquingKeysWith: +)
        let most = counts.values.max()
        return unknown.filter { counts[$0.value.process] == most }.keys.min()
    }

    /// Closes the socket of a connection, and then gives its place back.
    static func close(_ socket: Int32, _ place: Place?) {
        // The number of the socket may be another's as soon as it is closed.
        place?.onEviction {}
        let context = unsafe place.map { unsafe Unmanaged.passRetained($0).toOpaque() }
        unsafe touchstone_close_peer(
            socket,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Place>.fromOpaque(context).takeRetainedValue().leave()
                }
            }, context)
    }

    /// One connection's place, which it has until `leave`.
    final class Place: Sendable {
        private let places: ConnectionPlaces
        private let number: UInt64
        private let process: Int32
        private let holder = Mutex(Holder.unknown)

        private enum Holder {
            case unknown
            case app(AppIdentifier)
            case nobody
        }

        init(_ places: ConnectionPlaces, _ number: UInt64, _ process: Int32) {
            (self.places, self.number, self.process) = (places, number, process)
        }

        /// Says what ends the connection from now on.
        func onEviction(_ disconnect: @escaping @Sendable () -> Void) {
            places.state.withLock { state in
                state.unknown[number]?.disconnect = disconnect
            }
        }

        /// Says whose connection it is.
        ///
        /// - Returns: Whether that app may have one more; the connection has to end where not.
        func belongs(to app: AppIdentity) -> Bool {
            let identifier = app.identifier
            return holder.withLock { holder in
                guard case .unknown = holder else {
                    if case .app(identifier) = holder { return true }
                    return false
                }
                let hasPlace = places.state.withLock { state in
                    let limits = places.limits
                    let room = limits.total - limits.unknown - (limits.isOwners(app) ? 0 : limits.reserved)
                    guard state.unknown[number] != nil, state.known < room,
                        state.byApp[identifier, default: 0] < limits.perApp
                    else { return false }
                    state.unknown[number] = nil
                    state.known += 1
                    state.byApp[identifier, default: 0] += 1
                    return true
                }
                if hasPlace { holder = .app(identifier) }
                return hasPlace
            }
        }

        /// Gives the place back; harmless when repeated.
        func leave() {
            let last = holder.withLock { holder in
                defer { holder = .nobody }
                return holder
            }
            if case .nobody = last { return }
            places.state.withLock { state in
                state.unknown[number] = nil
                state.byProcess.countDown(process)
                guard case .app(let app) = last else { return }
                state.known -= 1
                state.byApp.countDown(app)
            }
        }
    }
}
