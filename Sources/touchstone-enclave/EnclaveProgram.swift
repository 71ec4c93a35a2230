import CTouchstoneSystem
import CTouchstoneWiping
import Crypto
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSensors
import TouchstoneTPMRoot
import TouchstoneTransport

/// The process that holds the keys and judges the owner.
///
/// It has no database, opens no socket but to its sensor's bus, and hears only touchstoned and its sensor.
@main
enum EnclaveProgram {
    static let usage = """
        usage: touchstone-enclave create --state DIRECTORY [--simulated] --biometry touchid|faceid|none
                                        [--sensor fprintd --bus SOCKET --templates DIRECTORY]
                                        [--sensor pam:SERVICE [--services DIRECTORY] [--allow biometry-any]]
                                        [--tpm device:PATH|swtpm:path=SOCKET [--keys tpm]]
               touchstone-enclave run --state DIRECTORY [--runtime DIRECTORY]
                                      [--owner UID --client USER --public DIRECTORY [--logind SOCKET]]
               touchstone-enclave recover --state DIRECTORY [--tpm …]
               touchstone-enclave forget --state DIRECTORY

        create makes the root key and the first state of a device in an empty private directory. With a sensor the
        fingers are not simulated. A device that is not simulated has such a sensor or no sensor. fprintd on the D-Bus
        at SOCKET reports the fingers, and keeps them in DIRECTORY.
        A PAM service, whose file is in DIRECTORY or the system's directory, says whether it knows the user. It is
        weak, so it counts as biometry only with --allow biometry-any, and never as the current set.
        With --tpm the root key is sealed in that TPM 2.0, and the recovery key is written to standard output, only
        this once. With --keys tpm the P-256 keys of apps are made and used in the TPM, and are lost with it.
        recover moves such a device to another TPM, or to the same one after it was cleared. The first line of
        standard input is the recovery key. If a passcode is set, the next line is the passcode. forget removes what
        the device has in its TPM.
        run serves touchstoned on file descriptors 3 (calls) and 4 (events). `touchstone device boot` starts it this
        way.
        With --owner it serves that user's device as a separate user. It serves the process of USER that connects
        first, twice, to the socket that systemd passes. The key for sealing passcodes is then in the public
        directory. With --logind it locks when the owner's session locks, or the machine goes to sleep, as the login
        service on the D-Bus at SOCKET says.
        With --runtime an older state that was put back is refused for as long as that directory lives.
        Exit status: 0 stopped, 64 usage, 70 internal, 78 the state cannot be used as it is.
        """

    static func main() {
        let hardened = touchstone_harden_process()
        guard hardened == 0 else { fail("cannot harden this process (errno \(hardened))", EX_SOFTWARE) }
        _ = touchstone_wipes_memory()
        _ = touchstone_lock_all_memory()
        do {
            var arguments = CommandLine.arguments.dropFirst()
            switch (arguments.popFirst(), try Options(arguments)) {
            case ("create", let options): try create(options)
            case ("run", let options): try run(options)
            case ("recover", let options): try recover(options)
            case ("forget", let options): try forget(options)
            case ("--help", _), ("-h", _): print(usage)
            default: throw UsageError()
            }
        } catch is UsageError {
            fail(usage, EX_USAGE)
        } catch let error as EnclaveStateError {
            switch error {
            case .missing: fail("there is no state file; create the device first", EX_CONFIG)
            case .corrupt:
                fail("the state file belongs to another device or was changed; nothing was done to it", EX_CONFIG)
            case .rolledBack:
                fail(
                    "the state file is older than one that was here before. It was put back from a copy, which would give passcode "
                        + "tries back. Put the newest one in its place. To continue with this one instead, restart the machine or log out; "
                        + "if the device is bound to a TPM, run 'touchstone device recover' with its recovery key",
                    EX_CONFIG)
            case .newer(let version): fail("the state file has version \(version); update Touchstone", EX_CONFIG)
            }
        } catch {
            fail("\(error)", EX_CONFIG)
        }
    }

    struct UsageError: Error {}

    struct Options {
        var state: URL?
        var runtime: URL?
        var isSimulated = false
        var biometry: BiometryType?
        var sensor: SensorOptions?
        var tpm: String?
        var areKeysInTPM = false
        var owner: UInt32?
        var client: String?
        var published: URL?
        var logind: String?

        /// Whether something was said of the system service.
        var isOfSystem: Bool { owner != nil || client != nil || published != nil || logind != nil }

