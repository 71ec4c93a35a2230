import Foundation
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneKeychain
import TouchstoneServices
import TouchstoneSystem
import TouchstoneTransport

/// A simulated device from one boot to the next: what touchstoned and touchstone-enclave are on a real one.
package final class BootedDevice: Sendable {
    var router: VarlinkRouter { services.router }
    /// The owner's own connection: settings and lock screen.
    let owner: VarlinkClient
    private let enclaveEndpoint: LoopbackEndpoint
    private let ownerEndpoint: LoopbackEndpoint
    private let services: ComposedServices
    private let host: EnclaveHost
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
        var parts = ComposedServices.Parts(name: "test", ownerID: getuid(), store: store, log: logStorage)
        parts.clock = DeviceClock(time: { clock.now }, date: { clock.date })
        // A busy machine has not lost a line.
        parts.logArrivalSeconds = 60
        parts.schedule = { [deadlines] seconds, body in deadlines.add(seconds, body) }
        // A test cancels as often as it likes, and its clock would have to be moved before the next prompt.
        parts.holdsBackCancelledApps = false
        parts.report = report
        services = try ComposedServices(parts, calls: enclaveEndpoint.connect(), events: enclaveEndpoint.connect())
        let ownerEndpoint = LoopbackEndpoint(router: services.router, peer: daemon)
        self.ownerEndpoint = ownerEndpoint
        owner = try ownerEndpoint.client()
        // Without its enclave touchstoned ends, and its connections with it.
        try services.begin { ownerEndpoint.stop() }
    }

    /// The program with which the owner drives the device.
    private static let program = AppIdentity(
        identifier: "process:owner", evidence: .process, name: "owner", processID: getpid(), userID: getuid())

    /// Returns once what was wrapped anew is in its rows.
    func settleRewrapping() { services.settleRewrapping() }

    /// Evaluations that wait for another app's prompt to go.
    var waitingEvaluations: Int { services.authentication.waitingEvaluations }
    func holdBackCancelledApps() { services.authentication.holdBackCancelledApps() }

    /// Simulated fingers that wait for their prompt to count.
    var earlyTouches: Int { services.authentication.earlyTouches }
    /// The identifier of the prompt that is up.
    var prompt: String? { services.authentication.prompt?.identifier }

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

    /// Ends everything that waits, as a daemon does that is stopped.
    func stop() {
        services.end()
        halt()
    }

    /// As a power cut does.
    func halt() {
        services.leaveEnclave()
        ownerEndpoint.stop()
        enclaveEndpoint.stop()
    }

    /// Ends the enclave alone, as its process does that is killed.
    func endEnclave() { enclaveEndpoint.stop() }
}
