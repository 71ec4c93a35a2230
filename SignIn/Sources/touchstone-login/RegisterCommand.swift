import ArgumentParser
import Foundation
import TouchstoneSignIn

struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Register this device with the account's password.",
        discussion: """
            Makes a key for the fingers or faces that are enrolled now, which replaces this device's earlier key. The \
            command asks for the password, or reads it as one line from standard input, and sends it this once. If the \
            server asks for a second factor, it is the next line.
            """)

    @Argument(help: "Its address: https://HOST or https://HOST:PORT; http:// only for this machine.") var server: String
    @Option(help: "The account's name.") var name: String
    @Option(help: "The server's own name. Default: its host, with the port if it is not 443.") var audience: String?
    @Option(help: "The name of this device in the account's list. Default: the machine's name.")
    var deviceName: String?
    @Flag(help: "Ask for a second factor too, for example a one-time code.") var secondFactor = false
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        guard let url = URL(string: server) else {
            throw Failure(status: .usage, message: "that is not a server's address")
        }
        let client = try SignInClient(
            server: url, audience: audience, application: TouchstoneLogin.application)
        try await sayWhatChanges(client, url)
        let devices = try await client.register(
            name: name, password: try Secret.read("password"),
            deviceName: deviceName ?? String(ProcessInfo.processInfo.hostName.prefix(64)),
            secondFactor: secondFactor ? try Secret.read("second factor") : nil)
        let own = try await client.registration()?.keyID
        let listed = devices.map { ListedDevice($0, own: own) }
        if json {
            try StandardOutput.json(listed)
        } else {
            StandardOutput.say("registered with \(client.audience); the account's devices:")
            ListedDevice.show(listed)
        }
    }

    /// Before the password is typed: which name prompts will show, if it is not the address's, and what is replaced.
    private func sayWhatChanges(_ client: SignInClient, _ url: URL) async throws {
        let byAddress = try SignInClient(server: url, application: TouchstoneLogin.application).audience
        if client.audience != byAddress {
            StandardError.say("the password goes to \(client.origin); prompts and signatures name \(client.audience)")
        }
        guard let earlier = try await client.registration() else { return }
        StandardError.say(
            "this replaces the key for \(client.audience), account \(PlainText.line(earlier.account)), at \(earlier.server.absoluteString)"
        )
        if earlier.account != name {
            StandardError.say(
                "that account keeps the earlier key until it is revoked; to end it there, first revoke it with 'touchstone-login revoke'"
            )
        }
    }
}
