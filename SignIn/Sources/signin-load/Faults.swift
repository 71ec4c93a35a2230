import ArgumentParser
import Foundation
import TouchstoneSignInProtocol

extension SignInLoad {
    /// What has to hold while servers are killed and the database stops: answered requests stay done, and nothing is used twice.
    struct Faults: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Registers and signs in while servers fail, and looks for what was lost or done twice.",
            discussion: """
                Each challenge is answered again, by a new signature with a higher counter, on another server. Prints `ready`, \
                waits for `go` on standard input, and at the end for `look`, when all servers are there again; then one line: \
                registrations that were accepted, those of them that are not there, challenges, those that were accepted \
                once, those that were accepted more often, answers 503, connections that broke. Fails if something was lost \
                or done twice.
                """)

        @OptionGroup var target: Target

        func run() throws {
            let password = try target.readPassword()
            let target = target
            let accounts = try target.account.map {
                try LoadAccount($0, password: password, HTTPConnection(port: target.port[0]))
            }
            try target.waitForGo()

            let end = ContinuousClock.now + .seconds(target.seconds)
            let sums = try onThreads(target.connections) { number in
                var worker = FaultWorker(number: number, account: accounts[number % accounts.count], target: target)
                while ContinuousClock.now < end { try worker.turn() }
                return worker.sum
            }
            print("done")
            fflush(nil)
            guard readLine() == "look" else { throw LoadError("what comes on standard input after `done` is `look`") }

            var sum = FaultSum()
            for each in sums { sum.add(each) }
            var kept: Set<String> = []
            for account in target.account {
                let last = HTTPConnection(port: target.port[target.port.count - 1])
                let session = try LoadAccount(account, password: password, last).session
                let answer = try last.request("GET", "/v1/devices", nil, bearer: session)
                guard answer.status == 200 else { throw LoadError("the list of devices: \(answer.status)") }
                kept.formUnion(
                    try JSONDecoder().decode(Body.Devices.self, from: answer.body).devices
                        .map(\.keyID))
            }
            // The list has not every revoked key. One that is revoked gets no challenge, and one that is not there gets one.
            var lost = 0
            for id in sum.registered.subtracting(kept) {
                let body = try JSONEncoder().encode(Body.ChallengeRequest(keyID: id, purpose: .signIn))
                // A connection each: one address may not ask so often.
                let last = HTTPConnection(port: target.port[target.port.count - 1])
                if try last.request("POST", "/v1/challenges", body).status != 401 { lost += 1 }
            }
            print(
                [sum.registered.count, lost, sum.challenges, sum.once, sum.twice, sum.unavailable, sum.broken]
                    .map(String.init).joined(separator: "\t"))
            guard lost == 0, sum.twice == 0, !sum.registered.isEmpty, sum.once > 0 else { throw ExitCode.failure }
        }
    }
}

struct FaultSum: Sendable {
    /// Key ids.
    var registered: Set<String> = []
    var challenges = 0
    var once = 0
    var twice = 0
    var unavailable = 0
    var broken = 0

    mutating func add(_ other: Self) {
        registered.formUnion(other.registered)
        challenges += other.challenges
        once += other.once
        twice += other.twice
        unavailable += other.unavailable
        broken += other.broken
    }
}

/// One thread's work: a new key in each turn.
struct FaultWorker {
    var sum = FaultSum()
    private let account: LoadAccount
    private let target: Target
    private let connections: [HTTPConnection]
    private var next: Int
    /// One for all turns: each new key replaces the one before it, so that the account does not fill up.
    private let deviceID = SoftwareDevice.random(16)

    init(number: Int, account: LoadAccount, target: Target) {
        self.account = account
        self.target = target
        connections = target.port.map(HTTPConnection.init)
        next = number
    }

    mutating func turn() throws {
        let session = account.session
        let device = SoftwareDevice(userHandle: account.userHandle, deviceID: deviceID, target: target)
        guard try status({ try device.register($0, session: session) }) == 201 else { return }
        sum.registered.insert(device.id.base64URL)

        var challenge: String?
        _ = try status { connection in
            let answer = try device.challenge(connection)
            challenge = answer.challenge
            return answer.status
        }
        guard let challenge else { return }
        sum.challenges += 1
        var accepted = 0
        // One after the other on different servers, also after an answer that was lost.
        for _ in 0..<3 {
            let status = try status { try device.answer(challenge, $0) }
            if status == 200 { accepted += 1 }
        }
        if accepted == 1 { sum.once += 1 }
        if accepted > 1 { sum.twice += 1 }
    }

    /// Nil if the connection broke.
    private mutating func status(_ request: (HTTPConnection) throws -> Int) throws -> Int? {
        next += 1
        do {
            let status = try request(connections[next % connections.count])
            if status == 503 {
                sum.unavailable += 1
                usleep(20_000)
            }
            return status
        } catch is HTTPConnection.Broken {
            sum.broken += 1
            usleep(20_000)
            return nil
        }
    }
}
