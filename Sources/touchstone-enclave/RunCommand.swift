import ArgumentParser
import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneFileRoot
import TouchstoneSensors
import TouchstoneSystem
import TouchstoneTPMRoot
import TouchstoneTransport

/// Runs a device's enclave until touchstoned is gone.
///
/// What a device is was decided when it was created: no option here has a say in it.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs a device's enclave until touchstoned is gone.",
        discussion: """
            `touchstone device boot` starts it, with touchstoned on file descriptors 3 (calls) and 4 (events):
              touchstone-enclave run --state ~/device/enclave

            systemd starts it for one user's device under a user of its own, and passes it the socket that touchstoned connects to:
              touchstone-enclave run --state /var/lib/touchstone/1000/enclave --owner 1000 --client touchstone --public /var/lib/touchstone/1000/public
            """)

    @OptionGroup var stateOptions: StateOptions
    @Option(
        help: ArgumentHelp(
            "The directory that records how far the state has come. While it exists, an older state that was put back is refused.",
            valueName: "directory"), transform: { URL(fileURLWithPath: $0) })
    var runtime: URL?
    @Option(help: ArgumentHelp("A device of the system's: its owner.", valueName: "uid"))
    var owner: UInt32?
    @Option(
        help: ArgumentHelp(
            "A device of the system's: as whom touchstoned connects, first and twice.", valueName: "user"))
    var client: String?
    @Option(
        name: .customLong("public"),
        help: ArgumentHelp(
            "A device of the system's: where the key that seals passcodes is published.", valueName: "directory"),
        transform: { URL(fileURLWithPath: $0) })
    var published: URL?
    @Option(
        help: ArgumentHelp(
            "The D-Bus of the login service. The device locks when the owner's session does, and when the machine goes to sleep. A user's own device with simulated fingers does not lock.",
            valueName: "socket"))
    var logind: String?

    func validate() throws {
        guard [owner == nil, client == nil, published == nil].allSatisfy({ $0 == (owner == nil) }) else {
            throw ValidationError("--owner, --client and --public go together.")
        }
    }

    func run() throws {
        let directory = stateOptions.state
        touchstone_die_with_parent()
        let system = try systemService
        if let owner = owner {
            if let published = published {
                // Whom /etc/passwd does not have a name service may (DEC-061): touchstoned asks it.
                if let name = PasswordFile.system.name(of: owner) {
                    try DeviceOwner.check(owner, isCalled: name, in: published.deletingLastPathComponent())
                }
            }
            UserName.setOwner(owner)
        }
        let paths = EnclaveFiles(directory)
        _ = try EnclaveProgram.lock(directory)
        let (root, counter) = try Self.root(paths, runtime: runtime)
        let report = { @Sendable (line: String) in EnclaveProgram.say(line) }
        let storage = ReservedFile(paths.state)
        if !storage.refill() {
            report("no space could be reserved on the disk, so no passcode can be counted once it is full")
        }
        let watched = Watched()
        let watch = logind.map { path in
            SessionWatch(
                bus: path, isRequired: system != nil, lock: { watched.host.withLock { $0 }?.lockWithSession() },
                report: report)
        }
        let isSystem = system != nil
        let host = try EnclaveHost(
            storage: storage, root: root, clock: BootClock(), counter: counter,
            newPasscodeCost: { Self.newPasscodeCost },
            makeSensor: { source in
                // A device with simulated fingers follows the session from when it has a reader.
                watch?.start()
                return source.sensor
            }, report: report)
        watched.host.withLock { $0 = host }
        Self.publish(try host.passcodePublicKey(), paths, system)
        host.startSensor()
        let service = EnclaveService(host: host)
        let router = VarlinkRouter(
            info: .init(product: "touchstone-enclave", version: TouchstoneVersion.current),
            interfaces: [service.interface])
        // Who stops the device stops both daemons: touchstoned gets a moment to end the log, and ends this process by its own end.
        signal(SIGALRM) { _ in _exit(0) }
        signal(SIGTERM) { _ in alarm(1) }
        if isSystem || !host.hasSimulatedSensor { watch?.start() }
        ServiceManager.notify("READY=1")
        // Waits for its turn like everybody: an enclave that gives nobody a turn is ended.
        ServiceManager.keepAlive { host.answers }
        // What only the start needed; a moment later, so that it is over.
        DispatchQueue.global().asyncAfter(deadline: .now() + 1) { touchstone_return_start_code() }
        let client =
            try system?.accept()
            ?? Client(calls: 3, events: 4, peer: Peer(processID: getppid(), userID: getuid(), identify: { nil }))
        let events = Thread { DescriptorServer(descriptor: client.events, router: router, peer: client.peer).run() }
        events.start()
        DescriptorServer(descriptor: client.calls, router: router, peer: client.peer).run()
        // touchstoned is gone, and with it everybody who could ask for anything.
        host.settle()
    }

    /// Tells this boot's key for passcodes, before anybody is answered.
    ///
    /// A disk that takes nothing, not even the same number of bytes in the old key's place, keeps nobody from what opens without a
    /// passcode: what is sealed to the old key is refused as that.
    private static func publish(_ key: Data, _ paths: EnclaveFiles, _ system: SystemService?) {
        do {
            if let system {
                try PublicFile(EnclaveFiles(system.published).passcodeKey).write(key)
            } else {
                let file = PrivateFile(paths.passcodeKey)
                do { try file.replaceUntilPowerCut(key) } catch { try file.overwrite(key) }
            }
        } catch {
            EnclaveProgram.say("no passcode can be typed until the next boot: \(error)")
        }
    }

    /// The root of trust that the device was created with, and what remembers how far its state has come.
    static func root(_ paths: EnclaveFiles, runtime: URL?) throws -> (any RootOfTrust, (any RevisionCounter)?) {
        let tpm = PrivateFile(paths.rootTPM)
        guard try tpm.load() != nil else {
            let root = try FileRoot(paths.rootKey)
            return (
                root, try runtime.map { try RevisionFile($0.appendingPathComponent("enclave.revision"), root: root) }
            )
        }
        guard try PrivateFile(paths.rootKey).load() == nil else {
            throw InputError(
                description:
                    "\(paths.directory.path) holds a root.key and a root.tpm, and one of them does not belong to this device"
            )
        }
        let root = try TPMRoot(tpm)
        return (root, root)
    }

    static var newPasscodeCost: PasscodeCost { .calibrated { seconds(CLOCK_THREAD_CPUTIME_ID) } }

    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The device that locks with its owner's session.
private final class Watched: Sendable {
    /// nil: it has not booted yet.
    let host = Mutex<EnclaveHost?>(nil)
}

/// Seconds since boot, sleep included: no wall clock can turn it back.
struct BootClock: TimeSource {
    var now: Double { RunCommand.seconds(CLOCK_BOOTTIME) }
}
