import ArgumentParser
import CTouchstoneSystem
import CTouchstoneWiping
import Foundation
import Glibc
import Logging
import Synchronization
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneKeychain
import TouchstoneSocketServer
import TouchstoneTransport

/// The process that apps reach: items, queries, policies and prompts.
///
/// It holds ciphertext, and asks the enclave for everything else.
@main
struct DaemonProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstoned",
        abstract: "Serves one Touchstone device to apps.",
        discussion: """
            `touchstone device boot` starts it beside its touchstone-enclave, connected by two socket pairs:
              touchstoned --device default --state ~/.local/state/touchstone/devices/default --socket /run/user/1000/touchstone/default.sock --enclave-calls-fd 3 --enclave-events-fd 4

            systemd starts it for one user's device under a user of its own, and passes it the socket:
              touchstoned --device system --owner 1000 --state /var/lib/touchstone/1000/keychain --enclave-socket /run/touchstone/1000/enclave.sock --peers-socket /run/touchstone/peers.sock

            Then the owner's interface is for the programs that files NAME.conf in /etc/touchstone/owner-programs.d and /usr/lib/touchstone/owner-programs.d list: the path of an executable, or unit:NAME.service, on each line.

            EXIT STATUS
              0   stopped, or nothing is damaged (any more)
              1   damage was found
              64  usage
              75  the enclave is gone, or a reboot was asked for
              78  the state cannot be used as it is
            """,
        version: TouchstoneVersion.current,
        subcommands: [ServeCommand.self, CheckCommand.self, AppCommand.self], defaultSubcommand: ServeCommand.self)

    static func main() {
        let hardened = touchstone_harden_process()
        guard hardened == 0 else { fail("cannot harden this process (errno \(hardened))", EX_SOFTWARE) }
        touchstone_die_with_parent()
        touchstone_raise_file_limit()
        touchstone_return_large_blocks()
        _ = touchstone_wipes_memory()
        _ = touchstone_lock_all_memory()
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            exit(withError: error)
        }
    }

    static func fail(_ message: String, _ status: Int32) -> Never {
        FileHandle.standardError.write(Data("touchstoned: \(message)\n".utf8))
        Foundation.exit(status)
    }
}
