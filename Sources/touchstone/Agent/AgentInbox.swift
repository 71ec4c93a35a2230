import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// What threads that wait have to tell the main thread, which waits in `poll`.
final class AgentInbox: Sendable {
    enum Message: Sendable {
        case event(AgentInterface.Event, AgentInterface.Prompt?)
        /// The subscription ended; the reason where it is more than a closed connection.
        case disconnected(Failure)
        case signal(Int32)
    }

    /// Readable while there are messages.
    let descriptor: Int32
    private let writing: Int32
    private let messages = Mutex<[Message]>([])

    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure.system("a socket pair") }
        descriptor = ends[0]
        writing = ends[1]
    }

    func post(_ message: Message) {
        messages.withLock { $0.append(message) }
        // A full buffer wakes the reader as well.
        _ = unsafe write(writing, "\n", 1)
    }

    func take() -> [Message] {
        var bytes = [UInt8](repeating: 0, count: 256)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
        return messages.withLock { messages in
            defer { messages = [] }
            return Self.current(messages)
        }
    }

    /// Without the prompts that gave way to another before anybody saw them: showing each of them would make this agent late.
    static func current(_ messages: [Message]) -> [Message] {
        var newest: String?
        let current = messages.reversed().filter { message in
            guard case .event(.show, let prompt?) = message else { return true }
            if newest == nil { newest = prompt.identifier }
            return prompt.identifier == newest
        }
        return current.reversed()
    }

    /// Waits for `numbers` in a thread of its own instead of being interrupted by them.
    func takeSignals(_ numbers: [Int32]) {
        let signals = SignalWait(numbers)
        Thread.detachNewThread { [self] in
            while let number = signals.next(within: nil) { post(.signal(number)) }
        }
    }

    /// Makes `device` an agent's connection and posts what comes, from a thread of its own.
    func subscribe(_ device: DeviceConnection) {
        Thread.detachNewThread { [self] in
            do {
                try device.stream(AgentInterface.Subscribe.self, .init(version: AgentInterface.version)) { reply in
                    post(.event(reply.event, reply.prompt))
                    return true
                }
                post(.disconnected(Failure(.unavailable, "\(device.paths.name) ended the agent's connection")))
            } catch {
                post(.disconnected(Failure.of(error, device.paths)))
            }
        }
    }

    deinit {
        close(descriptor)
        close(writing)
    }
}
