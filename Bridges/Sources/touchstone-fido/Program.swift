import ArgumentParser
import BridgeProcesses

/// Passkeys: the service, and its owner's commands.
@main struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-fido",
        abstract: "Passkeys whose keys stay in Touchstone's enclave, for browsers, ssh-keygen and pam_u2f.",
        discussion: """
            'touchstone bridge enable fido' makes this computer a security key. 'touchstone fido' is the same as \
            'touchstone-fido'.

            EXAMPLE
              touchstone-fido list
              touchstone-fido remove example.com
            """,
        version: BridgeVersion.current,
        subcommands: [Serve.self, List.self, Remove.self], defaultSubcommand: Serve.self)
}
