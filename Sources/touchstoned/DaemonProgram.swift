import CTouchstoneSystem
import CTouchstoneWiping
import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneKeychain
import TouchstoneSocketServer
import TouchstoneTransport

/// The process that apps reach: items, queries, policies and prompts.
///
/// It holds ciphertext, and asks the enclave for everything else.
@main
enum DaemonProgram {
    static let usage = """
        usage: touchstoned --device NAME --state DIRECTORY --socket PATH --enclave-calls-fd N --enclave-events-fd N
               touchstoned --device NAME --state DIRECTORY --owner UID --enclave-socket PATH --peers-socket PATH
               touchstoned check --keychain FILE [--repair]
               touchstoned app --executable FILE [--state DIRECTORY]

        Serves one device. `touchstone device boot` starts it beside its touchstone-enclave, connected by two socket pairs.
        With --owner it serves that user's device under a user of its own, on the socket that systemd passes: it connects to the enclave, and
        has touchstone-peers look at who connects.
        Then the owner's interface is for the programs that files NAME.conf in /etc/touchstone/owner-programs.d and
        /usr/lib/touchstone/owner-programs.d list: the path of an executable, or unit:NAME.service, on each line.
        With check it looks for damage in the database of a device that is off; `touchstone keychain check` starts it.
        With app it says who the processes of an executable are, as JSON, with the manifests of the device whose state is in DIRECTORY;
        `touchstone doctor --app` starts it.
        Exit status: 0 stopped, or nothing is damaged (any more), 1 damage was found, 64 usage, 75 the enclave is gone or a reboot was asked for, 78 the state cannot be used as it is.
        """

    static func main() {
        let hardened = touchstone_harden_process()
        guard hardened == 0 else { fail("cannot harden this process (errno \(hardened))", EX_SOFTWARE) }
        touchstone_die_with_parent()
        touchstone_raise_file_limit()
        touchstone_return_large_blocks()
        _ = touchstone_wipes_memory()
        _ = touchstone_lock_all_memory()
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        if CommandLine.arguments.contains(where: { $0 == "--help" || $0 == "-h" }) {
            print(usage)
            exit(EX_OK)
        }
        if CommandLine.arguments.dropFirst().first == "check" { check(CommandLine.arguments.dropFirst(2)) }
        if CommandLine.arguments.dropFirst().first == "app" { describeApp(CommandLine.arguments.dropFirst(2)) }
        guard let options = Options(CommandLine.arguments.dropFirst()) else { fail(usage, EX_USAGE) }
        do {
            try Daemon(options).run()
        } catch let error as KeychainStoreError {
            fail("\(error)", EX_CONFIG)
        } catch let error as UnsafeDirectory {
            fail("\(error)", EX_CONFIG)
        } catch let error as DeviceOwner.Changed {
            fail("\(error)", EX_CONFIG)
        } catch {
            fail("cannot serve \(options.socket): \(error)", EX_TEMPFAIL)
        }
    }

    struct Options {
        var device: String
        var state: URL
        /// Whose device it is.
        var owner: UInt32
        var surroundings: Surroundings

        /// Who started it, and so where the others are.
        enum Surroundings {
            case supervised(socket: String, calls: Int32, events: Int32)
            case system(listening: Int32, enclave: String, peers: String)
        }

        var keychain: URL {
            switch surroundings {
            case .supervised: state.appendingPathComponent("keychain").appendingPathComponent("keychain.db")
            case .system: state.appendingPathComponent("keychain.db")
            }
        }

        var socket: String {
            switch surroundings {
            case .supervised(let socket, _, _): socket
            case .system: "the socket that was passed"
            }
        }

        init?(_ arguments: ArraySlice<String>) {
            var values: [String: String] = [:]
            var rest = arguments
            while let option = rest.popFirst() {
                guard let value = rest.popFirst() else { return nil }
                values[option] = value
            }
            guard let device = values["--device"], let state = values["--state"], values.count == 5 else { return nil }
            self.device = device
            self.state = URL(fileURLWithPath: state)
            if let socket = values["--socket"], let calls = values["--enclave-calls-fd"].flatMap(Int32.init),
                let events = values["--enclave-events-fd"].flatMap(Int32.init)
            {
                owner = getuid()
                surroundings = .supervised(socket: socket, calls: calls, events: events)
            } else if let owner = values["--owner"].flatMap(UInt32.init), let enclave = values["--enclave-socket"],
                let peers = values["--peers-socket"], let listening = ServiceManager.takeSockets().first
            {
                self.owner = owner
                surroundings = .system(listening: listening, enclave: enclave, peers: peers)
            } else {
                return nil
            }
        }
    }

