import ArgumentParser
import BridgeCore
import BridgeProcesses
import Foundation
import SSHAgent

/// An ssh agent whose keys are the enclave's.
@main
struct TouchstoneSSHAgent: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-ssh-agent",
        abstract: "An ssh agent whose keys stay in Touchstone's enclave and ask for your finger.",
        discussion: """
            ssh, scp, git and ssh-keygen find it by SSH_AUTH_SOCK, or by IdentityAgent in ~/.ssh/config. Keys are made with \
            touchstone-ssh. systemd passes the socket, or --socket names it.

            EXAMPLE
              touchstone-ssh-agent --socket "$XDG_RUNTIME_DIR/touchstone-ssh.sock"

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device to use (default: "system" where you have it, else "default")
            """,
        version: BridgeVersion.current)

    @Option(help: ArgumentHelp("The socket to make, for you only.", valueName: "path"))
    var socket: String?

    func run() throws {
        let service: SocketBridge
        do { service = try SocketBridge(path: socket) } catch { throw ValidationError(error.description) }
        let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
        let agent = Agent(
            device: service.device,
            manager: [directory, "/usr/bin"].map { "\($0)/touchstone-ssh" }.first {
                FileManager.default.isExecutableFile(atPath: $0)
            })
        service.run { agent.serve($0) }
    }
}