        init(_ arguments: ArraySlice<String>) throws {
            var rest = arguments
            while let option = rest.popFirst() {
                switch option {
                case "--state": state = rest.popFirst().map { URL(fileURLWithPath: $0) }
                case "--runtime":
                    guard let directory = rest.popFirst() else { throw UsageError() }
                    runtime = URL(fileURLWithPath: directory)
                case "--tpm":
                    guard let address = rest.popFirst() else { throw UsageError() }
                    tpm = address
                case "--keys":
                    guard rest.popFirst() == "tpm" else { throw UsageError() }
                    areKeysInTPM = true
                case "--owner":
                    guard let id = rest.popFirst().flatMap(UInt32.init) else { throw UsageError() }
                    owner = id
                case "--client": client = rest.popFirst()
                case "--public": published = rest.popFirst().map { URL(fileURLWithPath: $0) }
                case "--logind": logind = rest.popFirst()
                case "--simulated": isSimulated = true
                case "--biometry":
                    let types = ["touchid": BiometryType.touchID, "faceid": .faceID, "none": .none]
                    guard let type = types[rest.popFirst() ?? ""] else { throw UsageError() }
                    biometry = type
                case "--sensor", "--bus", "--templates", "--services", "--allow":
                    guard let value = rest.popFirst() else { throw UsageError() }
                    sensor = try SensorOptions(option, value, beside: sensor)
                default: throw UsageError()
                }
            }
        }
    }

    static func create(_ options: Options) throws {
        guard let state = options.state, options.runtime == nil, let biometry = options.biometry,
            !options.isOfSystem, options.tpm != nil || !options.areKeysInTPM,
            // What is not simulated has no simulated finger.
            options.isSimulated || options.sensor != nil || biometry == .none
        else {
            throw UsageError()
        }
        let sensor = try options.sensor?.source(of: biometry)
        let paths = EnclaveFiles(state)
        let lock = try lock(state)
        defer { close(lock) }
        for file in [paths.state, paths.rootKey, paths.rootTPM] where try PrivateFile(file).load() != nil {
            throw InputError(description: "\(file.path) already exists, and a new device does not overwrite it")
        }
        guard let address = options.tpm else {
            try FileRoot.create(paths.rootKey)
            let root = try FileRoot(paths.rootKey)
            try PrivateFile(paths.state).replace(
                Enclave.create(isSimulated: options.isSimulated, biometryType: biometry, sensor: sensor, root: root))
            return
        }
        let recoveryKey = RecoveryKey()
        let root = try TPMRoot.create(PrivateFile(paths.rootTPM), address: address, recoveryKey: recoveryKey)
        do {
            try PrivateFile(paths.state).replace(
                Enclave.create(
                    isSimulated: options.isSimulated, biometryType: biometry, sensor: sensor, root: root,
                    revision: root.read(), recoveryKey: recoveryKey.privateKey.publicKey.rawRepresentation,
                    areKeysHeld: options.areKeysInTPM))
            // Last, and it must arrive: nobody can ask for it again.
            let text = recoveryKey.text.joined(with: SecretBytes([0x0A]))
            let isShown = unsafe text.withUnsafeBytes {
                unsafe write(STDOUT_FILENO, $0.baseAddress!, $0.count) == $0.count
            }
            guard isShown else {
                throw InputError(description: "the recovery key cannot be written to standard output")
            }
        } catch {
            try? root.forget()
            throw error
        }
    }

    struct InputError: Error, CustomStringConvertible { let description: String }

    static func recover(_ options: Options) throws {
        guard let directory = options.state, options.runtime == nil, !options.isSimulated, options.biometry == nil,
            options.sensor == nil, !options.areKeysInTPM, !options.isOfSystem
        else { throw UsageError() }
        let paths = EnclaveFiles(directory)
        let lock = try lock(directory)
        defer { close(lock) }
        let file = PrivateFile(paths.state)
        guard let state = try file.load() else { throw EnclaveStateError.missing }
        guard let recoveryKey = RecoveryKey(text: try line("Recovery key: ")) else {
            throw InputError(
                description: "that is not a recovery key, which has 32 letters and digits in groups of four")
        }
        let recovering = PrivateFile(paths.recoveringTPM)
        defer { if (try? recovering.load())?.isEmpty == true { unsafe unlink(paths.recoveringTPM.path) } }
        try TPMRoot.recover(
            PrivateFile(paths.rootTPM), recovering: recovering, address: options.tpm,
            recoveryKey: recoveryKey
        ) { root, revision in
            let passcode = try Enclave.hasPasscode(stateFile: state, root: root) ? line("Passcode: ") : nil
            try file.replace(
                Enclave.recovered(
                    stateFile: state, root: root, recoveryKey: recoveryKey.privateKey, passcode: passcode,
                    revision: revision))
        }
    }

