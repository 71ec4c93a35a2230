import Dispatch
import Foundation
import Glibc
import Logging
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneKeychain
import TouchstonePeers
import TouchstoneServices
import TouchstoneSocketServer
import TouchstoneSystem
import TouchstoneTransport

/// One device being served.
final class Daemon: Sendable {
    private let options: ServeCommand.Device
    private let log = Logger(label: "touchstoned")
    private let services: ComposedServices
    private let ending = Ending()
    private let freedMemory = FreedMemory()
    private let hasRoom: Bool

    init(_ options: ServeCommand.Device) throws {
        try UnsafeDirectory.check(options.state)
        self.options = options
        let calls: any VarlinkChannel
        let events: any VarlinkChannel
        switch options.surroundings {
        case .supervised(_, _, let callsDescriptor, let eventsDescriptor):
            calls = SocketChannel(descriptor: callsDescriptor)
            events = SocketChannel(descriptor: eventsDescriptor)
        case .system(_, let path, _):
            try DeviceOwner.check(options.owner, in: options.state.deletingLastPathComponent())
            // The enclave takes the first connection for calls and the second for events, and then no other.
            calls = try SocketEndpoint(path: path).connect()
            events = try SocketEndpoint(path: path).connect()
        }
        let store = try KeychainStore(file: options.keychain)
        hasRoom = store.hasRoom
        var parts = ComposedServices.Parts(
            name: options.name, ownerID: options.owner, store: store, log: LogFiles(directory: options.state))
        parts.journal = Journal(device: options.name, environment: ProcessInfo.processInfo.environment)
        parts.afterLargeResults = { [freedMemory] in freedMemory.giveBack() }
        parts.report = { [log] in log.error("\($0)") }
        parts.reboot = { [ending] in ending.end(EX_TEMPFAIL) }
        services = try ComposedServices(parts, calls: calls, events: events)
    }

    /// Serves until it is told to stop, or the enclave is gone.
    func run() throws -> Never {
        // The supervisor boots the device anew.
        try services.begin { [log, ending] in
            log.error("the enclave is gone")
            ending.end(EX_TEMPFAIL)
        }
        if let notice = services.notice { log.warning("\(notice)") }
        if !hasRoom { log.warning("the disk has no room to set aside: deletions may fail once it is full") }
        ending.onEnd { [services] in services.end() }
        let report = { @Sendable [log] (line: String) in log.warning("\(line)") }
        ending.serve(try serve(report))
        ServiceManager.notify("READY=1")
        ServiceManager.keepAlive { [services] in services.answers }
        freedMemory.giveBackStart()
        log.info("serving", metadata: ["device": "\(options.name)", "socket": "\(options.socket)"])
        signal(SIGTERM, SIG_IGN)
        let terminate = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        terminate.setEventHandler { [ending] in ending.end(EX_OK) }
        terminate.resume()
        dispatchMain()
    }

    private func serve(_ report: @escaping @Sendable (String) -> Void) throws -> SocketServer {
        var configuration = SocketServer.Configuration()
        configuration.afterLargeMessages = { [freedMemory] in freedMemory.giveBack() }
        switch options.surroundings {
        case .system(let listening, _, let peers):
            return try SocketServer(
                listening: listening, router: services.router,
                identities: RemotePeerIdentities(
                    path: peers, ownerID: options.owner, programs: OwnerPrograms(report: report), report: report),
                configuration: configuration)
        case .supervised(let socket, let listening, _, _):
            let manifests = AppManifests(
                services.isSimulated
                    ? AppManifests.simulated(state: options.state, owner: options.owner) : AppManifests.system,
                report: report)
            let identities = PeerIdentities(
                ownerID: options.owner, manifests: manifests, readsElsewhere: true, report: report)
            if let listening {
                return try SocketServer(
                    listening: listening, router: services.router, identities: identities, configuration: configuration)
            }
            let server = try SocketServer(
                path: socket, router: services.router, identities: identities, configuration: configuration)
            unsafe chmod(socket, 0o600)
            return server
        }
    }
}
