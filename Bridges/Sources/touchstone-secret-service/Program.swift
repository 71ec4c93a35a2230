import ArgumentParser
import BridgeBus
import BridgeCore
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
        subcommands: [ServeCommand.self, ImportCommand.self, ExportCommand.self], defaultSubcommand: ServeCommand.self)

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
        let protection = BridgeProcess.harden()
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        let environment = ProcessInfo.processInfo.environment
        let address =
            bus ?? environment["DBUS_SESSION_BUS_ADDRESS"]
            ?? "unix:path=\(environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(geteuid())")/bus"
        BridgeProcess.endsWithSignals {}
        let connection: BusConnection
        do {
            connection = try BusConnection(address: address)
        } catch {
            throw ValidationError("there is no bus at \(address)")
        }
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
}

/// Serves until it is ended.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Keep passwords until it is ended; this is done if no command is named.")

    @OptionGroup var place: Place
    @Flag(help: "If gnome-keyring-daemon has the name, end it first.") var replace = false

    func run() throws {
        let (device, connection, protection) = try place.enter()
        let (events, continuation) = AsyncStream.makeStream(of: SecretService.Event.self)
        let service = SecretService(device: device, bus: connection.outbox)
        connection.readServicesAgain()
        try take(connection)
        Task { for await event in events { await service.take(event) } }
        DeviceWatch.start(device) { continuation.yield(.device($0)) }
        if protection == .ordinary {
            BridgeProcess.log(
                "touchstone-secret-service: an ordinary program; your other programs can read its memory and act as it")
        }
        BridgeProcess.say("ready as \(Program.name)")
        BridgeProcess.givesBackStart()
        BusConnection.tellReady()
        connection.run { continuation.yield(.bus($0)) }
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
                let other = connection.peer(of: Program.name).flatMap { ClientProcess(processID: $0.processID) }
                let path = other?.executable
                guard replace, let other, path?.hasSuffix("/gnome-keyring-daemon") == true, .now < end else {
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
