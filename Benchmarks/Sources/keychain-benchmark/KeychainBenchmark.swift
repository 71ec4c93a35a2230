import Foundation
import LocalAuthentication
import Security
import Timing

/// The app whose calls are timed: prints one line for each operation.
@main
struct KeychainBenchmark {
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        let command = arguments.popFirst()
        let words = Array(arguments)
        switch (command, words.count) {
        case ("fill", 2): try fill(from: number(words[0]), to: number(words[1]))
        case ("items", 2): try await items(number(words[0]), placement: words[1])
        case ("repeat", 3): try repeatCall(words[0], number(words[1]), items: number(words[2]))
        case ("match", 1): try await match(placement: words[0])
        case ("boot", 4): try boot(count: number(words[0]), placement: words[1], touchstone: words[2], device: words[3])
        default: throw UsageError()
        }
    }

    /// Stores the items numbered `first..<last`.
    private static func fill(from first: Int, to last: Int) throws {
        for number in first..<last { try check(Item(number).add()) }
    }

    /// Reads, adds and updates while `count` items are stored.
    private static func items(_ count: Int, placement: String) async throws {
        func key(_ operation: String) -> Timing.Key {
            .init("touchstone", operation, items: count, placement)
        }
        // A stride that visits the items in no order that an index would like.
        func item(_ index: Int) -> Item { Item(index &* 7919 % count) }

        print(try measure(key("read"), count: 2_000) { try check(item($0).read()) }.line)
        print(try measure(key("update"), count: 300) { try check(item($0).update()) }.line)
        print(try measure(key("add"), count: 300) { try check(Item(count + $0).add()) }.line)
        for index in 0..<330 { try check(Item(count + index).delete()) }

        let owner = try OwnerAtHand(finger: "left-index")
        let context = LAContext()
        try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "measure")
        owner.leave()
        let item = ProtectedItem(context: context)
        try check(item.add())
        print(try measure(key("protected read"), count: 1_000) { _ in try check(item.read()) }.line)
        try check(item.delete())
    }

    /// One call over and over, for a profiler to look at.
    private static func repeatCall(_ operation: String, _ count: Int, items: Int) throws {
        let timing = try measure(.init("touchstone", operation, items: items, "repeat"), count: count) { index in
            switch operation {
            case "read": try check(Item(index &* 7919 % items).read())
            case "update": try check(Item(index &* 7919 % items).update())
            case "add": try check(Item(items + index).add())
            default: throw UsageError()
            }
        }
        print(timing.line)
        guard operation == "add" else { return }
        for index in 0..<(count / 10 + count) { try check(Item(items + index).delete()) }
    }

    /// From the sensor's match to the app's reply, with a new context each time, or the second would ask for nobody.
    private static func match(placement: String) async throws {
        let owner = try OwnerAtHand(finger: "left-index")
        var durations: [Duration] = []
        for _ in 0..<500 {
            let context = LAContext()
            let end: ContinuousClock.Instant = try await withCheckedThrowingContinuation { continuation in
                context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "measure") {
                    _, error in
                    let now = ContinuousClock.now
                    continuation.resume(with: error.map { .failure($0) } ?? .success(now))
                }
            }
            durations.append(end - owner.lastTouch)
        }
        owner.leave()
        print(Timing(.init("touchstone", "match to reply", items: 0, placement), durations: durations).line)
    }

    /// From starting the command to the device's first answer.
    private static func boot(count: Int, placement: String, touchstone: String, device: String) throws {
        let durations = try (0..<count).map { _ in
            let start = ContinuousClock.now
            let boot = try Process.run(
                URL(fileURLWithPath: touchstone), arguments: ["device", "boot", device, "--detach"])
            try VarlinkConnection.whenAccepted(device: device).call("io.touchstone.Device.GetStatus")
            let duration = ContinuousClock.now - start
            boot.waitUntilExit()
            try Process.run(URL(fileURLWithPath: touchstone), arguments: ["device", "shutdown", device])
                .waitUntilExit()
            return duration
        }
        print(Timing(.init("touchstone", "boot", items: 0, placement), durations: durations).line)
    }

    private static func number(_ word: String) throws -> Int {
        guard let number = Int(word) else { throw UsageError() }
        return number
    }

    private static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
    }

    private struct UsageError: Error, CustomStringConvertible {
        var description: String {
            """
            keychain-benchmark fill FROM TO
            keychain-benchmark items COUNT PLACEMENT
            keychain-benchmark repeat read|update|add CALLS ITEMS
            keychain-benchmark match PLACEMENT
            keychain-benchmark boot COUNT PLACEMENT TOUCHSTONE DEVICE
            """
        }
    }
}