    /// Checks a database file that nobody has open.
    static func check(_ arguments: ArraySlice<String>) -> Never {
        guard arguments.count >= 2, arguments.first == "--keychain",
            [[], ["--repair"]].contains(arguments.dropFirst(2))
        else { fail(usage, EX_USAGE) }
        let file = KeychainFile(URL(fileURLWithPath: arguments[arguments.startIndex + 1]))
        do {
            let problems = try file.problems()
            for problem in problems { print("database: \(problem)") }
            guard !problems.isEmpty else {
                print("the database is whole; boot the device to have its items checked")
                exit(EX_OK)
            }
            guard arguments.count > 2 else { exit(EXIT_FAILURE) }
            let repaired = try file.repair()
            print("\(repaired.items) items are in a fresh database; the old one is kept in \(repaired.kept.path)")
            exit(EX_OK)
        } catch let error as KeychainStoreError {
            fail("\(error)", EX_CONFIG)
        } catch {
            fail("\(file.url.path) cannot be checked: \(error)", EX_SOFTWARE)
        }
    }

    /// Says who the processes of an executable are to a device of this user's, or to the system's without a state directory.
    static func describeApp(_ arguments: ArraySlice<String>) -> Never {
        let words = Array(arguments)
        guard [2, 4].contains(words.count), words[0] == "--executable", words.count == 2 || words[2] == "--state" else {
            fail(usage, EX_USAGE)
        }
        let directories =
            words.count == 2
            ? AppManifests.system : AppManifests.simulated(state: URL(fileURLWithPath: words[3]), owner: getuid())
        let unused = Mutex<[String]>([])
        let identities = PeerIdentities(
            ownerID: getuid(),
            manifests: AppManifests(directories) { line in unused.withLock { $0.append(line) } }, report: { _ in })
        var description = identities.description(ofExecutable: words[1], userID: getuid())
        description.unusedManifests = unused.withLock { $0 }
        guard let json = try? JSONEncoder().encode(description) else { fail("it cannot be said", EX_SOFTWARE) }
        FileHandle.standardOutput.write(json)
        exit(EX_OK)
    }

    static func fail(_ message: String, _ status: Int32) -> Never {
        FileHandle.standardError.write(Data("touchstoned: \(message)\n".utf8))
        exit(status)
    }
}

/// One device being served.
final class Daemon: Sendable {
    private let options: DaemonProgram.Options
    private let log = Logger(label: "touchstoned")
    private let enclave: VarlinkClient
    private let events: VarlinkClient
    private let trace = MessageTrace()
    private let keychain: KeychainService
    private let keys: KeyService
    private let backup: BackupService
    private let inspector: InspectorService
    private let authentication: AuthenticationService
    private let device: DeviceService
    private let deviceLog: DeviceLog
    private let ending: Ending
    private let freedMemory = FreedMemory()
    private let hasRoom: Bool

    init(_ options: DaemonProgram.Options) throws {
        try UnsafeDirectory.check(options.state)
        self.options = options
        switch options.surroundings {
        case .supervised(_, let calls, let events):
            enclave = VarlinkClient(SocketChannel(descriptor: calls), trace: trace)
            self.events = VarlinkClient(SocketChannel(descriptor: events), trace: trace)
        case .system(_, let path, _):
            try DeviceOwner.check(options.owner, in: options.state.deletingLastPathComponent())
            // The enclave takes the first connection for calls and the second for events, and then no other.
            enclave = VarlinkClient(try SocketEndpoint(path: path).connect(), trace: trace)
            events = VarlinkClient(try SocketEndpoint(path: path).connect(), trace: trace)
        }
        let store = try KeychainStore(file: options.keychain)
        hasRoom = store.hasRoom
        let contexts = ContextOwners()
        let refusals = RefusalNotes(enclave: enclave)
        let clock = DeviceClock()
        let keychain = try KeychainService(
            store: store, enclave: enclave, contexts: contexts, refusals: refusals,
            afterLargeResults: { [freedMemory] in freedMemory.giveBack() }, now: { clock.date })
        let ending = Ending()
        self.ending = ending
        self.keychain = keychain
        keys = KeyService(enclave: enclave, contexts: contexts, refusals: refusals)
        backup = try BackupService(store: store, enclave: enclave, ownerID: options.owner, now: { clock.date })
        let inspector = try InspectorService(
            store: store, keychain: keychain, enclave: enclave, trace: trace, ownerID: options.owner)
        self.inspector = inspector
        authentication = AuthenticationService(
            enclave: enclave, ownerID: options.owner, contexts: contexts, refusals: refusals,
            report: { [log] in log.error("\($0)") }, now: { clock.now })
        let deviceLog = DeviceLog(
            storage: LogFiles(directory: options.state), enclave: enclave, refusals: refusals,
            journal: Journal(device: options.device, environment: ProcessInfo.processInfo.environment),
            report: { [log] in log.error("\($0)") })
        self.deviceLog = deviceLog
        device = DeviceService(
            name: options.device, enclave: enclave, authentication: authentication, log: deviceLog, clock: clock,
            ownerID: options.owner,
            keysChanged: {
                defer { inspector.changed() }
                try keychain.refreshKeys()
            },
            environmentChanged: { inspector.changed() },
            reboot: { ending.end(EX_TEMPFAIL) })
    }

