import Timing

/// What a figure may be, and how it follows from the timings of one run.
struct Budget {
    enum Limit: CustomStringConvertible {
        case atMost(Double)
        case atLeast(Double)

        var description: String {
            switch self {
            case .atMost(let limit): "≤ \(limit.formatted())"
            case .atLeast(let limit): "≥ \(limit.formatted())"
            }
        }

        func allows(_ value: Double) -> Bool {
            switch self {
            case .atMost(let limit): value <= limit
            case .atLeast(let limit): value >= limit
            }
        }
    }

    var title: String
    /// nil: it is told, and held against nothing.
    var limit: Limit?
    var unit: String
    /// One value for each round; none where this run did not measure it.
    var values: @Sendable (Results) -> [Double]

    func rounds(_ results: Results) -> Rounds? { Rounds(values(results)) }

    static let all: [Budget] =
        placements.flatMap(ratios)
        + placements.map { matchToReply("match to reply", $0, .atMost(5)) }
        + [matchToReply("match among 50", "free", .atMost(8)), matchToReply("match among 50", "pinned", nil)]
        + [boot, memory] + guesses + placements.flatMap(bridgeTimes)
        + residents.map(bridgeMemory) + [bridgeConnections] + placements.flatMap(secretService)
        + placements.map { window("touchstone", $0, .atMost(100)) }
        + placements.map { window("pinentry-gtk-2", $0, nil) } + [agentMemory]

    private static let placements = ["pinned", "free"]

    private static func ratios(_ placement: String) -> [Budget] {
        /// Each round's own dividend over its own divisor, which were measured in the same minute.
        func ratio(
            _ title: String, _ limit: Limit?, _ subject: String, _ operation: String, _ items: Int,
            over divisor: String,
            _ divisorOperation: String, _ divisorItems: Int,
            of figure: @escaping @Sendable (Timing) -> Double = { $0.p50Microseconds }
        ) -> Budget {
            Budget(title: "\(title), \(placement)", limit: limit, unit: "×") { results in
                let dividends = results[subject, operation, items, placement]
                let divisors = results[divisor, divisorOperation, divisorItems, placement]
                return zip(dividends, divisors).map { figure($0) / figure($1) }
            }
        }

        let peer = "gnome-keyring"
        let ours = "touchstone"
        return [
            ratio(
                "read of an item opened before / floor, 1,000 items", .atMost(3), ours, "read", 1_000, over: "floor",
                "read", 1_000),
            ratio(
                "first read / floor, 1,000 items", .atMost(5), ours, "first read", 1_000, over: "floor", "read", 1_000),
            ratio(
                "gnome-keyring read / read, 1,000 items", .atLeast(15), peer, "read", 1_000, over: ours, "read", 1_000),
            ratio(
                "gnome-keyring read / read, 10,000 items", .atLeast(25), peer, "read", 10_000, over: ours, "read",
                10_000),
            ratio("sign / ssh-agent's", .atMost(0.4), ours, "sign", 0, over: "ssh-agent", "sign", 0),
            ratio(
                "touchstone-ssh-agent's sign / ssh-agent's", .atMost(1), ours, "agent sign", 0, over: "ssh-agent",
                "agent sign", 0),
            ratio(
                "read while a prompt waits / without one", .atMost(1.1), ours, "read, prompt", 0, over: ours,
                "read, no prompt", 0),
            ratio("add / bare SQLite insert, 1,000 items", .atMost(2), ours, "add", 1_000, over: "floor", "add", 1_000),
            // What is left above the least that three processes need (DEC-580).
            ratio(
                "add / floor of three processes, 1,000 items", nil, ours, "add", 1_000, over: "floor",
                "add, three processes", 1_000),
            ratio(
                "first read / floor of three processes, 1,000 items", nil, ours, "first read", 1_000, over: "floor",
                "first read, three processes", 1_000),
            ratio("update / add, 1,000 items", .atMost(1.2), ours, "update", 1_000, over: ours, "add", 1_000),
            ratio(
                "adds per second of 50 clients / of one", .atLeast(5), ours, "add, 50 clients", 0, over: ours,
                "add, 1 client", 0
            ) { $0.perSecond },
            ratio("gnome-keyring add / add, 100 items", .atLeast(5), peer, "add", 100, over: ours, "add", 100),
            ratio(
                "gnome-keyring add / add, 10,000 items", .atLeast(100), peer, "add", 10_000, over: ours, "add", 10_000),
        ]
            + ["read", "add", "update"].map { operation in
                ratio(
                    "\(operation), 1,000,000 items / 1,000 items", .atMost(1.3), ours, operation, 1_000_000, over: ours,
                    operation, 1_000)
            }
    }

    private static func matchToReply(_ operation: String, _ placement: String, _ limit: Limit?) -> Budget {
        let among = operation == "match to reply" ? "" : ", 50 clients reading"
        return Budget(
            title: "sensor says match → the app's reply runs\(among), p99, \(placement)", limit: limit, unit: "ms"
        ) {
            $0["touchstone", operation, 0, placement].map { $0.p99Microseconds / 1_000 }
        }
    }

