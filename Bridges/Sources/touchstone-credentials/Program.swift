import ArgumentParser
import BridgeCore
import BridgeProcesses
import CTouchstoneWiping
import CredentialsClient
import Foundation
import Glibc
import TouchstoneDevice

/// The half that stays: what helpers serve is kept here, and the owner is asked from here (GC-1, GC-2).
@main struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-credentials",
        abstract: "Keep passwords for git, docker and commands; the owner is asked before one is given out.",
        discussion: """
            git-credential-touchstone, docker-credential-touchstone and touchstone-run find it by TOUCHSTONE_CREDENTIALS, else at \
            /run/touchstone/UID/credentials.sock, else in $XDG_RUNTIME_DIR/touchstone. The device is that of TOUCHSTONE_DEVICE.

            Example: touchstone-credentials --socket "$XDG_RUNTIME_DIR/touchstone/credentials.sock"
            """,
        version: BridgeVersion.current)

    @Option(help: ArgumentHelp("Where it listens (default: where the helpers look).", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("For how long an approval is good for git and docker, 0 to 300.", valueName: "seconds"))
    var reuse = 60.0

    func validate() throws {
        guard (0...300).contains(reuse) else { throw ValidationError("--reuse is a number of seconds from 0 to 300.") }
    }

    func run() throws {
        _ = touchstone_wipes_memory()
        let protection = BridgeProcess.harden()
        guard let device = try? Device.selected() else {
            throw ValidationError(
                "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default.")
        }
        let listener: ClientListener
        let path = socket ?? CredentialsClient.path
        do {
            if let activated = try ClientListener.activated() {
                listener = activated
            } else {
                if socket == nil {
                    try FileManager.default.createDirectory(
                        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
                        attributes: [.posixPermissions: 0o700])
                }
                listener = try ClientListener(path: path)
            }
        } catch {
            throw ValidationError("cannot listen at \(path): \(error)")
        }
        BridgeProcess.endsWithSignals { listener.remove() }
        let credentials = Credentials(
            keychain: CredentialKeychain(device: device), reuse: reuse,
            requiresHelper: protection == .systemService)
        if protection == .ordinary {
            BridgeProcess.log(
                "touchstone-credentials: an ordinary program; your other programs can read its memory and act as it")
        }
        BridgeProcess.say("ready at \(path)")
        BridgeProcess.givesBackStart()
        listener.run { credentials.serve($0) }
    }
}
