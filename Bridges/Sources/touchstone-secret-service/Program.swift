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

            Example: touchstone-secret-service --bus "unix:path=$XDG_RUNTIME_DIR/bus"
            """)

    private static let name = "org.freedesktop.secrets"

    @Option(help: ArgumentHelp("The bus (default: DBUS_SESSION_BUS_ADDRESS).", valueName: "address"))
    var bus: String?

    func run() throws {
        let protection = BridgeProcess.harden()
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        guard let address = bus ?? ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"] else {
            throw ValidationError("say which bus with --bus, or set DBUS_SESSION_BUS_ADDRESS")
        }
        BridgeProcess.endsWithSignals {}
        let connection: BusConnection
        do {
            connection = try BusConnection(address: address)
        } catch {
            throw ValidationError("there is no bus at \(address)")
        }
        let (events, continuation) = AsyncStream.makeStream(of: SecretService.Event.self)
        let service = SecretService(device: device, bus: connection.outbox)
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
        do {
            try connection.take(name: Self.name)
        } catch {
            throw ValidationError("another program is \(Self.name) on this bus already")
        }
        Task { for await event in events { await service.take(event) } }
        DeviceWatch.start(device) { continuation.yield(.device($0)) }
        if protection == .ordinary {
            BridgeProcess.log(
                "touchstone-secret-service: an ordinary program; your other programs can read its memory and act as it")
        }
        BridgeProcess.say("ready as \(Self.name)")
        BridgeProcess.givesBackStart()
        connection.run { continuation.yield(.bus($0)) }
        throw ExitCode.failure
    }
}
