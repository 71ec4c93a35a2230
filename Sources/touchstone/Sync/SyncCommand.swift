import ArgumentParser

/// `touchstone sync`: the keychain on all of one's devices.
struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Synchronize items between your devices, through a store that cannot read them.",
        discussion: """
            The devices that trust each other are a circle. The first one creates it, the others join. Items that an app \
            marked as synchronizable then appear on each of them. The store is a directory that all devices see, a \
            PostgreSQL database, or an object store.

            Examples:
              touchstone sync create /mnt/share/keychain       (on the first device)
              touchstone sync join /mnt/share/keychain         (on another one, which then shows six digits)
              touchstone sync approve                          (on the first one, which asks for the digits)
              touchstone sync status
              touchstone sync recovery-key                     (words for the day when all devices are lost)
            """,
        subcommands: [
            SyncCreateCommand.self, SyncJoinCommand.self, SyncApproveCommand.self, SyncStatusCommand.self,
            SyncMembersCommand.self, SyncRemoveCommand.self, SyncLeaveCommand.self,
            SyncRecoveryKeyCommand.self, SyncRecoverCommand.self, SyncHistoryCommand.self,
        ])
}
