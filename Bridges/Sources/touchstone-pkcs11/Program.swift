import ArgumentParser
import BridgeCore
import BridgeProcesses
import CTouchstoneWiping
import Foundation

/// A PKCS#11 token whose keys are the enclave's.
@main
struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-pkcs11",
        abstract: "A PKCS#11 token whose keys stay in Touchstone's enclave and ask for your finger.",
        discussion: """
            Programs load p11-kit-client.so of the package p11-kit-modules, and find the token by \
            P11_KIT_SERVER_ADDRESS=unix:path=SOCKET. 'touchstone bridge enable pkcs11' sets that up.

            EXAMPLE
              touchstone-pkcs11 create work
              touchstone-pkcs11 add work work.pem
            """,
        version: BridgeVersion.current,
        subcommands: [
            Serve.self, Create.self, List.self, Show.self, Add.self, Set.self, Remove.self,
        ],
        defaultSubcommand: Serve.self)
}

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the token in the foreground, as systemd does.",
        discussion: """
            systemd passes the socket, or --socket names it. SIGTERM ends it.

            EXAMPLE
              touchstone-pkcs11 --socket "$XDG_RUNTIME_DIR/touchstone-pkcs11.sock"

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device to use (default: "system" where you have it, else "default")
            """)

    @Option(help: ArgumentHelp("The socket to make, for you only.", valueName: "path"))
    var socket: String?

    func run() throws {
        // Clients send PINs, which mean nothing here: they leave no trace (PK-13).
        _ = touchstone_wipes_memory()
        let service: SocketBridge
        do { service = try SocketBridge(path: socket) } catch { throw ValidationError(error.description) }
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bridge = Bridge(
            device: service.device, managers: [own.path, "/usr/bin/\(own.lastPathComponent)"])
        service.run { bridge.serve($0) }
    }
}
