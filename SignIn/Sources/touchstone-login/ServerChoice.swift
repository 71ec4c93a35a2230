import ArgumentParser
import Foundation
import TouchstoneSignIn

/// Which of the registered servers is meant.
struct ServerChoice: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server, by its name or address. Not needed if this device is registered with only one.",
            valueName: "name"))
    var server: String?

    func registered() async throws -> RegisteredServer {
        let servers = try await SignInClient.registeredServers()
        if let server {
            let found = servers.filter { [$0.audience, $0.server.absoluteString].contains(server) }
            guard let one = found.first else {
                throw Failure(
                    status: .no, message: "this device is not registered with \(server); see 'touchstone-login status'")
            }
            return one
        }
        guard let one = servers.first else {
            throw Failure(
                status: .no,
                message:
                    "this device is not registered with any server; use 'touchstone-login register https://SERVER --name NAME'"
            )
        }
        guard servers.count == 1 else {
            let names = servers.map(\.audience).joined(separator: ", ")
            throw Failure(status: .usage, message: "choose a server with --server: \(names)")
        }
        return one
    }

    func client() async throws -> SignInClient { try SignInClient(try await registered()) }
}

extension SignInClient {
    init(_ registered: RegisteredServer) throws {
        try self.init(
            server: registered.server, audience: registered.audience, application: registered.application)
    }
}
