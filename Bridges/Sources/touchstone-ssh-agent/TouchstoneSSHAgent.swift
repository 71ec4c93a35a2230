import ArgumentParser
import BridgeCore
import BridgeProcesses
import Foundation
import SSHAgent
import TouchstoneDevice

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
        let protection = BridgeProcess.harden()
        let listener: ClientListener
        do {
            if let socket {
                listener = try ClientListener(path: socket)
            } else if let activated = try ClientListener.activated() {
                listener = activated
            } else {
                throw ValidationError("say where with --socket PATH, or have systemd pass a socket")
            }
        } catch let error as ListenError {
            throw ValidationError("\(socket ?? "the socket"): \(error)")
        }
        let device: Device
        do { device = try Device.selected() } catch {
            throw ValidationError("TOUCHSTONE_DEVICE is no name of a device")
        }
        let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
        let agent = Agent(
            device: device,
            manager: [directory, "/usr/bin"].map { "\($0)/touchstone-ssh" }.first {
                FileManager.default.isExecutableFile(atPath: $0)
            })
        BridgeProcess.endsWithSignals { listener.remove() }
        if protection == .ordinary {
            BridgeProcess.log("an ordinary program: your other programs can read its memory, and act as it")
        }
        BridgeProcess.say("ready: \(socket ?? "systemd's socket"), device \(device.name)")
        BridgeProcess.givesBackStart()
        listener.run { agent.serve($0) }
    }
}
