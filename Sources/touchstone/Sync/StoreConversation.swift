import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice
import TouchstoneSystem

/// One line of JSON, to `touchstone-sync` or from it; `step` says which fields there are.
struct StoreStep: Codable {
    var step: String
    var text: String?
    var application: Data?
    var challenge: Data?
    var reveal: Data?
    var links: [Data]?
    var status: Int32?
}

/// `touchstone-sync`, while it does the store's half of one command (SY-32).
///
/// This program has the passcode and shows the digits. That one reads what the store gives, which anybody may have written.
@safe final class StoreConversation {
    private let child: Child
    private let descriptor: Int32
    private var received = Data()
    /// Whether the store's secret may be asked for: once, before anything else is said, and where a store is chosen.
    private var mayAsk: Bool
    /// Most bytes of a line: all links of a circle.
    private static let longestLine = 128 << 20

    /// Starts it for a device.
    init(_ paths: DevicePaths, _ arguments: [String]) throws {
        mayAsk = ["create", "join", "recover"].contains(arguments.first)
        let program = try Program.ofSync.locate()
        unsafe setenv(DevicePaths.environmentVariable, paths.name, 1)
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure.system("a socket pair") }
        defer { close(ends[1]) }
        descriptor = ends[0]
        child = try Child.start(
            program, arguments,
            inheriting: [
                (STDIN_FILENO, .descriptor(ends[1])), (STDOUT_FILENO, .descriptor(ends[1])),
                (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0)
    }

    deinit {
        close(descriptor)
        _ = child.wait()
    }

    /// Sends one step.
    func say(_ step: StoreStep) throws {
        try send(JSONEncoder().encode(step) + Data("\n".utf8))
    }

    func say(_ step: String) throws { try say(StoreStep(step: step)) }

    /// Sends what was typed, as a line of its own.
    func say(secret: PasscodeBuffer) throws {
        secret.append(UInt8(ascii: "\n"))
        try unsafe secret.withUnsafeBytes { try unsafe send($0) }
        secret.wipe()
    }

    /// Waits for the next step, and answers questions for the store's secret before it.
    ///
    /// - Throws: `Failure`: what it says, or that it ended.
    func hear() throws -> StoreStep {
        while true {
            let step = try next()
            defer { mayAsk = false }
            switch step.step {
            // It is a program of its own, and must not ask for what is not its business.
            case "secret" where mayAsk:
                let question = PlainText.line(step.text ?? "The store's secret: ")
                try say(secret: SecretQuestion.ask("touchstone-sync asks. \(question)"))
            case "failed":
                throw Failure(
                    step.status.flatMap(ExitStatus.init(rawValue:)) ?? .internalError,
                    step.text.map(PlainText.line) ?? "touchstone-sync failed")
            default: return step
            }
        }
    }

    /// Waits for one step.
    @discardableResult
    func hear(_ step: String) throws -> StoreStep {
        let heard = try hear()
        guard heard.step == step else { throw Failure(.internalError, "touchstone-sync said '\(heard.step)'") }
        return heard
    }

    private func next() throws -> StoreStep {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received = Data(received[received.index(after: end)...]) }
                guard let step = try? JSONDecoder().decode(StoreStep.self, from: received[..<end]) else { break }
                return step
            }
            let count = unsafe recv(descriptor, &piece, piece.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0, received.count < Self.longestLine else { break }
            received.append(contentsOf: piece.prefix(count))
        }
        throw Failure(.internalError, "touchstone-sync ended without an answer")
    }

    private func send(_ bytes: Data) throws { try unsafe bytes.withUnsafeBytes { try unsafe send($0) } }

    private func send(_ bytes: UnsafeRawBufferPointer) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe Glibc.send(
                descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))  // it is not empty
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(.internalError, "touchstone-sync ended without an answer") }
            sent += count
        }
    }
}

/// Asks for a store's secret: at a terminal without echo, else the next line of standard input.
private enum SecretQuestion {
    static func ask(_ question: String) throws -> PasscodeBuffer {
        guard Terminal.isInput else { return try line() }
        return try Terminal.withoutEcho {
            StandardError.write(question)
            defer { StandardError.write("\n") }
            return try line()
        }
    }

    private static func line() throws -> PasscodeBuffer {
        guard let line = PasscodeBuffer(lineFrom: STDIN_FILENO) else {
            throw Failure(.cancelled, "no secret was entered; give the store's on the first line of standard input")
        }
        return line
    }
}
