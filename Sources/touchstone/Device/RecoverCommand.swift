import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device recover`.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Move a device to another TPM, or to its own after that was cleared.",
        discussion: """
            For a device that was created with --root-of-trust tpm2, and is off. Wants the recovery key that was shown then, and \
            the passcode, where one is set: at a terminal it asks for them, elsewhere they are a line of standard input each. \
            Everything in the device stays as it is; the recovery key stays the same.
            """)

    @OptionGroup var device: DeviceArgument
    @Option(
        help: ArgumentHelp(
            "Where the new TPM is, device:PATH or swtpm:path=SOCKET; without it, where the old one was.",
            valueName: "tcti"))
    var tcti: String?

    func run() throws {
        let paths = try DeviceName.own(device.paths, "recovers with 'touchstone system recover'")
        try DeviceDirectory.check(paths)
        guard DeviceDirectory.hasTPM(paths) else {
            throw Failure(.no, "\(paths.name) is bound to a key file, not to a TPM: there is nothing to recover")
        }
        guard SupervisorLock.holder(paths) == nil else {
            throw Failure(
                .refused, "\(paths.name) is booted: shut it down with 'touchstone device shutdown \(paths.name)'")
        }
        let arguments = ["recover", "--state", paths.enclave.path] + (tcti.map { ["--tpm", $0] } ?? [])
        let ending =
            Terminal.isInput
            ? try Terminal.withoutEcho { try Program.enclave.run(arguments, input: true) }
            : try Program.enclave.run(arguments, input: true)
        guard ending == .exited(0) else {
            throw Failure(.refused, "\(paths.name) was not recovered; the reason is above")
        }
        StandardError.say(
            "\(paths.name) is bound to this TPM now: start it with 'touchstone device boot --detach \(paths.name)'")
    }
}
