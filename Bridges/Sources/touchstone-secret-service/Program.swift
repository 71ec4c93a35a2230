import ArgumentParser
import BridgeBus
import BridgeCore
import BridgeProcesses
import CTouchstoneWiping
import Foundation
import TouchstoneDevice

/// The Secret Service of desktops, with a grant for each program.
@main struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-secret-service",
        abstract: "Keep the passwords of desktop programs; the owner is asked before another program gets one.",
        discussion: """
            Programs find it as org.freedesktop.secrets on the session bus. The device is that of TOUCHSTONE_DEVICE.
            'touchstone bridge enable secret-service' brings in what gnome-keyring keeps, and starts it with the session.

            EXAMPLE
              touchstone-secret-service --bus "unix:path=$XDG_RUNTIME_DIR/bus"
            """,
        version: BridgeVersion.current,
        subcommands: [
            ServeCommand.self, ImportCommand.self, ExportCommand.self, OwnerCommand.self, GrantsCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)

    static let name = "org.freedesktop.secrets"
}

/// Which bus and which device.
struct Place: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The bus (default: DBUS_SESSION_BUS_ADDRESS, else bus in XDG_RUNTIME_DIR).", valueName: "address"))
    var bus: String?

    /// Hardens the process, and takes the device for this one alone.
    ///
    /// - Throws: `ValidationError`.
    func enter() throws -> (device: Device, connection: BusConnection, protection: BridgeProcess.Protection) {
        _ = touchstone_wipes_memory()
        let protection = BridgeProcess.harden()
        let device = try Self.device()
        BridgeProcess.endsWithSignals {}
        let connection = try connect()
        do throws(DeviceLock.Failure) {
            try DeviceLock.take(device.name)
        } catch {
            switch error {
            case .taken:
                throw ValidationError("another touchstone-secret-service works on the device \(device.name) already")
            case .noDirectory:
                throw ValidationError("XDG_RUNTIME_DIR names no directory in which a file can be made")
            }
        }
        return (device, connection, protection)
    }

    /// The device that is meant.
    ///
    /// - Throws: `ValidationError`.
    static func device() throws -> Device {
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        return device
    }

    /// Connects to the bus.
    ///
    /// - Throws: `ValidationError`.
    func connect() throws -> BusConnection {
        let environment = ProcessInfo.processInfo.environment
        let address =
            bus ?? environment["DBUS_SESSION_BUS_ADDRESS"]
            ?? "unix:path=\(environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(geteuid())")/bus"
        do {
            return try BusConnection(address: address)
        } catch {
            throw ValidationError("there is no bus at \(address)")
        }
    }
}

/// The program that has the name on a bus.
enum NameOwner {
    /// Looks at it, and starts nobody.
    ///
    /// - Returns: Its process, and the path of its program, also where an upgrade removed that; nil where nobody can tell.
    static func find(_ connection: BusConnection) -> (process: ClientProcess?, path: String?) {
        let process = connection.peer(of: Program.name).flatMap { ClientProcess(processID: $0.processID) }
        guard let path = process?.executable else { return (process, nil) }
        let gone = " (deleted)"
        return (process, path.hasSuffix(gone) ? String(path.dropLast(gone.count)) : path)
    }

    /// Whether a program gives way (SS-51).
    static func givesWay(_ path: String?) -> Bool { path?.hasSuffix("/gnome-keyring-daemon") == true }
}

/// Says whose place would be taken (BR-5).
struct OwnerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "owner", abstract: "Show which program is org.freedesktop.secrets now, without starting one.",
        discussion: """
            Exit status: 0 no program is, or gnome-keyring is, which gives the name up; 1 another program is. The path of the
            program is printed.
            """)

    @OptionGroup var place: Place

    func run() throws {
        let connection = try place.connect()
        guard connection.owner(of: Program.name) != nil else { return }
        let path = NameOwner.find(connection).path
        BridgeProcess.say(Sentence.printable(path ?? "a program that cannot be seen"))
        guard NameOwner.givesWay(path) else { throw ExitCode.failure }
    }
}

/// Serves until it is ended.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Keep passwords until it is ended; this is done if no command is named.")

    @OptionGroup var place: Place
    @Flag(help: "If gnome-keyring-daemon has the name, end it first.") var replace = false

    func run() throws {
        let (device, connection, protection) = try place.enter()
        let (states, continuation) = AsyncStream.makeStream(of: DeviceState.self)
        let service = SecretService(device: device, bus: connection.outbox, on: connection.executor)
        connection.readServicesAgain()
        BridgeProcess.raiseDescriptorLimit()
        try take(connection)
        connection.follow(name: SecretService.Portal.frontend)
        Task {
            for await state in states {
                await service.device(is: state)
                BridgeProcess.rests()
            }
        }
        DeviceWatch.start(device) { continuation.yield($0) }
        if protection == .ordinary {
            BridgeProcess.log(
                "touchstone-secret-service: an ordinary program; your other programs can read its memory and act as it")
        }
        BridgeProcess.say("ready as \(Program.name)")
        BridgeProcess.rests()
        BusConnection.tellReady()
        connection.run { event in
            service.assumeIsolated { $0.take(event) }
            BridgeProcess.rests()
        }
        throw ExitCode.failure
    }

    /// Takes the name; gnome-keyring-daemon does not give it up while it runs.
    private func take(_ connection: BusConnection) throws {
        let end = ContinuousClock.now + .seconds(10)
        var ended: ClientProcess?
        while true {
            do throws(BusFailure) {
                return try connection.take(name: Program.name)
            } catch {
                guard error == .nameTaken else { throw ValidationError("the bus ended the connection") }
                let (other, path) = NameOwner.find(connection)
                guard replace, let other, NameOwner.givesWay(path), .now < end else {
                    throw ValidationError(
                        "\(path ?? "another program") is \(Program.name) on this bus; end it, and start this again")
                }
                if ended != other { kill(other.processID, SIGTERM) }
                ended = other
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
    }
}
