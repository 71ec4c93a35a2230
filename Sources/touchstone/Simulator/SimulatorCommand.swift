import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone simulator`.
struct SimulatorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulator",
        abstract: "Show a simulated device in a browser, and drive it by hand.",
        discussion: """
            Shows one device, or two side by side with --beside. Creates a device if there is no device of that name, and boots it if it is off. Then it prints the \
            address of its page and serves the page until Ctrl-C. The page answers on this machine only, and only if \
            you know the address. The device stays on when the page ends: 'touchstone device shutdown NAME' shuts it \
            down. Two devices can synchronize: see 'touchstone sync --help'.
            """)

    @Argument(help: "The simulated device, as --device names it.")
    var name: String?
    @Option(help: ArgumentHelp("The simulated device (default: simulator).", valueName: "name"))
    var device: String?
    @Option(help: ArgumentHelp("A second simulated device, which stands beside the first one.", valueName: "name"))
    var beside: String?
    @Option(help: "The sensor of a device that is created (default: touchid).")
    var biometry: Biometry?
    @Option(help: ArgumentHelp("The port on 127.0.0.1 (default: any free port).", valueName: "number"))
    var port: UInt16 = 0
    @Flag(inversion: .prefixedNo, help: "Boot the device if it is off.")
    var boot = true

    func validate() throws {
        try DeviceName.check(device)
        try DeviceName.check(name, or: device)
        try DeviceName.check(beside)
        guard beside != first else { throw ValidationError("--beside names the same device twice") }
    }

    private var first: String { name ?? device ?? Self.defaultName }

    func run() throws {
        // Before anything is made: without it there is nothing to show.
        let program = try Program.simulator.locate()
        try prepare(DeviceName.paths(first))
        if let beside { try prepare(DeviceName.paths(beside)) }
        let more = beside.map { ["--beside", $0] } ?? []
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
        try Program.become(program, ["--device", first, "--port", "\(port)"] + more)
    }

    private func prepare(_ paths: DevicePaths) throws {
        if !paths.exists {
            try CreateCommand.create(paths, biometry: biometry ?? .touchid)
        } else if let biometry, let found = DeviceDirectory.biometry(paths), found != biometry {
            throw Failure(
                .no,
                "there already is a device '\(paths.name)', with \(found.title); choose another name, or erase it with "
                    + "'touchstone device erase \(paths.name)'")
        }
        if boot, SupervisorLock.holder(paths) == nil, !PassedSocket.isWaiting(paths) {
            try DetachedSupervisor.start(paths, wait: Self.bootSeconds, silence: Self.silenceSeconds)
        }
        guard try DeviceClient(paths).status.isSimulated else {
            throw Failure(
                .notSimulated, "\(paths.name) is not a simulated device, so a page in a browser must not drive it")
        }
    }

    private static let defaultName = "simulator"
    /// As of `touchstone device boot`.
    private static let bootSeconds = 10.0
    private static let silenceSeconds = 30.0
}
