import BridgeCore
import CTouchstoneWiping
import Dispatch
import Foundation
import Glibc
import SyncEngine
import SyncStores
import TouchstoneDevice

/// One line of JSON, from `touchstone sync` to this program or back; `step` says which fields there are.
struct Step: Codable, Sendable {
    var step: String
    var text: String?
    var application: Data?
    var challenge: Data?
    var reveal: Data?
    var links: [Data]?
    var status: Int32?
}

/// What `touchstone sync` and this program say to each other, on standard input and output.
///
/// That command has the passcode and shows the digits. This program has the store, whose bytes anybody may have written. So neither does the
/// other's part.
struct Conversation: Sendable {
    let device: Device
    let calls: DeviceCalls

    /// The command went away, or does not go on.
    struct Ended: Error {}

    /// Runs one command's half, and ends this process.
    ///
    /// - Parameter body: What is done; what it throws is told as a sentence and an exit status.
    /// - Throws: `ValidationError` if no device can have the name that was given.
    static func run(_ body: @escaping @Sendable (Conversation) async throws -> Void) throws -> Never {
        _ = touchstone_wipes_memory()
        _ = BridgeProcess.harden()
        let device = try Device.forThisProgram()
        let conversation = Conversation(device: device, calls: DeviceCalls(device))
        Task {
            do {
                try await body(conversation)
                conversation.say("done")
                exit(0)
            } catch is Ended {
                exit(1)
            } catch {
                let (text, status) = Self.sentence(error)
                conversation.say(Step(step: "failed", text: text, status: status))
                exit(status)
            }
        }
        dispatchMain()
    }

    func say(_ step: String) { say(Step(step: step)) }

    func say(_ step: Step) {
        guard let line = try? JSONEncoder().encode(step) else { return }
        try? FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8))
    }

    /// Waits for one step of the command's.
    ///
    /// - Throws: `Ended` for every other one.
    func hear(_ step: String) async throws -> Step {
        let line = PasscodeLine.read(longest: 64 << 10)
        guard let line, let heard = try? JSONDecoder().decode(Step.self, from: Data(line)), heard.step == step else {
            throw Ended()
        }
        return heard
    }

    /// The store that the command line names, with the secret that the command asks for.
    ///
    /// - Throws: A refusal too if the device does not serve this program: later the circle would be made already.
    func newStore(_ options: StoreOptions) async throws -> (StoreSettings, any SyncStore) {
        do throws(DeviceFailure) {
            _ = try await calls.links(after: nil)
        } catch .noCircle {
            // There is none yet.
        }
        var settings = try options.settings
        if let question = try settings.question {
            say(Step(step: "secret", text: question))
            let secret = PasscodeBuffer()
            guard PasscodeLine.read(into: secret) else { throw Ended() }
            guard !secret.isTooLong else {
                throw StoreError.configuration("the store's secret is longer than 256 bytes")
            }
            settings.take(secret: secret)
        }
        let store = try settings.open()
        try await store.prepare()
        return (settings, store)
    }

    /// The store that this device has.
    func store() async throws -> any SyncStore {
        guard let settings = try StoreSettings.read(device) else {
            throw StoreError.configuration(
                "this device has no store: run 'touchstone sync create STORE' or 'touchstone sync join STORE' first")
        }
        let store = try settings.open()
        try await store.prepare()
        return store
    }

    private static func sentence(_ error: any Error) -> (String, Int32) {
        switch error {
        case let error as StoreError:
            switch error {
            case .configuration, .refused, .invalid: (error.description, 78)
            case .unavailable, .damaged, .taken: (error.description, 69)
            }
        case let error as DeviceFailure:
            if case .unavailable = error { (error.description, 69) } else { (error.description, 5) }
        case BridgeFailure.locked: ("the device is locked; unlock it with 'touchstone device unlock'", 5)
        case BridgeFailure.unavailable: ("the device does not answer: is it booted?", 69)
        case let error as Refusal: (error.text, 5)
        default: ("\(error)", 70)
        }
    }
}

/// A sentence of a command's.
struct Refusal: Error {
    var text: String
}

/// Reads standard input byte by byte, so that nothing typed stays in a buffer of a library.
enum PasscodeLine {
    /// False if there is nothing to read any more.
    static func read(into buffer: PasscodeBuffer) -> Bool {
        next { buffer.append($0) }
    }

    static func read(longest: Int) -> [UInt8]? {
        var line: [UInt8] = []
        guard next({ if line.count < longest { line.append($0) } }) else { return nil }
        return line
    }

    private static func next(_ take: (UInt8) -> Void) -> Bool {
        while true {
            var byte: UInt8 = 0
            let count = unsafe Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            if byte == UInt8(ascii: "\n") { return true }
            take(byte)
        }
    }
}
