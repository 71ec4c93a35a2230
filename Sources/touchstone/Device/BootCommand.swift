import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device boot`.
struct BootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "boot",
        abstract: "Boot a device and keep it running.",
        discussion: """
            Stays in the foreground and prints one line when the device answers; Ctrl-C shuts it down. With --detach \
            it returns when the device answers, and 'touchstone device shutdown' shuts it down.

            If one daemon ends, the other ends with it, and both are started again. To its owner, the device has \
            rebooted, so it asks for its passcode. Daemons that do not answer for 30 seconds are restarted too.

            'touchstone session enable device' has your systemd boot the device when it is first used. It ends with \
            your session.
            """)

    @OptionGroup var device: DeviceArgument
    @Flag(exclusivity: .exclusive, help: "Stay in the foreground (the default), or leave it running and return.")
    var mode = Mode.foreground
    @Option(help: ArgumentHelp("Give up if it does not answer within this time.", valueName: "seconds"))
    var wait = 10.0
    /// How long daemons may give no answer, in seconds; tests use a short time.
    @Option(help: .hidden) var silence = 30.0
    /// Where a detached supervisor says that the device answers.
    @Option(help: .hidden) var readyDescriptor: Int32?

    enum Mode: String, EnumerableFlag { case foreground, detach }

    func validate() throws {
        try Seconds.check(wait, "--wait")
        try Seconds.check(silence, "--silence")
        guard silence > 0 else { throw ValidationError("--silence has to be more than 0 seconds") }
    }

    func run() throws {
        let paths = try DeviceName.own(device.paths, "starts with 'systemctl start touchstoned@UID.socket'")
        try DeviceDirectory.check(paths)
        let listening = try PassedSocket.take(paths)
        if listening == nil { try refuseBesideSocket(paths) }
        switch mode {
        case .foreground: try supervise(paths, listening)
        case .detach: try DetachedSupervisor.start(paths, wait: wait, silence: silence)
        }
    }

    /// A device that was started by hand would take its socket away from systemd.
    private func refuseBesideSocket(_ paths: DevicePaths) throws {
        guard PassedSocket.isWaiting(paths) else { return }
        let unit = PassedSocket.unit(paths)
        throw Failure(
            .no,
            "\(paths.name) boots when it is first used, because \(unit) is active. To boot it by hand, run "
                + "'systemctl --user stop \(unit)' first")
    }

    private func supervise(_ paths: DevicePaths, _ listening: PassedSocket?) throws {
        if let readyDescriptor { _ = fcntl(readyDescriptor, F_SETFD, FD_CLOEXEC) }
        try Supervisor(
            paths: paths, listening: listening, startLimit: .seconds(wait), silenceLimit: .seconds(silence)
        ) {
            StandardOutput.say("\(paths.name) is ready")
            ServiceManager.notify("READY=1")
            if let readyDescriptor {
                _ = unsafe write(readyDescriptor, "\n", 1)
                close(readyDescriptor)
            }
        }.run()
    }
}
