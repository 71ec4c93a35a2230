import ArgumentParser
import Foundation
import TouchstoneSignIn

struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Register this device with the account's password.",
        discussion: """
            Makes a key for the fingers or faces that are enrolled now, in place of this device's earlier one. The password is asked for, or read as one line from standard input, and is sent this once.
            """)

    @Argument(help: "Its address: https://HOST or https://HOST:PORT; http:// for this machine alone.") var server:
        String
    @Option(help: "The account's name.") var name: String
    @Option(help: "What the server calls itself. Default: its host, with a port other than 443.") var audience: String?
    @Option(help: "What this device is called in the account's list. Default: the machine's name.")
    var deviceName: String?
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        guard let url = URL(string: server) else {
            throw Failure(status: .usage, message: "the server's address is none")
        }
        let client = try SignInClient(
            server: url, audience: audience, application: TouchstoneLogin.application)
        let devices = try await client.register(
            name: name, password: try Password.read(),
            deviceName: deviceName ?? String(ProcessInfo.processInfo.hostName.prefix(64)))
        let own = try await client.registration()?.keyID
        let listed = devices.map { ListedDevice($0, own: own) }
        if json {
            try StandardOutput.json(listed)
        } else {
            StandardOutput.say("registered with \(client.audience); the account's devices:")
            ListedDevice.show(listed)
        }
    }
}
