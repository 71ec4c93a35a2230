import ArgumentParser
import Foundation
import TouchstoneSignInProtocol
import TouchstoneSignInServer

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "List and revoke an account's devices in the server's database.",
        subcommands: [List.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List each device with its key id, state, last use and name.")
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The account.") var name: String

        func run() async throws {
            try await administer(database) { administration in
                for key in try await administration.devices(of: name) {
                    let state =
                        switch key.state {
                        case .active: "active"
                        case .revoked(let reason, let date): "revoked \(date.formatted(.iso8601)) (\(reason))"
                        }
                    let used = key.lastUsedAt?.formatted(.iso8601) ?? "never"
                    print("\(key.id.base64URL)\t\(state)\tlast used \(used)\t\(key.deviceName)")
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke the key of a lost device, and end its sessions at once.",
            discussion: """
                A key id may begin with a dash. Put two dashes before it then:
                  touchstone-signin device revoke anna -- -x8fQ2aB
                """)
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The account.") var name: String
        @Argument(help: "The key id, or its beginning.") var key: String

        func run() async throws {
            try await administer(database) { try await $0.revokeDevice(key, of: name) }
        }
    }
}
