import Crypto
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
        case ("match", 1): print(try await match("match to reply", placement: words[0]).line)
        case ("match", 3):
            let readers = try Readers(count: number(words[1]), items: number(words[2]), placement: words[0])
            let timing = try await match("match among \(words[1])", placement: words[0])
            print(timing.line, try readers.end(), separator: "\n")
        case ("readers", 3): try Readers.run(count: number(words[0]), items: number(words[1]), placement: words[2])
        case ("adders", 2): try Adders.run(count: number(words[0]), placement: words[1])
        case ("prompt", 2): try prompt(items: number(words[0]), placement: words[1])
        case ("sign", 1): try await sign(placement: words[0])
        case ("boot", 4): try boot(count: number(words[0]), placement: words[1], touchstone: words[2], device: words[3])
        default: throw UsageError()
        }
    }

    /// Stores the items numbered `first..<last`.
    private static func fill(from first: Int, to last: Int) throws {
        for number in first..<last { try check(Item(number).add()) }
    }

    /// Reads, adds and updates while `count` items are stored, of which no key is open: the device was locked before.
    private static func items(_ count: Int, placement: String) async throws {
        func key(_ operation: String) -> Timing.Key {
            .init("touchstone", operation, items: count, placement)
        }
        // A stride that visits the items in no order that an index would like.
        func item(_ index: Int) -> Item { Item(index &* 7919 % count) }
        // So many that the device keeps all of their keys.
        func readBefore(_ index: Int) -> Item { item(index % min(count, 1_000)) }

        print(try measure(key("first read"), count: min(300, count * 9 / 10)) { try check(item($0).read()) }.line)
        print(try measure(key("add"), count: 300) { try check(Item(count + $0).add()) }.line)
        print(try measure(key("read after add"), count: 300) { try check(Item(count + $0).read()) }.line)
        for index in 0..<330 { try check(Item(count + index).delete()) }
        print(try measure(key("update"), count: 300) { try check(item($0).update()) }.line)
        for index in 0..<min(count, 1_000) { try check(readBefore(index).read()) }
        print(try measure(key("read"), count: 2_000) { try check(readBefore($0).read()) }.line)

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

    /// From the sensor's match to the app's reply: one round of it, with a new context each time, or the second would ask for nobody.
    private static func match(_ operation: String, placement: String) async throws -> Timing {
        let owner = try OwnerAtHand(finger: "left-index")
        var durations: [Duration] = []
        // Each takes more than half a second, in which the sensor does not count yet.
        for _ in 0..<60 {
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
        return Timing(.init("touchstone", operation, items: 0, placement), durations: durations)
    }

    /// Reading an item without protection while nobody is asked anything, and while a prompt waits for the owner; in turns, so that both meet
    /// the same machine.
    private static func prompt(items: Int, placement: String) throws {
        let owner = try OwnerAtHand(finger: nil)
        var durations: (alone: [Duration], beside: [Duration]) = ([], [])
        func read(_ durations: inout [Duration]) throws {
            for index in 0..<500 {
                let start = ContinuousClock.now
                try check(Item(index &* 7919 % items).read())
                durations.append(ContinuousClock.now - start)
            }
        }
        var warmUp: [Duration] = []
        try read(&warmUp)
        for _ in 0..<4 {
            try read(&durations.alone)
            let context = LAContext()
            let answered = DispatchSemaphore(value: 0)
            context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "measure") { _, _ in
                answered.signal()
            }
            owner.waitForPrompt()
            try read(&durations.beside)
            context.invalidate()
            answered.wait()
        }
        owner.leave()
        print(Timing(.init("touchstone", "read, no prompt", items: 0, placement), durations: durations.alone).line)
        print(Timing(.init("touchstone", "read, prompt", items: 0, placement), durations: durations.beside).line)
    }

    /// ECDSA of P-256 with SHA-256: by the enclave, by ssh-agent where there is one, and in this process.
    private static func sign(placement: String) async throws {
        let message = Data(repeating: 0x5A, count: 32)
        func key(_ subject: String) -> Timing.Key { .init(subject, "sign", items: 0, placement) }

        let owner = try OwnerAtHand(finger: "left-index")
        let context = LAContext()
        try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "measure")
        owner.leave()
        let enclaveKey = try FingerGuardedKey(context: context)
        defer { FingerGuardedKey.delete() }
        print(try measure(key("touchstone"), count: 2_000) { _ in try enclaveKey.sign(message) }.line)

        if let path = ProcessInfo.processInfo.environment["SSH_AUTH_SOCK"] {
            let agent = try SSHAgent(path: path)
            print(try measure(key("ssh-agent"), count: 2_000) { _ in _ = try agent.sign(message) }.line)
        }
        let rawKey = P256.Signing.PrivateKey()
        print(
            try measure(key("floor"), count: 2_000) { _ in
                _ = try rawKey.signature(for: message).derRepresentation
            }.line)
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
            keychain-benchmark match PLACEMENT [READERS ITEMS]
            keychain-benchmark readers COUNT ITEMS PLACEMENT
            keychain-benchmark adders COUNT PLACEMENT
            keychain-benchmark prompt ITEMS PLACEMENT
            keychain-benchmark sign PLACEMENT
            keychain-benchmark boot COUNT PLACEMENT TOUCHSTONE DEVICE
            """
        }
    }
}
