import ArgumentParser
import Foundation
import TouchstoneSignIn

struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Sign in with a finger, and end the session again.",
        discussion: "Shows that the key works. It keeps nothing of the session.")

    @OptionGroup var choice: ServerChoice
    @Flag(help: "As JSON.") var json = false

    private struct SignedIn: Encodable {
        var server: String
        var account: String
        var keyID: String
    }

    func run() async throws {
        let registered = try await choice.registered()
        try await SignInClient(registered).inSession { session in
            let told = SignedIn(server: registered.audience, account: registered.account, keyID: session.keyID)
            if json {
                try StandardOutput.json(told)
            } else {
                StandardOutput.say("signed in to \(told.server) as \(PlainText.line(told.account))")
            }
        }
    }
}

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the account's devices, after signing in with a finger.")

    @OptionGroup var choice: ServerChoice
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        let registered = try await choice.registered()
        let devices = try await SignInClient(registered).inSession { try await $0.devices() }
        let listed = devices.map { ListedDevice($0, own: registered.keyID) }
        if json { try StandardOutput.json(listed) } else { ListedDevice.show(listed) }
    }
}

struct ConfirmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Let the server record that the owner confirmed a text.",
        discussion: "Signs in with a finger, then shows the text in a second prompt. A second touch signs the text.")

    @OptionGroup var choice: ServerChoice
    @Argument(help: "The text to confirm: one line of at most 200 characters.") var text: String

    func run() async throws {
        let client = try await choice.client()
        try await client.inSession { session in
            let transaction = try await session.transaction(text)
            try await client.confirm(transaction)
            StandardOutput.say("confirmed at \(client.audience): \(PlainText.line(transaction.text))")
        }
    }
}

extension SignInClient {
    /// Signs in, and ends the session whatever comes of `body`.
    nonisolated func inSession<Result: Sendable>(
        _ body: (Session) async throws -> Result
    ) async throws -> Result {
        let session = try await signIn()
        if let difference = session.clockDifference, abs(difference) > Self.notableClockDifference {
            StandardError.say(
                "the server's clock is \(abs(difference)) s \(difference > 0 ? "ahead of" : "behind") this machine's")
        }
        do {
            let result = try await body(session)
            try await session.end()
            return result
        } catch {
            // The first failure is the one to tell; a session that was not ended ends by itself.
            try? await session.end()
            throw error
        }
    }

    /// In seconds (NP-15).
    private static var notableClockDifference: Int { 300 }
}
