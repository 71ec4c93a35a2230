import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneTesting

/// Programs that show prompts, good ones and others: what one of them does or leaves undone harms nobody.
@Suite(.timeLimit(.minutes(10))) struct AgentTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    /// An agent that does nothing but listen, on the connection of whoever makes it.
    private final class Agent: Sendable {
        let client: VarlinkClient
        private let hand: VarlinkClient
        private let state = Mutex((events: [AgentInterface.Subscribe.Reply](), isEnded: false))

        init() throws {
            client = try DeviceEndpoint.current().client()
            hand = try DeviceEndpoint.current().client()
            let ready = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [self] in
                try? client.stream(AgentInterface.Subscribe.self, .init()) { reply in
                    state.withLock { $0.events.append(reply) }
                    ready.signal()
                    return true
                }
                state.withLock { $0.isEnded = true }
                ready.signal()
            }
            ready.wait()
        }

        var isEnded: Bool { state.withLock { $0.isEnded } }
        var events: [AgentInterface.Event] { state.withLock { $0.events.map(\.event) } }
        var prompt: AgentInterface.Prompt? { state.withLock { $0.events.last { $0.event == .show }?.prompt } }

        func call<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
            try hand.call(method, parameters)
        }

        /// Says that the owner sees the prompt: from then on the sensor counts for it.
        func confirm(_ prompt: AgentInterface.Prompt) throws {
            _ = try call(AgentInterface.ConfirmShown.self, .init(prompt: prompt.identifier))
        }

        /// Waits for a prompt that is not `old`.
        func nextPrompt(after old: String? = nil) async throws -> AgentInterface.Prompt {
            await eventually("no prompt") { prompt != nil && prompt?.identifier != old }
            return try #require(prompt)
        }
    }

    /// An app that waits for the owner.
    private final class Asking {
        private let context = LAContext()
        private let replies = Replies()

        init(_ policy: LAPolicy) { replies.collect(policy, on: context) }

        var codes: [LAError.Code?] { replies.codes }
        func only() async -> LAError.Code? { await replies.only() }
    }

    private func hasAgent() throws -> Bool {
        try DeviceEndpoint.current().client().call(DeviceInterface.GetStatus.self, Empty()).status.hasAgent
    }

    private func noSuchPrompt(_ body: () throws -> Void) {
        #expect {
            try body()
        } throws: {
            ($0 as? RemoteError)?.as(AgentInterface.NoSuchPrompt.self) != nil
        }
    }

    // MARK: one of several

    @Test("The agent that came first shows the prompts; the next shows what it showed when it goes") func takingOver()
        async throws
    {
        try await device.run {
            device.setAttended(false)
            let first = try Agent()
            device.setAttended(true)
            let replies = Asking(biometrics)
            _ = try await first.nextPrompt()
            #expect(device.prompts.isEmpty)
            device.present(.finger(1))
            first.client.close()
            #expect(await replies.only() == nil)
            #expect(device.prompts.count == 1)
            #expect(await evaluate(biometrics, by: device) == nil, "and all that come later")
        }
    }

    private func evaluate(_ policy: LAPolicy, by device: SimulatedDevice) async -> LAError.Code? {
        device.present(.finger(1))
        return await TouchstoneAuthenticationTests.evaluate(policy)
    }

    @Test("The prompt of the last agent ends with -4 when it goes, and the next fails with -1004") func lastGoes()
        async throws
    {
        try await device.run {
            device.setAttended(false)
            let only = try Agent()
            let replies = Asking(biometrics)
            _ = try await only.nextPrompt()
            only.client.close()
            #expect(await replies.only() == .systemCancel)
            #expect(await TouchstoneAuthenticationTests.evaluate(biometrics) == .notInteractive)
        }
    }

    @Test("A flood of agents is refused, and the first still shows the prompts") func flood() async throws {
        try await device.run {
            var agents: [VarlinkClient] = []
            var refused = 0
            for _ in 0..<70 {
                let client = try DeviceEndpoint.current().client()
                agents.append(client)
                do {
                    try client.stream(AgentInterface.Subscribe.self, .init()) { _ in false }
                } catch let error as RemoteError {
                    #expect(error.as(DeviceInterface.Refused.self)?.reason == .busy)
                    refused += 1
                }
            }
            #expect(refused == 70 - 63, "64 with the person")
            #expect(await evaluate(biometrics, by: device) == nil)
            for agent in agents { agent.close() }
        }
    }

    // MARK: one that is stuck

    @Test("An agent from which nothing comes is disconnected, and the next shows its prompt") func stuck() async throws
    {
        try await device.run {
            device.setAttended(false)
            let stuck = try Agent()
            device.setAttended(true)
            let replies = Asking(biometrics)
            _ = try await stuck.nextPrompt()
            device.present(.finger(1))
            #expect(!stuck.isEnded)
            device.passShowingDeadline()
            #expect(await replies.only() == nil)
            await eventually("disconnected") { stuck.isEnded }
        }
    }

    @Test("With nobody else there the stuck agent's prompt ends with -4") func stuckAlone() async throws {
        try await device.run {
            device.setAttended(false)
            let stuck = try Agent()
            let replies = Asking(biometrics)
            _ = try await stuck.nextPrompt()
            device.passShowingDeadline()
            #expect(await replies.only() == .systemCancel)
            await eventually("disconnected") { stuck.isEnded }
            let isThere = try hasAgent()
            #expect(!isThere)
        }
    }

    @Test("A prompt that is said to be shown may stay as long as the owner likes", arguments: [true, false])
    func shown(confirms: Bool) async throws {
        try await device.run {
            device.setAttended(false)
            let agent = try Agent()
            let replies = Asking(biometrics)
            let prompt = try await agent.nextPrompt()
            if confirms {
                _ = try agent.call(AgentInterface.ConfirmShown.self, .init(prompt: prompt.identifier))
            } else {
                // Anything else about it says the same: here a button that is not there.
                noSuchPrompt {
                    _ = try agent.call(AgentInterface.ChooseFallback.self, .init(prompt: prompt.identifier))
                }
            }
            device.passShowingDeadline()
            #expect(!agent.isEnded)
            _ = try agent.call(DeviceInterface.PresentFinger.self, .init(finger: "right-index"))
            #expect(await replies.only() == nil)
        }
    }

    @Test("The deadline of a prompt that is over touches no later one") func oldDeadline() async throws {
        try await device.run {
            device.setAttended(false)
            let agent = try Agent()
            let first = Asking(biometrics)
            let prompt = try await agent.nextPrompt()
            _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
            #expect(await first.only() == .userCancel)
            device.passShowingDeadline()
            #expect(!agent.isEnded)
        }
    }

    @Test("Other apps still read unprotected items while an agent is stuck") func readsBesideAStuckAgent() async throws
    {
        try await device.run {
            let item: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
            #expect(
                SecItemAdd(item.merging([kSecValueData: Data("v".utf8)]) { $1 } as CFDictionary, nil) == errSecSuccess)
            device.setAttended(false)
            let stuck = try Agent()
            let replies = Asking(biometrics)
            _ = try await stuck.nextPrompt()
            for _ in 0..<100 {
                var result: CFTypeRef?
                let query = item.merging([kSecReturnData: true]) { $1 } as CFDictionary
                #expect(SecItemCopyMatching(query, &result) == errSecSuccess)
                #expect(result as? Data == Data("v".utf8))
            }
            device.passShowingDeadline()
            #expect(await replies.only() == .systemCancel)
        }
    }

    @Test("An agent that never reads is disconnected before much waits for it") func neverReads() async throws {
        try await device.run {
            device.setAttended(false)
            let channel = try DeviceEndpoint.current().connect()
            try channel.send(Data(#"{"method":"io.touchstone.Agent.Subscribe","parameters":{},"more":true}"#.utf8))
            await eventually("an agent") { (try? hasAgent()) == true }
            var contexts: [LAContext] = []
            let replies = Replies()
            for _ in 0..<200 {
                contexts.append(LAContext())
                replies.collect(biometrics, on: contexts.last!)
            }
            await eventually("disconnected") { (try? hasAgent()) == false }
            await eventually("answered") { replies.codes.count == 200 }
            #expect(replies.codes.allSatisfy { $0 == .systemCancel || $0 == .notInteractive })
            // What was sent before that was little.
            var frames = 0
            while (try? channel.receive()) != nil { frames += 1 }
            #expect(frames < 300)
            device.setAttended(true)
            #expect(await evaluate(biometrics, by: device) == nil)
        }
    }

    @Test("PC-01: an agent that takes over is told what is left of a delay", arguments: [20.0, 100])
    func delayOfTheNext(passed: Double) async throws {
        try await device.run {
            device.setAttended(false)
            let (first, second) = try (Agent(), Agent())
            let replies = Asking(deviceOwner)
            let prompt = try await first.nextPrompt()
            try first.confirm(prompt)
            for _ in 0..<3 { _ = try first.call(DeviceInterface.PresentFinger.self, .init(finger: nil)) }
            await eventually("the passcode") { first.prompt?.phase == .passcode }
            let seal = try PasscodeSeal(enclaveKey: DeviceEndpoint.current().passcodeKey())
            for number in 0..<4 {
                let shown = try #require(first.prompt)
                let count = first.events.count
                _ = try first.call(
                    AgentInterface.EnterPasscode.self,
                    .init(
                        prompt: prompt.identifier,
                        passcode: seal.seal(
                            [Array("guess \(number)".utf8)], for: .prompt(app: shown.app.identifier), nonce: shown.nonce
                        )))
                await eventually("judged") { first.events.count > count }
            }
            #expect(first.prompt?.retryAfterSeconds == 60)
            device.advance(by: .seconds(passed))
            first.client.close()
            let taken = try await second.nextPrompt()
            #expect(taken.retryAfterSeconds == (passed < 60 ? 60 - passed : nil))
            _ = try second.call(AgentInterface.Cancel.self, .init(prompt: taken.identifier))
            #expect(await replies.only() == .userCancel)
        }
    }

    // MARK: an agent that is not one

    @Test(
        "AT-17: an app in a sandbox that was given the socket is no owner: it shows no prompt, and changes nothing",
        arguments: [AppIdentity.Evidence.flatpak, .snap, .systemdUnit, .executable])
    func sandboxed(evidence: AppIdentity.Evidence) throws {
        let app = AppIdentity(
            identifier: "app", evidence: evidence, name: "app", processID: getpid(), userID: getuid())
        let router = device.booted.withLock { $0 }.router
        let peer = Peer(processID: getpid(), userID: getuid(), identify: { app })
        let (agent, client) = try (
            LoopbackEndpoint(router: router, peer: peer).client(), LoopbackEndpoint(router: router, peer: peer).client()
        )
        var outcomes: [DeviceInterface.RefusalReason?] = []
        func attempt(_ body: () throws -> Void) {
            do {
                try body()
                outcomes.append(nil)
            } catch {
                outcomes.append((error as? RemoteError)?.as(DeviceInterface.Refused.self)?.reason)
            }
        }
        attempt { try agent.stream(AgentInterface.Subscribe.self, .init()) { _ in false } }
        attempt { _ = try client.call(DeviceInterface.GetStatus.self, Empty()) }
        attempt { _ = try client.call(DeviceInterface.PresentFinger.self, .init(finger: "right-index")) }
        let isSandboxed = evidence == .flatpak || evidence == .snap
        #expect(outcomes == Array(repeating: isSandboxed ? .notOwner : nil, count: 3))
    }

    // MARK: one that lies

    @Test(
        "An unknown version is refused with its own error and makes no agent", arguments: [2, 0, -1, Int.max, Int.min])
    func version(version: Int) throws {
        try device.run {
            device.setAttended(false)
            let client = try DeviceEndpoint.current().client()
            #expect {
                try client.stream(AgentInterface.Subscribe.self, .init(version: version)) { _ in true }
            } throws: {
                ($0 as? RemoteError)?.as(AgentInterface.UnsupportedVersion.self)?.supported == 1
            }
            let isThere = try hasAgent()
            #expect(!isThere)
            // The same connection may do better.
            try client.stream(AgentInterface.Subscribe.self, .init(version: 1)) { reply in
                #expect(reply.event == .ready)
                return false
            }
            let isThereNow = try hasAgent()
            #expect(isThereNow)
        }
    }

    @Test("Who says no version speaks the first") func noVersion() throws {
        try device.run {
            device.setAttended(false)
            let client = try DeviceEndpoint.current().client()
            try client.stream(AgentInterface.Subscribe.self, .init(version: nil)) { _ in false }
            let isThere = try hasAgent()
            #expect(isThere)
        }
    }

    @Test("Of two answers the first counts") func answeringTwice() async throws {
        try await device.run {
            device.setAttended(false)
            let agent = try Agent()
            let replies = Asking(deviceOwner)
            let first = try await agent.nextPrompt()
            _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: first.identifier))
            noSuchPrompt { _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: first.identifier)) }
            noSuchPrompt { _ = try agent.call(AgentInterface.ChooseFallback.self, .init(prompt: first.identifier)) }
            #expect(await replies.only() == .userCancel)

            let next = Asking(biometrics)
            let second = try await agent.nextPrompt(after: first.identifier)
            try agent.confirm(second)
            // The old name, and one that never was: the prompt that is up hears nothing of it.
            for name in [first.identifier, "", String(repeating: "0", count: 32)] {
                noSuchPrompt { _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: name)) }
                noSuchPrompt { _ = try agent.call(AgentInterface.ConfirmShown.self, .init(prompt: name)) }
            }
            _ = try agent.call(DeviceInterface.PresentFinger.self, .init(finger: "right-index"))
            #expect(await next.only() == nil)
            noSuchPrompt { _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: second.identifier)) }
        }
    }

    @Test("What is no sealed passcode is refused, counts as no guess, and leaves the prompt as it is") func garbage()
        async throws
    {
        try await device.run {
            device.setAttended(false)
            let agent = try Agent()
            let replies = Asking(deviceOwner)
            let prompt = try await agent.nextPrompt()
            let hand = try DeviceEndpoint.current().client()
            try agent.confirm(prompt)
            for _ in 0..<3 { _ = try hand.call(DeviceInterface.PresentFinger.self, .init(finger: nil)) }
            await eventually("the passcode") { agent.prompt?.phase == .passcode }
            for (key, text) in [
                (Data(), Data()), (Data(count: 32), Data(count: 16)),
                (Data(repeating: 9, count: 32), Data(count: 4096)),
            ] {
                #expect {
                    _ = try agent.call(
                        AgentInterface.EnterPasscode.self,
                        .init(prompt: prompt.identifier, passcode: .init(encapsulatedKey: key, ciphertext: text)))
                } throws: {
                    ($0 as? RemoteError)?.as(DeviceInterface.Refused.self) != nil
                }
            }
            let failures = try hand.call(DeviceInterface.GetStatus.self, Empty()).status
            #expect(failures.isPasscodeSet && !replies.codes.contains(nil))
            #expect(agent.prompt?.wrongPasscode == false)
            _ = try agent.call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
            #expect(await replies.only() == .userCancel)
        }
    }

    @Test("EV-61: a second password while the first is being looked at is refused") func twoPasswords() async throws {
        try await device.run {
            device.setAttended(false)
            let agent = try Agent()
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
            let context = LAContext()
            async let evaluated: Bool = context.evaluateAccessControl(
                control, operation: .useItem, localizedReason: "r")
            let prompt = try await agent.nextPrompt()
            #expect(prompt.phase == .applicationPassword)
            let seal = try PasscodeSeal(enclaveKey: DeviceEndpoint.current().passcodeKey())
            let name = try #require(prompt.context)
            let entry = AgentInterface.EnterPasscode.Parameters(
                prompt: prompt.identifier,
                passcode: try seal.seal([Array("x".utf8)], for: .credential(context: name), nonce: prompt.nonce))
            // Sealed as a passcode, it does not count as a password.
            #expect {
                let wrong = try seal.seal(
                    [Array("x".utf8)], for: .prompt(app: prompt.app.identifier), nonce: prompt.nonce)
                _ = try agent.call(
                    AgentInterface.EnterPasscode.self, .init(prompt: prompt.identifier, passcode: wrong))
            } throws: {
                ($0 as? RemoteError)?.as(DeviceInterface.Refused.self) != nil
            }
            _ = try agent.call(AgentInterface.EnterPasscode.self, entry)
            #expect {
                _ = try agent.call(AgentInterface.EnterPasscode.self, entry)
            } throws: { error in
                let error = error as? RemoteError
                return error?.as(DeviceInterface.Refused.self)?.reason == .busy
                    || error?.as(AgentInterface.NoSuchPrompt.self) != nil
            }
            let isMet = try await evaluated
            #expect(isMet)
        }
    }
}
