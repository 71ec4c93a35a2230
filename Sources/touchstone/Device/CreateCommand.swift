import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

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
            The device is made in $XDG_STATE_HOME/touchstone/devices/NAME. It has no passcode, nothing is enrolled, \
            and it is off: 'touchstone device boot' starts it.

            With --sensor its fingers are real. You enrol them with fprintd's own programs, and 'touchstone device \
            match' and similar commands are refused. The device is still one for development, because the daemons run \
            as you.

            With --root-of-trust tpm2 its keys are bound to this machine's TPM 2.0. The command writes the recovery \
            key to standard output, once. Keep it on paper, away from the machine. It moves the device to another TPM, \
            or to this TPM after it was cleared. Without the recovery key, such a device is lost with its TPM.
            """)

    @OptionGroup var device: DeviceArgument
    @Option(help: "The kind of its sensor.")
    var biometry = Biometry.touchid
    @OptionGroup var sensor: SensorOptions
    @OptionGroup var rootOfTrust: RootOfTrustOptions

    func run() throws {
        try Self.create(
            try DeviceName.own(device.paths, "makes with 'touchstone system create'"), biometry: biometry,
            sensor: try sensor.arguments(biometry), rootOfTrust: rootOfTrust.arguments)
    }

    /// - sensor: the arguments of a sensor that is not simulated.
    /// - rootOfTrust: those of a TPM.
    static func create(
        _ paths: DevicePaths, biometry: Biometry, sensor: [String] = [], rootOfTrust: [String] = []
    ) throws {
        DeviceDirectory.sweep()
        try DeviceDirectory.create(paths, biometry: biometry) { enclave in
            // Ctrl-C ends the program we started; what it leaves is cleaned up here.
            for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
            let ending = try Program.enclave.run(
                ["create", "--state", enclave.path, "--simulated", "--biometry", biometry.rawValue] + sensor
                    + rootOfTrust)
            guard ending == .exited(0) else {
                throw Failure(
                    ending == .exited(ExitStatus.configuration.rawValue) ? .configuration : .internalError,
                    "\(paths.name) was not created: \(Program.enclave.name) \(ending)")
            }
            if !rootOfTrust.isEmpty {
                StandardError.say(
                    "Write down this recovery key of \(paths.name). It is shown only this once, and stored nowhere."
                )
            }
        }
    }
}
