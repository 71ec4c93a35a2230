import Foundation
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveInterface
import TouchstoneKeychain
import TouchstoneTransport

/// A simulated device from one boot to the next: what touchstoned and touchstone-enclave are on a real one.
package final class BootedDevice: Sendable {
    let router: VarlinkRouter
    /// The owner's own connection: settings and lock screen.
    let owner: VarlinkClient
    private let enclaveEndpoint: LoopbackEndpoint
    private let ownerEndpoint: LoopbackEndpoint
    private let authentication: AuthenticationService
    private let device: DeviceService
    private let host: EnclaveHost
    private let log: DeviceLog
    private let keychain: KeychainService
    let passcodeKey: Data
    /// How long an agent may take to show the prompt, and an app may wait for its turn: over when a test says so.
    let deadlines = Deadlines()

    init(
        storage: any EnclaveStorage, root: any RootOfTrust, clock: ManualClock, store: KeychainStore,
        logStorage: any LogStorage = MemoryLog(), touchDelay: Double = 0,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        // Its clock stands still, so that the sensor counts as soon as the person sees the prompt.
        let host = try EnclaveHost(
            storage: storage, root: root, clock: clock, touchDelay: touchDelay, newPasscodeCost: { .minimum })
        self.host = host
        passcodeKey = try host.passcodePublicKey()
        let enclaveRouter = VarlinkRouter(
            info: .init(product: "touchstone-enclave", version: TouchstoneVersion.current),
            interfaces: [EnclaveService(host: host).interface])
        let daemon = Peer(processID: getpid(), userID: getuid(), identify: { Self.program })
        enclaveEndpoint = LoopbackEndpoint(router: enclaveRouter, peer: daemon)
        let trace = MessageTrace()
        let enclave = try enclaveEndpoint.client(trace: trace)
        let contexts = ContextOwners()
        let refusals = RefusalNotes(enclave: enclave)
        let clock = DeviceClock(time: { clock.now }, date: { clock.date })
        let keychain = try KeychainService(
            store: store, enclave: enclave, contexts: contexts, refusals: refusals, now: { clock.date })
        self.keychain = keychain
        let backup = try BackupService(
            store: store, enclave: enclave, ownerID: getuid(), now: { clock.date })
        let inspector = try InspectorService(
            store: store, keychain: keychain, enclave: enclave, trace: trace, ownerID: getuid())
        let authentication = AuthenticationService(
            enclave: enclave, ownerID: getuid(), contexts: contexts, refusals: refusals, report: report,
            now: { clock.now }, schedule: { [deadlines] seconds, body in deadlines.add(seconds, body) },
            // A test cancels as often as it likes, and its clock would have to be moved before the next prompt.
            holdsBackCancelledApps: false)
        let log = DeviceLog(
            storage: logStorage, enclave: enclave, refusals: refusals, journal: nil, report: { _ in })
        self.log = log
        let device = DeviceService(
            name: "test", enclave: enclave, authentication: authentication, log: log, clock: clock,
            ownerID: getuid(),
            keysChanged: {
                defer { inspector.changed() }
                try keychain.refreshKeys()
            }, environmentChanged: { inspector.changed() }, reboot: {})
        self.authentication = authentication
        self.device = device
        router = VarlinkRouter(
            info: .init(product: "touchstoned", version: TouchstoneVersion.current),
            interfaces: [
                keychain.interface, KeyService(enclave: enclave, contexts: contexts, refusals: refusals).interface,
                backup.interface, device.interface, inspector.interface,
            ] + authentication.interfaces, trace: trace)
        ownerEndpoint = LoopbackEndpoint(router: router, peer: daemon)
        owner = try ownerEndpoint.client()
        // Booted once events are watched: what is asked before that could wait for an answer that nobody hears.
        let events = try enclaveEndpoint.client(trace: trace)
        let isWatching = Gate()
        Thread.detachNewThread {
            try? events.stream(EnclaveInterface.WatchEvents.self, Empty()) { event in
                isWatching.open()
                authentication.handle(event)
                device.handle(event)
                return true
            }
            isWatching.open()
        }
        isWatching.wait()
        try log.begin()
    }

    /// The program with which the owner drives the device.
    private static let program = AppIdentity(
        identifier: "process:owner", evidence: .process, name: "owner", processID: getpid(), userID: getuid())

    /// Returns once what was wrapped anew is in its rows.
    func settleRewrapping() { keychain.settleRewrapping() }

    /// Evaluations that wait for another app's prompt to go.
    var waitingEvaluations: Int { authentication.waitingEvaluations }
    func holdBackCancelledApps() { authentication.holdBackCancelledApps() }

    /// Simulated fingers that wait for their prompt to count.
    var earlyTouches: Int { authentication.earlyTouches }
    /// The identifier of the prompt that is up.
    var prompt: String? { authentication.prompt?.identifier }

    /// Has this sensor looked at; the fingers stay simulated, and what it reports is nothing.
    func start(_ sensor: any Sensor) { host.start(sensor) }

    func client() throws -> VarlinkClient { try ownerEndpoint.client() }
    func connection() throws -> any VarlinkChannel { try ownerEndpoint.connect() }

    /// As another user would have it whom the file system let through.
    func client(userID: UInt32) throws -> VarlinkClient {
        try LoopbackEndpoint(router: router, peer: Peer(processID: getpid(), userID: userID, identify: { nil }))
            .client()
    }

    func seal(_ passcodes: [String], for purpose: SealedPasscode.Purpose, nonce: Data) throws -> SealedPasscode {
        try PasscodeSeal(enclaveKey: passcodeKey).seal(passcodes.map { Array($0.utf8) }, for: purpose, nonce: nonce)
    }

    /// Ends everything that waits, as a daemon does that loses its enclave.
    func stop() {
        log.end()
        halt()
    }

    /// As a power cut does.
    func halt() {
        authentication.enclaveLost()
        device.enclaveLost()
        ownerEndpoint.stop()
        enclaveEndpoint.stop()
    }
}
