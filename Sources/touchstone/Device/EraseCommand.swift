import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Shut a device down and delete it with everything it holds.",
        discussion: "Asks first at a terminal. Without a terminal it needs --force.")

    @OptionGroup var device: DeviceArgument
    @Flag(name: .shortAndLong, help: "Do not ask.") var force = false

    func run() throws {
        let paths = try DeviceName.own(device.paths, "removes with 'touchstone system remove'")
        try DeviceDirectory.check(paths)
        if !force { try confirm(paths) }
        // Else the next program that connects would have systemd boot it.
        var session = try SessionPlan.Undoing(.device, device: paths.name)
        if session.isEnabled { try session.carryOut() }
        try undoWindow(paths)
        _ = try ShutdownCommand.shutDown(paths)
        if DeviceDirectory.hasTPM(paths), try !Program.enclave.forget(paths.enclave) {
            StandardError.say("\(paths.name) leaves its counter in the TPM, where it uses a little space")
        }
        try DeviceDirectory.remove(paths)
        try sayBridges(paths)
    }

    /// A window that shows this device's prompts has nothing to show any more.
    private func undoWindow(_ paths: DevicePaths) throws {
        guard SessionPart.windowDevice == paths.name else { return }
        var window = try SessionPlan.Undoing(.window, device: paths.name)
        guard window.isEnabled else { return }
        try window.carryOut()
        StandardError.say(
            "the window showed the prompts of \(paths.name), so it no longer starts with your session. For another "
                + "device: touchstone session enable window --device NAME")
    }

    /// A bridge stays, because its owner may want it for another device.
    private func sayBridges(_ paths: DevicePaths) throws {
        let enabled = try ChangeRecord.read().enabled
        for bridge in Bridge.allCases
        where enabled.contains(.bridge(bridge))
            && UserUnit.chosenDevice(for: bridge.resident.serviceUnit) == paths.name
        {
            StandardError.say(
                "the bridge \(bridge.rawValue) still asks \(paths.name). To undo that: "
                    + "touchstone bridge disable \(bridge.rawValue)")
        }
    }

    private func confirm(_ paths: DevicePaths) throws {
        guard Terminal.isInput else {
            throw Failure(
                .cancelled, "\(paths.name) was not erased, because there is no terminal to ask at; use --force")
        }
        StandardError.write("Erase \(paths.name), its keys and every item in it, for good? [y/N] ")
        guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
            throw Failure(.cancelled, "\(paths.name) was not erased")
        }
    }
}