    /// Serves until it is told to stop, or the enclave is gone.
    func run() throws -> Never {
        let router = VarlinkRouter(
            info: .init(product: "touchstoned", version: TouchstoneVersion.current),
            interfaces: [
                keychain.interface, keys.interface, backup.interface, device.interface, inspector.interface,
            ] + authentication.interfaces, trace: trace)
        watchEnclave()
        try deviceLog.begin()
        // A keychain that cannot be read is served all the same: each call says so.
        if let notice = try? backup.notice() { log.warning("\(notice)") }
        if !hasRoom { log.warning("the disk has no room to set aside: deletions may fail once it is full") }
        ending.onEnd { [deviceLog] in deviceLog.end() }
        let report = { @Sendable [log] (line: String) in log.warning("\(line)") }
        ending.serve(try serve(router, report))
        ServiceManager.notify("READY=1")
        ServiceManager.keepAlive { [enclave] in
            (try? enclave.call(EnclaveInterface.GetFacts.self, .init(app: ""))) != nil
        }
        log.info("serving", metadata: ["device": "\(options.device)", "socket": "\(options.socket)"])
        signal(SIGTERM, SIG_IGN)
        let terminate = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        terminate.setEventHandler { [ending] in ending.end(EX_OK) }
        terminate.resume()
        dispatchMain()
    }

    private func serve(_ router: VarlinkRouter, _ report: @escaping @Sendable (String) -> Void) throws -> SocketServer {
        var configuration = SocketServer.Configuration()
        configuration.afterLargeMessages = { [freedMemory] in freedMemory.giveBack() }
        switch options.surroundings {
        case .system(let listening, _, let peers):
            return try SocketServer(
                listening: listening, router: router,
                identities: RemotePeerIdentities(
                    path: peers, ownerID: options.owner, programs: OwnerPrograms(report: report), report: report),
                configuration: configuration)
        case .supervised(let socket, _, _):
            let isSimulated = try enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts.isSimulated
            let manifests = AppManifests(
                isSimulated ? AppManifests.simulated(state: options.state, owner: options.owner) : AppManifests.system,
                report: report)
            let server = try SocketServer(
                path: socket, router: router,
                identities: PeerIdentities(
                    ownerID: options.owner, manifests: manifests, readsElsewhere: true, report: report),
                configuration: configuration)
            unsafe chmod(socket, 0o600)
            return server
        }
    }

    /// Reads the enclave's events until it is gone; then tells whoever waits, and ends: the supervisor boots the device anew.
    ///
    /// Returns once the enclave has begun to tell them: what is asked before that could wait for an answer that nobody hears.
    private func watchEnclave() {
        let isWatching = DispatchGroup()
        isWatching.enter()
        let thread = Thread { [self] in
            var isFirst = true
            try? events.stream(EnclaveInterface.WatchEvents.self, Empty()) { event in
                if isFirst { isWatching.leave() }
                isFirst = false
                authentication.handle(event)
                device.handle(event)
                keys.handle(event)
                return true
            }
            if isFirst { isWatching.leave() }
            log.error("the enclave is gone")
            enclave.close()
            authentication.enclaveLost()
            device.enclaveLost()
            keys.enclaveLost()
            ending.end(EX_TEMPFAIL)
        }
        thread.start()
        isWatching.wait()
    }
}

/// The device's directory is open to others: who can write to it can put another enclave or keychain in place of ours.
private struct UnsafeDirectory: Error, CustomStringConvertible {
    let description: String

    /// - Throws: `UnsafeDirectory` where it is not a directory of this user's alone.
    static func check(_ directory: URL) throws {
        var status = stat()
        guard unsafe lstat(directory.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw Self(description: "\(directory.path) is not a directory")
        }
        guard status.st_uid == geteuid() else { throw Self(description: "\(directory.path) belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw Self(description: "\(directory.path) can be read by others: run chmod go-rwx on it if nobody has")
        }
    }
}

/// Gives back to the system what was freed, a moment after much was, so that a burst of large messages costs it once.
private final class FreedMemory: Sendable {
    private let isDue = Atomic(false)
    private let queue = DispatchQueue(label: "io.touchstone.freed-memory")
    /// Seconds.
    private static let moment = 1.0

    func giveBack() {
        guard !isDue.exchange(true, ordering: .relaxed) else { return }
        queue.asyncAfter(deadline: .now() + Self.moment) { [self] in
            isDue.store(false, ordering: .relaxed)
            touchstone_return_free_memory()
        }
    }
}

/// Ends the process once: answers that were given reach their clients first.
private final class Ending: Sendable {
    private struct Steps {
        var server: SocketServer?
        var last: (@Sendable () -> Void)?
    }

    private let steps = Mutex(Steps())
    private let queue = DispatchQueue(label: "io.touchstone.ending")

    func serve(_ server: SocketServer) { steps.withLock { $0.server = server } }

    /// What is done when nobody is answered any more.
    func onEnd(_ body: @escaping @Sendable () -> Void) { steps.withLock { $0.last = body } }

    /// Returns at once, so that whoever calls it can finish answering.
    func end(_ status: Int32) {
        queue.async { [self] in
            steps.withLock { $0.server }?.stop()
            steps.withLock { $0.last }?()
            exit(status)
        }
    }
}
