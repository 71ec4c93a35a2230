import LocalAuthentication
import Testing
import TouchstoneCore
import TouchstoneTesting
import TouchstoneTransport

/// Prompts of different apps come one after the other (DEC-073); within one app the newer ends the older (EV-53).
@Suite(.timeLimit(.minutes(10))) struct TurnTests {
    private let device: SimulatedDevice
    private let others = ["org.example.b", "org.example.c", "org.example.d"]

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
    }

    private func context(of app: String) -> LAContext { device.run(as: app) { LAContext() } }

    /// Has an app ask, and returns once its prompt is up, or once it waits behind `before`.
    private func ask(_ context: LAContext) -> Replies {
        let replies = Replies()
        replies.collect(biometrics, on: context)
        return replies
    }

    @Test("AT: another app's evaluation waits, and takes neither the prompt nor the touch of the one that is up")
    func anotherAppWaits() async throws {
        let (mine, theirs) = (context(of: others[0]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        let second = ask(theirs)
        try await waits(1)
        device.present(.finger(1))
        #expect(await first.only() == nil)
        await eventually { device.prompts.count == 2 }
        #expect(second.codes.isEmpty)
        #expect(device.prompts.last?.app == others[1])
        device.present(.finger(1))
        #expect(await second.only() == nil)
    }

    @Test("Who asked first comes first, and an app that asks again comes after those that wait")
    func inTheirOrder() async throws {
        let contexts = others.map(context)
        let again = context(of: others[0])
        let first = ask(contexts[0])
        await eventually { device.prompts.count == 1 }
        let second = ask(contexts[1])
        try await waits(1)
        let third = ask(contexts[2])
        try await waits(2)
        // EV-53: it ends its own, and is not in front for that.
        let last = ask(again)
        #expect(await first.only() == .systemCancel)
        for (number, replies) in [second, third, last].enumerated() {
            await eventually { device.prompts.count == number + 2 }
            device.present(.finger(1))
            #expect(await replies.only() == nil)
        }
        #expect(device.prompts.map(\.app) == [others[0], others[1], others[2], others[0]])
    }

    @Test("EV-53: an app waits once; its newer evaluation has the place of the older")
    func onceForEachApp() async throws {
        let (mine, older, newer) = (context(of: others[0]), context(of: others[1]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        let replaced = ask(older)
        try await waits(1)
        let replacing = ask(newer)
        #expect(await replaced.only() == .systemCancel)
        device.present(.cancel)
        #expect(await first.only() == .userCancel)
        await eventually { device.prompts.count == 2 }
        device.present(.finger(1))
        #expect(await replacing.only() == nil)
    }

    @Test("EV-52, KC-42: one spelling of a name goes to the background, and the prompt of the other stays")
    func spellings() async throws {
        let (one, other) = ("org.example.caf\u{e9}", "org.example.cafe\u{301}")
        let (mine, theirs) = (context(of: one), context(of: other))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        // EV-53: it is another app's, and waits.
        let second = ask(theirs)
        try await waits(1)
        try device.setForeground(false, app: other)
        #expect(await second.only() == .systemCancel)
        device.present(.finger(1))
        #expect(await first.only() == nil)
        #expect(await evaluate(biometrics, on: context(of: other)) == .notInteractive)
    }

    enum Ending: CaseIterable, Sendable { case invalidate, background, reboot }

    @Test(
        "EV-50, EV-52: who waits is ended as one whose prompt is up, and leaves the prompt alone",
        arguments: Ending.allCases)
    func waitingEnds(by ending: Ending) async throws {
        let (mine, theirs) = (context(of: others[0]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        let second = ask(theirs)
        try await waits(1)
        switch ending {
        case .invalidate: theirs.invalidate()
        case .background: try device.setForeground(false, app: others[1])
        case .reboot: device.reboot()
        }
        #expect(await second.only() == (ending == .invalidate ? .appCancel : .systemCancel))
        if ending == .reboot { return #expect(await first.only() == .systemCancel) }
        device.present(.finger(1))
        #expect(await first.only() == nil)
        #expect(device.prompts.count == 1)
    }

    @Test("EV-05: where nobody shows prompts any more, those that wait hear of it")
    func agentGone() async throws {
        let (mine, theirs) = (context(of: others[0]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        let second = ask(theirs)
        try await waits(1)
        device.setAttended(false)
        #expect(await first.only() == .systemCancel)
        #expect(await second.only() == .notInteractive)
    }

    @Test("An app that waited too long is told so, and the app whose prompt is shown is not")
    func waitsForSoLong() async throws {
        let (mine, theirs) = (context(of: others[0]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 && !device.isPersonActing }
        let second = ask(theirs)
        try await waits(1)
        device.passWaitingDeadline()
        #expect(await second.only() == .notInteractive)
        #expect(first.codes.isEmpty)
        mine.invalidate()
        #expect(await first.only() == .appCancel)
    }

    @Test("CE-02: what has changed meanwhile counts when the turn comes")
    func changedMeanwhile() async throws {
        let (mine, theirs) = (context(of: others[0]), context(of: others[1]))
        let first = ask(mine)
        await eventually { device.prompts.count == 1 }
        let second = ask(theirs)
        try await waits(1)
        try device.removeFinger(1)
        // Nobody is enrolled any more: its turn is its end, and no prompt for a passcode that was not asked for.
        mine.invalidate()
        #expect(await first.only() == .appCancel)
        #expect(await second.only() == .biometryNotEnrolled)
        #expect(device.prompts.count == 1)
    }

    @Test("So many apps wait and no more; the one more is told at once")
    func soManyWait() async throws {
        let contexts = (0..<33).map { context(of: "org.example.\($0)") }
        let running = ask(contexts[0])
        await eventually { device.prompts.count == 1 }
        var waiting: [Replies] = []
        for (number, context) in contexts.dropFirst().enumerated() {
            waiting.append(ask(context))
            try await waits(number + 1)
        }
        let refused = context(of: "org.example.one-more")
        #expect(await evaluate(biometrics, on: refused) == .notInteractive)
        #expect(running.codes.isEmpty && waiting.allSatisfy(\.codes.isEmpty))
        for context in contexts.dropFirst() { context.invalidate() }
        for replies in waiting { #expect(await replies.only() == .appCancel) }
        device.present(.finger(1))
        #expect(await running.only() == nil)
    }

    /// Waits until so many evaluations wait for their turn.
    private func waits(_ count: Int) async throws {
        await eventually { device.waitingEvaluations == count }
    }
}