    static func forget(_ options: Options) throws {
        guard let directory = options.state, options.runtime == nil, !options.isSimulated, options.biometry == nil,
            options.sensor == nil, options.tpm == nil, !options.areKeysInTPM, !options.isOfSystem
        else { throw UsageError() }
        let lock = try lock(directory)
        defer { close(lock) }
        let paths = EnclaveFiles(directory)
        let recovering = Result { try TPMRoot.forget(PrivateFile(paths.recoveringTPM)) }
        try TPMRoot.forget(PrivateFile(paths.rootTPM))
        try recovering.get()
    }

    /// One line of standard input, byte by byte: no buffer of a library's keeps a copy.
    static func line(_ question: String) throws -> SecretBytes {
        if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data(question.utf8)) }
        defer { if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data("\n".utf8)) } }
        var bytes = ContiguousArray<UInt8>(repeating: 0, count: maximumLine)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        var count = 0
        while count < maximumLine {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(STDIN_FILENO, $0.baseAddress! + count, 1)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 || count > 0 else {
                throw InputError(description: "standard input ended before the answer")
            }
            if got == 0 || bytes[count] == 0x0A { break }
            count += 1
        }
        return SecretBytes(bytes.prefix(count))
    }

    private static let maximumLine = 512

    /// Held for as long as this process lives: two enclaves over one state would each undo what the other counted.
    static func lock(_ directory: URL) throws -> Int32 {
        try PrivateFile.checkPrivate(directory: directory)
        let lock = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            fail("another enclave already uses \(directory.path)", EX_CONFIG)
        }
        return lock
    }

    static func run(_ options: Options) throws {
        // What a device is was decided when it was created: `run` has no say in it.
        guard let directory = options.state, !options.isSimulated, options.biometry == nil, options.sensor == nil,
            options.tpm == nil, !options.areKeysInTPM
        else { throw UsageError() }
        touchstone_die_with_parent()
        let system = try options.system
        if let owner = options.owner {
            if let published = options.published {
                // Whom /etc/passwd does not have a name service may (DEC-061): touchstoned asks it.
                if let name = PasswordFile.system.name(of: owner) {
                    try DeviceOwner.check(owner, isCalled: name, in: published.deletingLastPathComponent())
                }
            }
            UserName.setOwner(owner)
        }
        let paths = EnclaveFiles(directory)
        _ = try lock(directory)
        let (root, counter) = try root(paths, runtime: options.runtime)
        let report = { @Sendable (line: String) in
            FileHandle.standardError.write(Data("touchstone-enclave: \(line)\n".utf8))
        }
        let storage = ReservedFile(paths.state)
        if !storage.refill() {
            report("no space could be reserved on the disk, so no passcode can be counted once it is full")
        }
        let host = try EnclaveHost(
            storage: storage, root: root, clock: BootClock(), counter: counter,
            newPasscodeCost: { Self.newPasscodeCost }, report: report)
        publish(try host.passcodePublicKey(), paths, system)
        if let source = host.sensorSource { host.start(source.sensor) }
        let service = EnclaveService(host: host)
        let router = VarlinkRouter(
            info: .init(product: "touchstone-enclave", version: TouchstoneVersion.current),
            interfaces: [service.interface])
        // Who stops the device stops both daemons: touchstoned gets a moment to end the log, and ends this process by its own end.
        signal(SIGALRM) { _ in _exit(0) }
        signal(SIGTERM) { _ in alarm(1) }
        if let path = options.logind {
            SessionWatch(
                bus: path, lock: { host.lockWithSession() },
                report: { FileHandle.standardError.write(Data("touchstone-enclave: \($0)\n".utf8)) }
            ).start()
        }
        ServiceManager.notify("READY=1")
        // Waits for its turn like everybody: an enclave that gives nobody a turn is ended.
        ServiceManager.keepAlive { host.answers }
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
                do { try file.replace(key) } catch { try file.overwrite(key) }
            }
        } catch {
            FileHandle.standardError.write(
                Data("touchstone-enclave: no passcode can be typed until the next boot: \(error)\n".utf8))
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

    static func fail(_ message: String, _ status: Int32) -> Never {
        FileHandle.standardError.write(Data("touchstone-enclave: \(message)\n".utf8))
        exit(status)
    }
}

/// Seconds since boot, sleep included: no wall clock can turn it back.
struct BootClock: TimeSource {
    var now: Double { EnclaveProgram.seconds(CLOCK_BOOTTIME) }
}
