import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstonePeers
import TouchstoneSystem
import TouchstoneTransport

/// The one process of the system service that may look at everybody's processes: it tells touchstoned what a peer runs.
///
/// It keeps nothing, writes nothing and has no secret; touchstoned, which holds ciphertext, and the enclave, which holds keys, cannot be
/// looked into by what has taken the other over.
@main
enum PeersProgram {
    static let usage = """
        usage: touchstone-peers

        Answers touchstoned on the socket that systemd passes: what a process runs, in which sandbox, and how it came to run.
        systemd starts it so, for all users of the machine:

          /usr/libexec/touchstone/touchstone-peers

        It needs CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH for programs in directories that only their owners may search.
        Exit status: 0 stopped, 64 usage.
        """

    static func main() {
        let hardened = touchstone_harden_process()
        guard hardened == 0 else { fail("cannot harden this process (errno \(hardened))", EX_SOFTWARE) }
        touchstone_raise_file_limit()
        if CommandLine.arguments.contains(where: { $0 == "--help" || $0 == "-h" }) {
            print(usage)
            exit(EX_OK)
        }
        if CommandLine.arguments.contains("--version") {
            print(TouchstoneVersion.current)
            exit(EX_OK)
        }
        guard CommandLine.arguments.count == 1, let listener = ServiceManager.takeSockets().first else {
            fail(usage, EX_USAGE)
        }
        let report = { @Sendable (line: String) in
            FileHandle.standardError.write(Data("touchstone-peers: \(line)\n".utf8))
        }
        let manifests = AppManifests(AppManifests.system, report: report)
        ServiceManager.notify("READY=1")
        let socket = ListeningSocket(descriptor: listener)
        let turns = PeerTurns(manifests: manifests, report: report)
        while let connection = socket.accept() { turns.serve(connection.descriptor, processID: connection.peer.pid) }
    }

    static func fail(_ message: String, _ status: Int32) -> Never {
        FileHandle.standardError.write(Data("touchstone-peers: \(message)\n".utf8))
        exit(status)
    }
}
