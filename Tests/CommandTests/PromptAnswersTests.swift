import Foundation
import Glibc
import Testing
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces

@testable import touchstone

/// What is typed belongs to the prompt at which it was begun.
final class KeyboardAnswersTests {
    private let reading: Int32
    private let writing: Int32
    private var now = ContinuousClock.now
    private lazy var answers = KeyboardAnswers(input: reading, now: { [unowned self] in now })

    init() {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe pipe(&ends) == 0)
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    private func prompt(_ identifier: String, phase: AgentInterface.Phase = .passcode) -> AgentInterface.Prompt {
        var prompt = AgentInterface.Prompt.test(phase: phase)
        prompt.identifier = identifier
        return prompt
    }

    private func type(_ keys: String, at prompt: AgentInterface.Prompt?) -> PromptAnswer? {
        let bytes = Array(keys.utf8)
        #expect(unsafe write(writing, bytes, bytes.count) == bytes.count)
        return answers.inputArrived(prompt)
    }

    private func isPasscode(_ answer: PromptAnswer?, _ text: String) -> Bool {
        guard case .passcode(let passcode)? = answer else { return false }
        return Array(passcode) == Array(text.utf8)
    }

    @Test(
        "AT-17: keys meant for the prompt before count for nothing at the one that takes its place",
        arguments: [true, false])
    func replaced(endsFirst: Bool) {
        let (first, second) = (prompt("1"), prompt("2"))
        _ = answers.promptChanged(first, isNew: true)
        #expect(type("27", at: first) == nil)
        #expect(answers.entered == 2)
        if endsFirst { answers.promptEnded() }
        now += .milliseconds(5)
        _ = answers.promptChanged(second, isNew: true)
        #expect(answers.entered == 0, "what was typed is dropped")
        now += .milliseconds(999)
        #expect(type("1828\r", at: second) == nil)
        #expect(type("\u{1B}", at: second) == nil)
        #expect(answers.entered == 0)
        now += .milliseconds(1)
        #expect(isPasscode(type("314159\r", at: second), "314159"))
    }

    @Test("AT-17: nor do they allow anything where the next prompt asks for a key") func permission() {
        let (first, second) = (prompt("1"), prompt("2", phase: .permission))
        _ = answers.promptChanged(first, isNew: true)
        _ = type("a", at: first)
        _ = answers.promptChanged(second, isNew: true)
        #expect(type("a", at: second) == nil)
        now += .seconds(1)
        guard case .permission(true)? = type("a", at: second) else {
            Issue.record("it is allowed after a second")
            return
        }
    }

    @Test("One prompt after another keeps the keys off for as long as they come") func flood() {
        _ = answers.promptChanged(prompt("0"), isNew: true)
        for number in 1...5 {
            now += .milliseconds(900)
            let next = prompt("\(number)")
            _ = answers.promptChanged(next, isNew: true)
            #expect(type("1234\r", at: next) == nil)
        }
    }

    @Test("After an answer, and after a while, the next prompt takes keys at once", arguments: [true, false])
    func notReplaced(isAnswered: Bool) {
        let (first, second) = (prompt("1"), prompt("2"))
        _ = answers.promptChanged(first, isNew: true)
        if isAnswered {
            #expect(isPasscode(type("1234\r", at: first), "1234"))
            answers.promptEnded()
        } else {
            _ = type("12", at: first)
            answers.promptEnded()
            now += .milliseconds(1001)
        }
        _ = answers.promptChanged(second, isNew: true)
        #expect(isPasscode(type("5678\r", at: second), "5678"))
    }

    @Test("The same prompt in another state takes keys at once") func anotherState() {
        let shown = prompt("1")
        _ = answers.promptChanged(shown, isNew: true)
        _ = type("12", at: shown)
        _ = answers.promptChanged(shown, isNew: false)
        #expect(isPasscode(type("5678\r", at: shown), "5678"))
    }
}

struct AgentInboxTests {
    private func event(_ event: AgentInterface.Event, _ identifier: String, failures: Int = 0) -> AgentInbox.Message {
        var prompt = AgentInterface.Prompt.test(failures: failures)
        prompt.identifier = identifier
        return .event(event, prompt)
    }

    private func words(_ messages: [AgentInbox.Message]) -> [String] {
        messages.map { message in
            switch message {
            case .event(let event, let prompt): "\(event) \(prompt?.identifier ?? "") \(prompt?.failures ?? 0)"
            case .signal(let number): "signal \(number)"
            case .disconnected: "disconnected"
            }
        }
    }

    @Test("A prompt that gave way before anybody saw it is not shown; all else comes, in its order") func superseded()
        throws
    {
        let inbox = try AgentInbox()
        for message in [
            .event(.ready, nil), event(.show, "1"), event(.dismissed, "1"), event(.show, "2"), .signal(28),
            event(.dismissed, "2"), event(.show, "3"), event(.show, "3", failures: 1),
        ] as [AgentInbox.Message] { inbox.post(message) }
        #expect(
            words(inbox.take()) == [
                "ready  0", "dismissed 1 0", "signal 28", "dismissed 2 0", "show 3 0", "show 3 1",
            ])
        #expect(inbox.take().isEmpty)
    }

    @Test("The states of one prompt, and its end, all come") func oneOnly() throws {
        let inbox = try AgentInbox()
        let messages = [event(.show, "1"), event(.show, "1", failures: 1), event(.succeeded, "1")]
        for message in messages { inbox.post(message) }
        #expect(words(inbox.take()) == words(messages))
    }
}
