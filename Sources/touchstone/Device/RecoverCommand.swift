import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device recover`.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Move a device to another TPM, or back to its own TPM after that was cleared.",
        discussion: """
            The device has to be off, and it has to be one that was created with --root-of-trust tpm2. The command \
            asks for the recovery key that was shown then, and for the passcode if one is set. Without a terminal, \
            each is a line of standard input. Everything in the device stays as it is, and the recovery key stays the \
            same.
            """)

    @OptionGroup var device: DeviceArgument
    @Option(
        help: ArgumentHelp(
            "The address of the new TPM, device:PATH or swtpm:path=SOCKET (default: that of the old one).",
            valueName: "tcti"))
    var tcti: String?

    func run() throws {
        let paths = try DeviceName.own(device.paths, "recovers with 'touchstone system recover'")
        try DeviceDirectory.check(paths)
        guard DeviceDirectory.hasTPM(paths) else {
            throw Failure(.no, "\(paths.name) is bound to a key file, not to a TPM, so there is nothing to recover")
        }
        guard SupervisorLock.holder(paths) == nil else {
            throw Failure(
                .refused, "\(paths.name) is booted; shut it down with 'touchstone device shutdown \(paths.name)'")
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
            "\(paths.name) is now bound to this TPM; start it with '\(paths.bootCommand)'")
    }
}
