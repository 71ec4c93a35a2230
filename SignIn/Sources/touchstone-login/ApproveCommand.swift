import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import SignInConnections
import TouchstoneSignIn

struct ApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Let pages in this machine's browser sign in with a finger.",
        discussion: """
            Serves this machine only, until it is ended. A page may ask if this device is registered with its server. \
            The prompt shows the server's name and the code that the page shows. The approval goes to the server's own \
            address. If a page has any other address, it is refused, and its address is printed. Cancelling denies the \
            page's request.
            """)

    @Option(
        help:
            "The port on 127.0.0.1, or 0 for any free port. Pages only use the default, so other ports are for tests."
    ) var port: UInt16 = 47813

    func run() async throws {
        let approver = Approver()
        var log = Logger(label: "touchstone-login")
        log.logLevel = .critical
        let server = Application(
            responder: approver,
            // Whoever connects and says nothing takes the place of one who does.
            server: .http1(configuration: .init(additionalChannelHandlers: [RequestDeadline(Self.requestTime)])),
            configuration: .init(
                address: .hostname("127.0.0.1", port: Int(port)), reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                approver.open(port: port)
                StandardOutput.say("ready at http://127.0.0.1:\(port)/approve")
            },
            logger: log)
        do {
            try await server.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw Failure(
                status: .unavailable, message: "port \(port) is in use; is another 'touchstone-login approve' running?")
        }
    }

    private static let maximumConnections = 16
    private static let requestTime = TimeAmount.seconds(10)
}
