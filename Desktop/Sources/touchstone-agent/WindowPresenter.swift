import Foundation
import TouchstoneAgent

/// Hands what the agent's thread says over to the main thread.
struct WindowPresenter: PromptPresenter {
    func show(_ card: PromptCard) { MainThread.call { WindowEvents.receiver?.show(card) } }
    func confirmed() { MainThread.call { WindowEvents.receiver?.confirmed() } }
    func remove() { MainThread.call { WindowEvents.receiver?.remove() } }
    func note(_ words: String) { Journal.write(words) }
}

/// Standard error, which is the journal of a service and of a session.
enum Journal {
    static func write(_ words: String) {
        // Nobody is left to tell if this fails.
        try? FileHandle.standardError.write(contentsOf: Data("touchstone-agent: \(words)\n".utf8))
    }
}
