import ArgumentParser
import Foundation

@main
struct SignInProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-signin",
        abstract: "Lets people sign in to a server with a finger.",
        discussion: """
            An owner registers a device once with name and password. From then on, a key that only the owner's finger \
            can use signs in. This program has no TLS, so a proxy that ends TLS has to be in front of it.

              touchstone-signin account add anna --database /var/lib/signin/signin.sqlite
              touchstone-signin serve --audience signin.example.org --application org.example.app \\
                  --database /var/lib/signin/signin.sqlite
            """,
        version: "0.1.0",
        subcommands: [Serve.self, AccountCommand.self, DeviceCommand.self])
}

/// What went wrong, and what to do about it.
struct ProgramFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
