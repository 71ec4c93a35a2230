internal import Foundation
internal import Synchronization
import TouchstoneCore
package import TouchstoneInterfaces
internal import TouchstoneTransport

/// What threads that wait have to tell the session's thread, which waits in `poll`.
package final class AgentInbox: Sendable {
    package enum Message: Sendable {
        case event(AgentInterface.Event, AgentInterface.Prompt?)
        /// The subscription ended, and why.
        case disconnected(any Error)
        case signal(Int32)
    }

    /// Readable while there are messages.
    package var descriptor: Int32 { doorbell.descriptor }
    private let doorbell: Doorbell
    private let messages = Mutex<[Message]>([])

    package init() throws {
        doorbell = try Doorbell()
    }

    package func post(_ message: Message) {
        messages.withLock { $0.append(message) }
        doorbell.ring()
    }

    package func take() -> [Message] {
        doorbell.answer()
        return messages.withLock { messages in
            defer { messages = [] }
            return Self.current(messages)
        }
    }

    /// Without the prompts that gave way to another before anybody saw them: showing each of them would make this agent late.
    package static func current(_ messages: [Message]) -> [Message] {
        var newest: String?
        let current = messages.reversed().filter { message in
            guard case .event(.show, let prompt?) = message else { return true }
            if newest == nil { newest = prompt.identifier }
            return prompt.identifier == newest
        }
        return current.reversed()
    }

    /// Makes `channel` an agent's connection and posts what comes, from a thread of its own.
    package func subscribe(_ channel: AgentChannel) {
        Thread.detachNewThread { [self] in
            do {
                try channel.client.stream(
                    AgentInterface.Subscribe.self, .init(version: AgentInterface.version)
                ) { reply in
                    post(.event(reply.event, reply.prompt))
                    return true
                }
                post(.disconnected(AgentError.ended(nil)))
            } catch {
                post(.disconnected(AgentError.isGone(error) ? AgentError.ended(error) : error))
            }
        }
    }
}
