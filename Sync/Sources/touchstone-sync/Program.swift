import ArgumentParser
import BridgeProcesses

/// Synchronizing: the program that stays, and the half of `touchstone sync` that speaks to stores.
@main struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-sync",
        abstract: "Carry sealed items between this device and the store of its circle.",
        discussion: """
            'touchstone sync create' or 'touchstone sync join' says which store. The program has no key, so it can read \
            nothing of what it carries. It says one line when it is ready, and ends with SIGTERM.

            EXAMPLE
              touchstone sync create /mnt/share/keychain
              touchstone-sync

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device to use (default: "system" where you have it, else "default")
              XDG_STATE_HOME     how far it has come is in its touchstone/sync
            """,
        version: BridgeVersion.current,
        subcommands: [
            Serve.self, Create.self, Join.self, Approve.self, Change.self, Recover.self, Leave.self, Look.self,
        ], defaultSubcommand: Serve.self)
}