    private static let boot = Budget(title: "boot to the first answer, p50", limit: .atMost(80), unit: "ms") {
        $0["touchstone", "boot", 0, "free"].map { $0.p50Microseconds / 1_000 }
    }

    private static let memory = Budget(
        title: "resident memory of both daemons, 10,000 items", limit: .atMost(40), unit: "MiB"
    ) {
        $0.residentKibibytes.map { [Double($0) / 1_024] } ?? []
    }

    /// What an unlock with the passcode takes of the daemons (PC-04), their other work for it included.
    private static let guesses = [Limit.atLeast(80), .atMost(250)].map { limit in
        Budget(title: "a check of the passcode, processor time", limit: limit, unit: "ms") { $0.guessMilliseconds }
    }

    /// What somebody with git or ssh waits for, after the owner has approved.
    private static func bridgeTimes(_ placement: String) -> [Budget] {
        [
            Budget(title: "touchstone-ssh-agent lists its keys, p50, \(placement)", limit: .atMost(100), unit: "µs") {
                $0["touchstone", "agent list", 0, placement].map(\.p50Microseconds)
            },
            Budget(title: "git credential fill, p50, \(placement)", limit: .atMost(30), unit: "ms") {
                $0["touchstone", "git credential fill", 0, placement].map { $0.p50Microseconds / 1_000 }
            },
        ]
            + [("touchstone", "touchstone-pkcs11"), ("softhsm", "SoftHSM")].map { subject, name in
                Budget(title: "\(name) signs through p11-kit's client, p50, \(placement)", limit: nil, unit: "µs") {
                    $0[subject, "pkcs11 sign", 0, placement].map(\.p50Microseconds)
                }
            }
    }

    private static let residents = [
        "touchstone-ssh-agent", "touchstone-credentials", "touchstone-pkcs11", "touchstone-secret-service",
        "touchstone-fido",
    ]

    private static func bridgeMemory(_ program: String) -> Budget {
        Budget(title: "resident memory of \(program)", limit: .atMost(15), unit: "MiB") {
            ($0.bridgeKibibytes[program] ?? []).map { $0 / 1_024 }
        }
    }

    /// What a desktop's program waits for, which asks by libsecret (SS-21).
    private static func secretService(_ placement: String) -> [Budget] {
        let (ours, peer) = ("secret-service", "gnome-keyring")
        func ratio(_ operation: String, _ items: Int, _ limit: Limit?) -> Budget {
            Budget(
                title: "gnome-keyring \(operation) / the Secret Service's, \(items.formatted()) items, \(placement)",
                limit: limit, unit: "×"
            ) { results in
                zip(results[peer, operation, items, placement], results[ours, operation, items, placement]).map {
                    $0.p50Microseconds / $1.p50Microseconds
                }
            }
        }
        return [
            ratio("lookup", 100, nil), ratio("lookup", 1_000, .atLeast(2)), ratio("lookup", 10_000, nil),
            ratio("store", 100, nil), ratio("store", 1_000, .atLeast(20)),
            Budget(
                title: "a lookup inside the Secret Service, 10,000 items, p50, \(placement)", limit: .atMost(1),
                unit: "ms"
            ) { results in
                let calls = ["search", "get"].map { results[ours, $0, 10_000, placement].map(\.p50Microseconds) }
                let empty = results[ours, "ping", 10_000, placement].map(\.p50Microseconds)
                return empty.indices.map { (calls[0][$0] + calls[1][$0] - 2 * empty[$0]) / 1_000 }
            },
            Budget(
                title: "calls of D-Bus alone / a lookup by libsecret, 1,000 items, \(placement)", limit: nil, unit: "×"
            ) { results in
                let count = results.busCalls["secret-service", default: [:]]["lookup"] ?? 0
                return zip(results[ours, "ping", 1_000, placement], results[ours, "lookup", 1_000, placement]).map {
                    count * $0.p50Microseconds / $1.p50Microseconds
                }
            },
        ]
    }

    /// What an owner waits for before there is something to read.
    private static func window(_ subject: String, _ placement: String, _ limit: Limit?) -> Budget {
        Budget(title: "\(subject)'s window is on the screen, p50, \(placement)", limit: limit, unit: "ms") {
            $0[subject, "window", 0, placement].map { $0.p50Microseconds / 1_000 }
        }
    }

    private static let agentMemory = Budget(
        title: "resident memory of touchstone-agent, which waits", limit: .atMost(40), unit: "MiB"
    ) { $0.agentKibibytes.map { $0 / 1_024 } }

    private static let bridgeConnections = Budget(
        title: "connections that each of them holds", limit: .atLeast(256), unit: ""
    ) { $0.bridgeConnections }
}
