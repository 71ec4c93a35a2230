import ArgumentParser
import Crypto
import Foundation
import Glibc

/// A load generator for `touchstone-signin` on this machine.
///
/// Its keys are software keys that it makes and forgets, and no
/// finger is asked: it measures servers, and is not a client.
@main
struct SignInLoad: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signin-load",
        abstract: "Loads servers on 127.0.0.1 with sign-ins by software keys, and prints what it measured.",
        subcommands: [Floor.self, Load.self, Faults.self])

    /// No run is longer, in seconds.
    static let longestRun = 120.0
    static let mostConnections = 256
}

/// What every load needs.
struct Target: ParsableArguments {
    @Option(help: "Of a server on 127.0.0.1. May be given again.") var port: [UInt16]
    @Option var audience: String
    @Option var application: String
    @Option(
        help: "An account that is there. May be given again. The password of all is the first line of standard input.")
    var account: [String]
    @Option(help: "At once, each with a device of its own, 1 to 256.") var connections = 32
    @Option(help: "0.1 to 120.") var seconds = 5.0

    func validate() throws {
        guard (1...SignInLoad.mostConnections).contains(connections), (0.1...SignInLoad.longestRun).contains(seconds),
            !port.isEmpty, !account.isEmpty
        else { throw ValidationError("1 to 256 connections, 0.1 to 120 seconds, a port and an account.") }
    }

    /// - Returns: The password.
    func readPassword() throws -> String {
        guard let line = readLine(), !line.isEmpty else { throw ValidationError("no password on standard input.") }
        return line
    }

    /// Says that everything is there, and waits until the measuring program has read the clock.
    func waitForGo() throws {
        print("ready")
        fflush(nil)
        guard readLine() == "go" else { throw ValidationError("what comes on standard input after `ready` is `go`.") }
    }
}

extension SignInLoad {
    /// The work that no server can avoid: one verification of a device's signature and one signature of a token, again and
    /// again on one core.
    struct Floor: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "The bare cost of one P-256 verification and one signature, as so many in a second.")
        @Option(help: "0.1 to 120.") var seconds = 2.0

        func run() throws {
            let key = P256.Signing.PrivateKey()
            let message = Data(repeating: 7, count: 320)
            let signature = try key.signature(for: message).derRepresentation
            let der = key.publicKey.derRepresentation
            var count = 0
            let start = clock()
            let end = ContinuousClock.now + .seconds(min(max(seconds, 0.1), SignInLoad.longestRun))
            while ContinuousClock.now < end {
                for _ in 0..<50 {
                    // From the bytes, as a server has them.
                    let publicKey = try P256.Signing.PublicKey(derRepresentation: der)
                    guard publicKey.isValidSignature(try .init(derRepresentation: signature), for: message) else {
                        throw ExitCode.failure
                    }
                    _ = try key.signature(for: message)
                    count += 1
                }
            }
            // Of processor time, in microseconds (POSIX): others may use this core too.
            print(Double(count) * 1_000_000 / Double(clock() - start))
        }
    }
}
