import ArgumentParser
import Foundation
import Glibc
import TouchstoneKeychain
import TouchstoneSystem
import TouchstoneTransport

/// Serves a device until it is told to stop.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves a device; what is done where nothing else is said.")

    @Option(help: "The device's name.")
    var device: String
    @Option(help: ArgumentHelp("The private directory of its state.", valueName: "directory"))
    var state: String
    @Option(help: ArgumentHelp("Where apps are to connect.", valueName: "path"))
    var socket: String?
    @Option(help: ArgumentHelp("A socket that listens there already.", valueName: "number"))
    var listeningFd: Int32?
    @Option(help: ArgumentHelp("The connection to the enclave for calls.", valueName: "number"))
    var enclaveCallsFd: Int32?
    @Option(help: ArgumentHelp("The connection to the enclave for events.", valueName: "number"))
    var enclaveEventsFd: Int32?
    @Option(help: ArgumentHelp("A device of the system's: its owner.", valueName: "uid"))
    var owner: UInt32?
    @Option(help: ArgumentHelp("A device of the system's: where the enclave listens.", valueName: "path"))
    var enclaveSocket: String?
    @Option(help: ArgumentHelp("A device of the system's: where touchstone-peers listens.", valueName: "path"))
    var peersSocket: String?

    /// What is to be served.
    struct Device: Sendable {
        var name: String
        var state: URL
        /// Whose device it is.
        var owner: UInt32
        var surroundings: Surroundings

        /// Who started it, and so where the others are.
        enum Surroundings {
            /// `listening` is a socket that systemd made at `socket`; without one the daemon makes it.
            case supervised(socket: String, listening: Int32?, calls: Int32, events: Int32)
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
            case .supervised(let socket, _, _, _): socket
            case .system: "the socket that was passed"
            }
        }
    }

    func validate() throws {
        let supervised: [Any?] = [socket, enclaveCallsFd, enclaveEventsFd]
        let system: [Any?] = [owner, enclaveSocket, peersSocket]
        let isAll = { (options: [Any?]) in options.allSatisfy { $0 != nil } }
        let isNone = { (options: [Any?]) in options.allSatisfy { $0 == nil } }
        guard isAll(supervised) && isNone(system) || isAll(system) && isNone(supervised + [listeningFd]) else {
            throw ValidationError(
                "Either --socket, --enclave-calls-fd and --enclave-events-fd, or --owner, --enclave-socket and --peers-socket."
            )
        }
    }

    func run() throws {
        let device = try described()
        do {
            try Daemon(device).run()
        } catch let error as KeychainStoreError {
            DaemonProgram.fail("\(error)", EX_CONFIG)
        } catch let error as UnsafeDirectory {
            DaemonProgram.fail("\(error)", EX_CONFIG)
        } catch let error as DeviceOwner.Changed {
            DaemonProgram.fail("\(error)", EX_CONFIG)
        } catch {
            DaemonProgram.fail("cannot serve \(device.socket): \(error)", EX_TEMPFAIL)
        }
    }

    /// - Throws: `ValidationError` where systemd was to pass a socket and has not.
    private func described() throws -> Device {
        let state = URL(fileURLWithPath: state)
        if let socket, let calls = enclaveCallsFd, let events = enclaveEventsFd {
            return Device(
                name: device, state: state, owner: getuid(),
                surroundings: .supervised(socket: socket, listening: listeningFd, calls: calls, events: events))
        }
        guard let owner, let enclaveSocket, let peersSocket, let listening = ServiceManager.takeSockets().first else {
            throw ValidationError("With --owner systemd has to pass the socket that apps connect to.")
        }
        return Device(
            name: device, state: state, owner: owner,
            surroundings: .system(listening: listening, enclave: enclaveSocket, peers: peersSocket))
    }
}
