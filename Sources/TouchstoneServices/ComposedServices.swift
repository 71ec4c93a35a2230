import Foundation
package import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
package import TouchstoneKeychain
package import TouchstoneTransport

/// The services of one device, put together: what touchstoned serves, and what a test's device is.
///
/// They hold ciphertext, and ask the enclave for everything else.
package final class ComposedServices: Sendable {
    /// What the services stand on beside the enclave.
    package struct Parts: Sendable {
        /// The device's name.
        package var name: String
        /// Whose device it is.
        package var ownerID: UInt32
        /// The items.
        package var store: KeychainStore
        /// The lines of the log.
        package var log: any LogStorage
        /// Where entries of the log are sent as well.
        package var journal: Journal?
        /// Longest wait for lines of the log that are on their way from the enclave.
        package var logArrivalSeconds = 2.0
        /// The time by which all of the services go.
        package var clock = DeviceClock()
        /// Runs something after so many seconds; nil: by the machine's time.
        package var schedule: (@Sendable (Double, @escaping @Sendable () -> Void) -> Void)?
        /// Whether an app whose prompts the owner cancels again and again may not ask for a while.
        package var holdsBackCancelledApps = true
        /// Called when large results were given, and nobody waits for another.
        package var afterLargeResults: (@Sendable () -> Void)?
        /// Takes a sentence for the daemon's own log.
        package var report: @Sendable (String) -> Void = { _ in }
        /// Called after the reply to `Reboot`.
        package var reboot: @Sendable () -> Void = {}

        package init(name: String, ownerID: UInt32, store: KeychainStore, log: any LogStorage) {
            self.name = name
            self.ownerID = ownerID
            self.store = store
            self.log = log
        }
    }

    /// Answers what apps and the owner ask.
    package let router: VarlinkRouter
    package let authentication: AuthenticationService
    private let enclave: EnclaveClient
    private let keychain: KeychainService
    private let backup: BackupService
    private let inspector: InspectorService
    private let sync: SyncService
    private let device: DeviceService
    private let log: DeviceLog

    /// - Parameters:
    ///   - parts: What they stand on.
    ///   - calls: A connection to the enclave.
    ///   - events: Another, for its events.
    /// - Throws: What the enclave and the store throw.
    package init(_ parts: Parts, calls: any VarlinkChannel, events: any VarlinkChannel) throws {
        let trace = MessageTrace()
        let clock = parts.clock
        let contexts = ContextOwners()
        let enclave = EnclaveClient(
            calls: VarlinkClient(calls, trace: trace), events: VarlinkClient(events, trace: trace))
        let refusals = RefusalNotes(enclave: enclave)
        authentication = AuthenticationService(
            enclave: enclave, ownerID: parts.ownerID, contexts: contexts, refusals: refusals, report: parts.report,
            now: { clock.now }, schedule: parts.schedule ?? AuthenticationService.byTheMachinesTime,
            holdsBackCancelledApps: parts.holdsBackCancelledApps)
        let keychain = try KeychainService(
            store: parts.store, enclave: enclave, contexts: contexts, broker: authentication, refusals: refusals,
            afterLargeResults: parts.afterLargeResults, now: { clock.date })
        let keys = KeyService(enclave: enclave, contexts: contexts, broker: authentication, refusals: refusals)
        let inspector = try InspectorService(
            store: parts.store, keychain: keychain, enclave: enclave, trace: trace, ownerID: parts.ownerID)
        backup = try BackupService(
            store: parts.store, enclave: enclave, ownerID: parts.ownerID, now: { clock.date })
        let sync = SyncService(store: parts.store, keychain: keychain, enclave: enclave, ownerID: parts.ownerID)
        log = DeviceLog(
            storage: parts.log, enclave: enclave, refusals: refusals, journal: parts.journal,
            arrivalSeconds: parts.logArrivalSeconds, report: parts.report)
        device = DeviceService(
            name: parts.name, enclave: enclave, authentication: authentication, log: log, clock: clock,
            ownerID: parts.ownerID,
            keysChanged: {
                defer {
                    inspector.changed()
                    sync.keysChanged()
                }
                try keychain.refreshKeys()
            },
            environmentChanged: { inspector.changed() }, reboot: parts.reboot)
        router = VarlinkRouter(
            info: .init(product: "touchstoned", version: TouchstoneVersion.current),
            interfaces: [
                keychain.interface, keys.interface, backup.interface, device.interface, inspector.interface,
                sync.interface,
            ] + authentication.interfaces, trace: trace)
        self.enclave = enclave
        self.keychain = keychain
        self.inspector = inspector
        self.sync = sync
    }

    /// Hears the enclave's events from now on, and goes on with the log; to be called once, before anybody is served.
    ///
    /// - Parameter lost: Called when the enclave is gone, after everybody who waits was told.
    /// - Throws: What the enclave throws.
    package func begin(whenLost lost: @escaping @Sendable () -> Void) throws {
        enclave.watch { [authentication, device] event in
            authentication.handle(event)
            device.handle(event)
        } lost: { [authentication] in
            authentication.enclaveLost()
            lost()
        }
        try log.begin()
    }

    /// Ends the log: its last line is kept when this returns.
    package func end() { log.end() }

    /// Lets go of the enclave: everybody who waits is told that the device has stopped.
    package func leaveEnclave() {
        enclave.close()
        authentication.enclaveLost()
    }

    /// Whether the device was created as a simulated one.
    package var isSimulated: Bool { inspector.isSimulated }

    /// Whether the enclave answers; waits for it.
    package var answers: Bool { (try? enclave.call(EnclaveInterface.GetFacts.self, .init(app: ""))) != nil }

    /// What the owner should know at boot; nil: nothing, or a keychain that cannot be read, of which each call says so.
    package var notice: String? { (try? backup.notice()) ?? nil }

    /// Returns once what was wrapped anew so far is in its rows, or was given up.
    package func settleRewrapping() { keychain.settleRewrapping() }
}

/// Here the two services meet: neither knows the other.
extension AuthenticationService: ProofBroker {}
