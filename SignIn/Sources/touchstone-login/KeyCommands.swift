import ArgumentParser
import Foundation
import TouchstoneSignIn
import TouchstoneSignInProtocol

struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace this device's key by a new one, with a finger.")

    @OptionGroup var choice: ServerChoice

    func run() async throws {
        let client = try await choice.client()
        try await client.rotate()
        StandardOutput.say("\(client.audience) has a new key of this device")
    }
}

struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a key of the account with a finger, for example the key of a lost device.",
        discussion: """
            Revoking this device's own key also deletes it here. If the key id begins with a dash, put two dashes \
            before it: 'touchstone-login revoke -- -x8fQ2aB...'.
            """)

    @OptionGroup var choice: ServerChoice
    @Argument(help: ArgumentHelp("The key id, as 'touchstone-login devices' lists it.", valueName: "keyid")) var keyID:
        String

    func run() async throws {
        let client = try await choice.client()
        try await client.revoke(keyID)
        StandardOutput.say("revoked at \(client.audience)")
    }
}

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Delete the key for a server, but only on this device.",
        discussion:
            "The server is not told. 'touchstone-login revoke' ends the key at the server, and deletes it here as well."
    )

    @OptionGroup var choice: ServerChoice

    func run() async throws {
        let client = try await choice.client()
        try await client.forget()
        StandardOutput.say("forgot \(client.audience)")
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "List the servers with which this device is registered.",
        discussion:
            "Exit status: 0 there is a server, 1 there is no server, 4 the key for a server is lost. It asks neither the owner nor a server."
    )

    @Flag(help: "As JSON.") var json = false

    private struct Known: Encodable {
        var audience: String
        var server: String
        var account: String
        var deviceName: String
        var keyID: String
        var state: String
    }

    func run() async throws {
        let servers = try await SignInClient.registeredServers()
        let known = servers.map {
            Known(
                audience: $0.audience, server: $0.server.absoluteString, account: PlainText.line($0.account),
                deviceName: PlainText.line($0.deviceName), keyID: $0.keyID.base64URL,
                state: $0.registrationNeeded?.rawValue ?? "registered")
        }
        if json {
            try StandardOutput.json(known)
        } else {
            for server in known {
                StandardOutput.say(
                    "\(server.audience)  \(server.server)  \(server.account), \(server.deviceName), key \(server.keyID), \(server.state)"
                )
            }
        }
        if servers.isEmpty { throw Failure(status: .no, message: "this device is not registered with any server") }
        if let lost = servers.first(where: { $0.registrationNeeded != nil }) {
            throw Failure(
                status: .registrationNeeded,
                message: "the key for \(lost.audience) is lost; register again with 'touchstone-login register'")
        }
    }
}
