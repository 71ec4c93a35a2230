import ArgumentParser
import Foundation
import Glibc
import TouchstoneKeychain

/// Checks a database file that nobody has open.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Looks for damage in the database of a device that is off.",
        discussion: """
            `touchstone keychain check` starts it:
              touchstoned check --keychain ~/.local/state/touchstone/devices/default/keychain/keychain.db
            """)

    @Option(help: ArgumentHelp("The database.", valueName: "file"))
    var keychain: String
    @Flag(help: "Moves what can be read to a fresh database, and keeps the old one.")
    var repair = false

    func run() {
        let file = KeychainFile(URL(fileURLWithPath: keychain))
        do {
            let problems = try file.problems()
            for problem in problems { print("database: \(problem)") }
            guard !problems.isEmpty else {
                print("the database is whole; boot the device to have its items checked")
                Foundation.exit(EX_OK)
            }
            guard repair else { Foundation.exit(EXIT_FAILURE) }
            let repaired = try file.repair()
            print("\(repaired.items) items are in a fresh database; the old one is kept in \(repaired.kept.path)")
            Foundation.exit(EX_OK)
        } catch let error as KeychainStoreError {
            DaemonProgram.fail("\(error)", EX_CONFIG)
        } catch {
            DaemonProgram.fail("\(file.url.path) cannot be checked: \(error)", EX_SOFTWARE)
        }
    }
}
