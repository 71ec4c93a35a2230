import Foundation
import Testing
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces

/// What a window shows of a prompt, and when keys at it count.
struct PromptCardTests {
    private typealias Prompt = AgentInterface.Prompt

    private func card(_ prompt: AgentInterface.Prompt, secondsLeft: Int = 0) -> PromptCard {
        PromptCard(prompt, state: 1, secondsLeft: secondsLeft)
    }

    private func isolated(_ text: String) -> String { "\u{201C}\u{2068}\(text)\u{2069}\u{201D}" }

    private func facts(_ facts: (AgentInterface.FactKind, String)...) -> AgentInterface.Prompt {
        var prompt = Prompt.test(reason: "")
        prompt.facts = facts.map { AgentInterface.Fact(kind: $0.0, text: $0.1) }
        return prompt
    }

    @Test("DA-3: what is asked, who asks, and the rest with its source")
    func order() {
        let card = card(.test(reason: "read your mail", operation: .useItem, keyLabel: "mail"))
        #expect(card.what == isolated("read your mail"))
        #expect(card.object == "Use an item \(isolated("mail"))")
        #expect(card.name == isolated("gate"))
        #expect(card.path == "\u{2068}/usr/bin/gate\u{2069}")
        #expect(card.details.map(\.source) == [.verified, .claim, .claim])
        #expect(card.details.first?.text.contains("asked by \(isolated("/usr/bin/gate"))") == true)
    }

    @Test("DA-3, ND-5: the details say that a bridge's facts are its word") func bridge() {
        #expect(card(facts((.command, "make"))).act == .file)
        #expect(card(facts((.item, "token"))).details.contains { $0.source == .bridge })
        #expect(card(.test(phase: .unlock)).act == .door)
    }

    @Test("BR-20: what a bridge says in its sentence is not replaced by its facts")
    func bridgesWarning() {
        var prompt = facts((.host, "git.example"), (.user, "me"))
        prompt.reason =
            "sign in to git.example as me, with another host key than before, asked by a program on a.example"
        #expect(card(prompt).what == isolated(prompt.reason))
    }

    @Test("DA-3: markup, direction marks and length of a name change nothing around it")
    func hostileName() {
        let name = "<b>bank</b>\u{202E}\u{2066}e\u{301}\n" + String(repeating: "x", count: 4000)
        let card = card(.test(name: name, identifier: "/tmp/\(name)", reason: name))
        for text in [card.name, card.path, card.what] + card.details.map(\.text) {
            #expect(!text.unicodeScalars.contains { [0x202E, 0x2066, 0x0A].contains($0.value) })
            let open = text.unicodeScalars.count { $0.value == 0x2068 }
            #expect(open == text.unicodeScalars.count { $0.value == 0x2069 } && open > 0)
        }
        #expect(card.name.contains("<b>bank"), "it is text, and stays what it was")
        #expect(card.what.utf8.count < 200 && card.name.utf8.count < 80)
    }

    @Test("DA-9: each phase has its own buttons, and an entry where something is typed")
    func phases() {
        func actions(_ prompt: AgentInterface.Prompt, secondsLeft: Int = 0) -> [PromptCard.Action] {
            card(prompt, secondsLeft: secondsLeft).buttons.map(\.action)
        }
        #expect(actions(.test()) == [.cancel])
        #expect(actions(.test(fallback: "Use Passcode")) == [.fallback, .cancel])
        #expect(actions(.test(biometry: .faceID, phase: .permission)) == [.allow, .deny, .cancel])
        #expect(actions(.test(biometry: .faceID, phase: .retry)) == [.tryAgain, .cancel])
        #expect(actions(.test(phase: .fallback, fallback: "Use Passcode")) == [.fallback, .cancel])
        for phase in [AgentInterface.Phase.passcode, .applicationPassword, .unlock] {
            #expect(actions(.test(phase: phase)) == [.enter, .cancel])
            #expect(card(.test(phase: phase)).entry != nil)
        }
        #expect(actions(.test(phase: .passcode), secondsLeft: 9) == [.cancel])
        #expect(card(.test(phase: .passcode), secondsLeft: 9).entry == nil)
        var fixed = Prompt.test(phase: .passcode)
        fixed.passcodeKind = .sixDigit
        #expect(card(fixed).entry?.isDigits == true && card(fixed).entry?.length == 6)
    }
}

/// When keys count.
final class DeadTimeTests {
    private var now = ContinuousClock.now
    private lazy var time = DeadTime(now: { [unowned self] in now })

    @Test("DA-5: for half a second nothing counts at a new prompt") func fresh() {
        time.began()
        #expect(time.left == .milliseconds(500))
        now += .milliseconds(499)
        #expect(time.left == .milliseconds(1))
        now += .milliseconds(1)
        #expect(time.left == .zero)
    }

    @Test("DA-5: for a second where it took the place of another", arguments: [0, 999, 1001])
    func replaced(after milliseconds: Int) {
        time.interrupted()
        now += .milliseconds(milliseconds)
        time.began()
        #expect(time.left == .milliseconds(milliseconds > 1000 ? 500 : 1000))
    }
}
