import ArgumentParser
import Foundation
import TouchstoneSignInProtocol

extension SignInLoad {
    /// Sign-ins, one after the other on each connection, or at a fixed rate.
    struct Load: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Signs in, as often as the servers can or at a rate.",
            discussion: """
                Prints `ready` when its devices are registered and waits for `go` on standard input; then one line: sign-ins, \
                failures, seconds, and the 50th and 99th percentile in milliseconds. A sign-in is two requests: for the \
                challenge, and with the signature. At a rate its time begins when it was due, whether a connection was free \
                or not.
                """)

        @OptionGroup var target: Target
        @Option(help: "Sign-ins in a second, evenly spaced; as many as there can be without it.") var rate: Double?

        func run() throws {
            let password = try target.readPassword()
            let target = target
            let accounts = try target.account.map {
                try LoadAccount($0, password: password, HTTPConnection(port: target.port[0]))
            }
            let clients = try (0..<target.connections).map { number in
                let account = accounts[number % accounts.count]
                let client = LoadClient(
                    device: SoftwareDevice(userHandle: account.userHandle, target: target),
                    connection: HTTPConnection(port: target.port[number % target.port.count]))
                let status = try client.device.register(client.connection, session: account.session)
                guard status == 201 else { throw LoadError("a registration: \(status)") }
                return client
            }
            try target.waitForGo()

            let start = ContinuousClock.now
            let end = start + .seconds(target.seconds)
            let rate = rate
            let outcomes = try onThreads(clients.count) { number in
                clients[number].run(number, of: clients.count, from: start, to: end, rate: rate)
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let times = outcomes.flatMap(\.milliseconds).sorted()
            let failures = outcomes.map(\.failures).reduce(0, +)
            guard !times.isEmpty else { throw LoadError("no sign-in of \(failures) succeeded") }
            let percentiles = [0.5, 0.99].map { times[min(times.count - 1, Int(Double(times.count) * $0))] }
            print("\(times.count)\t\(failures)\t\(seconds)\t\(percentiles[0])\t\(percentiles[1])")
        }
    }
}

/// One connection with its device.
///
/// Of one thread: the one that runs it, after the one that made it.
final class LoadClient: @unchecked Sendable {
    struct Outcome: Sendable {
        var milliseconds: [Double] = []
        var failures = 0
    }

    let device: SoftwareDevice
    let connection: HTTPConnection

    init(device: SoftwareDevice, connection: HTTPConnection) {
        self.device = device
        self.connection = connection
    }

    func run(
        _ number: Int, of count: Int, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant,
        rate: Double?
    ) -> Outcome {
        var outcome = Outcome()
        var turn = 0
        while true {
            var due = ContinuousClock.now
            if let rate {
                due = start + .seconds((Double(turn) * Double(count) + Double(number)) / rate)
                guard due < end else { return outcome }
                let wait = (due - ContinuousClock.now) / .microseconds(1)
                if wait > 0 { usleep(useconds_t(wait)) }
            }
            guard due < end else { return outcome }
            turn += 1
            if (try? signIn()) == true {
                outcome.milliseconds.append((ContinuousClock.now - due) / .milliseconds(1))
            } else {
                outcome.failures += 1
            }
        }
    }

    private func signIn() throws -> Bool {
        guard let challenge = try device.challenge(connection).challenge else { return false }
        return try device.answer(challenge, connection) == 200
    }
}
