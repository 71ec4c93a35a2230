import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore

/// The sensor of a simulated device, as it is spelled on the command line.
enum Biometry: String, ExpressibleByArgument, CaseIterable {
    case touchid, faceid, none

    init(_ type: BiometryType) {
        switch type {
        case .none: self = .none
        case .touchID: self = .touchid
        case .faceID, .opticID: self = .faceid
        }
    }

    var title: String {
        switch self {
        case .touchid: "Touch ID"
        case .faceid: "Face ID"
        case .none: "none"
        }
    }
}

/// `touchstone device create`.
struct CreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a simulated device.",
        discussion: """
            With --sensor its fingers are real: they are enrolled with fprintd's own programs, and 'touchstone device touch' and \
            its like are refused. What else is simulated stays so: the daemons run as you.

            It lies in $XDG_STATE_HOME/touchstone/devices/NAME, has no passcode and nothing enrolled, and is off: \
            'touchstone device boot' starts it.
            """)

    @OptionGroup var device: DeviceArgument
    @Option(help: "The sensor it has.")
    var biometry = Biometry.touchid
    @OptionGroup var sensor: SensorOptions

    func run() throws {
        try Self.create(
            try DeviceName.own(device.paths, "makes with 'touchstone system create'"), biometry: biometry,
            sensor: try sensor.arguments(biometry))
    }

    /// - sensor: the arguments of a sensor that is not simulated.
    static func create(_ paths: DevicePaths, biometry: Biometry, sensor: [String] = []) throws {
        let program = try Program.enclave.locate()
        try DeviceDirectory.create(paths, biometry: biometry) { enclave in
            // Ctrl-C ends the program we started; what it leaves is cleaned up here.
            for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
            let child = try Child.start(
                program, ["create", "--state", enclave.path, "--simulated", "--biometry", biometry.rawValue] + sensor,
                inheriting: [
                    (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDERR_FILENO)),
                    (STDERR_FILENO, .descriptor(STDERR_FILENO)),
                ], flags: 0)
            let ending = child.wait()
            guard ending == .exited(0) else {
                throw Failure(
                    ending == .exited(ExitStatus.configuration.rawValue) ? .configuration : .internalError,
                    "\(paths.name) was not created: \(Program.enclave.rawValue) \(ending)")
            }
        }
    }
}
