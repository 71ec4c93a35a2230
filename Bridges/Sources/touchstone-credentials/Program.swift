import ArgumentParser
import BridgeCore
import BridgeProcesses
import CTouchstoneWiping
import CredentialsClient

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
        let service: SocketBridge
        do { service = try SocketBridge(path: socket, usual: CredentialsClient.path) } catch {
            throw ValidationError(error.description)
        }
        let credentials = Credentials(
            keychain: CredentialKeychain(device: service.device), reuse: reuse,
            requiresHelper: service.protection == .systemService)
        service.run { credentials.serve($0) }
    }
}
