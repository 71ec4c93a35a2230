import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// The status of the device, once and after each change of what bridges go by (ND-8).
extension DeviceService {
    /// A connection that is told of changes, and what it was told last.
    struct StatusWatcher: Sendable {
        var call: VarlinkCall<DeviceInterface.WatchStatus>
        var app: AppIdentifier
        var told: Watched
    }

    /// What is told of: the rest of the status changes without end, or concerns nobody who keeps something.
    struct Watched: Hashable, Sendable {
        var isLocked: Bool
        var wasUnlockedSinceBoot: Bool
        var hasAgent: Bool
        var isPasscodeSet: Bool

        init(_ status: DeviceInterface.Status) {
            isLocked = status.isLocked
            wasUnlockedSinceBoot = status.wasUnlockedSinceBoot
            hasAgent = status.hasAgent
            isPasscodeSet = status.isPasscodeSet
        }
    }

    private enum Limits {
        static let statusWatchers = 64
        static let statusWatchersPerApp = 16
    }

    var watching: [OwnerHandler] {
        [
            owner(DeviceInterface.GetStatus.self) { [self] _ in .init(status: try status()) },
            .deferred(DeviceInterface.WatchStatus.self, wantsMore: true) { [self] _, call, _ in
                // In turn with the changes: none is lost between the first answer and the next.
                statuses.async { [self] in watch(call) }
            },
        ]
    }

    private func status() throws -> DeviceInterface.Status {
        let facts = try facts()
        return .init(
            name: name, isSimulated: facts.isSimulated, rootOfTrust: facts.rootOfTrust,
            biometryType: facts.biometryType, isEnrolled: facts.isEnrolled, isPasscodeSet: facts.isPasscodeSet,
            passcodeKind: facts.passcodeKind, erasesData: facts.erasesData, wasErased: facts.wasErased,
            isLocked: facts.isLocked, wasUnlockedSinceBoot: facts.wasUnlockedSinceBoot,
            isBiometryLockedOut: facts.isBiometryLockedOut, passcodeFailures: facts.passcodeFailures,
            passcodeRetryAfterSeconds: facts.passcodeRetryAfterSeconds, isPasscodeDisabled: facts.isPasscodeDisabled,
            hasAgent: authentication.hasAgent, hasPrompt: authentication.prompt != nil, sensor: facts.sensor,
            areKeysInTPM: facts.areKeysInTPM, clockAheadSeconds: clock.ahead > 0 ? clock.ahead : nil)
    }

    private func watch(_ call: VarlinkCall<DeviceInterface.WatchStatus>) {
        do {
            let status = try status()
            let app = try call.connection.identity().identifier
            let key = ObjectIdentifier(call.connection)
            let hasRoom = statusWatchers.withLock { watchers in
                guard watchers.count < Limits.statusWatchers,
                    watchers.values.count(where: { $0.app == app }) < Limits.statusWatchersPerApp
                else { return false }
                watchers[key] = StatusWatcher(call: call, app: app, told: Watched(status))
                return true
            }
            guard hasRoom else { return call.fail(DeviceInterface.Refused(.busy)) }
            call.continue(.init(status: status))
            call.connection.onClose { [weak self] in
                self?.statusWatchers.withLock { _ = $0.removeValue(forKey: key) }
            }
        } catch {
            call.answer(.failure(error))
        }
    }

    /// Tells those who watch, where it is another; to be called after anything that may have changed it.
    ///
    /// Returns at once.
    func statusChanged() {
        statuses.async { [self] in
            let watchers = statusWatchers.withLock { $0 }
            guard !watchers.isEmpty, let status = try? status() else { return }
            let now = Watched(status)
            for (key, watcher) in watchers where watcher.told != now {
                // What waits for one that does not read has an end.
                guard watcher.call.connection.isReading else {
                    watcher.call.drop()
                    continue
                }
                statusWatchers.withLock { $0[key]?.told = now }
                watcher.call.continue(.init(status: status))
            }
        }
    }
}
