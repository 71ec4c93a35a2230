import ArgumentParser
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstonePeers
import TouchstoneSocketServer

/// Says who the processes of an executable are to a device of this user's, or to the system's without a state directory.
struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Says who the processes of an executable are to a device, as JSON.",
        discussion: """
            `touchstone doctor --app` starts it:
              touchstoned app --executable /usr/bin/firefox
            """)

    @Option(help: ArgumentHelp("The executable.", valueName: "file"))
    var executable: String
    @Option(
        help: ArgumentHelp(
            "The state of the device whose manifests count; without it, those of the system.", valueName: "directory"))
    var state: String?

    func run() {
        let directories =
            state.map { AppManifests.simulated(state: URL(fileURLWithPath: $0), owner: getuid()) }
            ?? AppManifests.system
        let unused = Mutex<[String]>([])
        let identities = PeerIdentities(
            ownerID: getuid(),
            manifests: AppManifests(directories) { line in unused.withLock { $0.append(line) } }, report: { _ in })
        var description = identities.description(ofExecutable: executable, userID: getuid())
        description.unusedManifests = unused.withLock { $0 }
        guard let json = try? JSONEncoder().encode(description) else {
            DaemonProgram.fail("it cannot be said", EX_SOFTWARE)
        }
        FileHandle.standardOutput.write(json)
        Foundation.exit(EX_OK)
    }
}
