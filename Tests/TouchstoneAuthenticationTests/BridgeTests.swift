import Foundation
import Glibc
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneTesting
@testable import TouchstoneTransport

/// Programs that ask for others: whom the prompt names, who waits for whom, and how long a proof is good (ND-1 to ND-8).
@Suite(.timeLimit(.minutes(10))) struct BridgeTests {
    private typealias Options = AuthenticationInterface.Options

    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    // MARK: whoever takes part

    /// A process that a bridge asks for, as long as it is there.
    private final class Client: Sendable {
        let isThere = Atomic(true)
        let name: String

        init(_ name: String = "/usr/bin/ssh") { self.name = name }

        static let process = AuthenticationInterface.Client(processID: 4711, startTicks: 99)

        func peer(_ process: ClientProcess) -> Peer? {
            guard process == ClientProcess(processID: 4711, startTicks: 99), isThere.load(ordering: .relaxed) else {
                return nil
            }
            let identity = AppIdentity(
                identifier: AppIdentifier(name), evidence: .executable, name: "ssh", processID: 4711, userID: getuid())
            return Peer(
                processID: 4711, userID: getuid(), isUnchanged: { [self] in isThere.load(ordering: .relaxed) },
                identify: { identity },
                origin: {
                    ProcessOrigin(ancestors: [], terminal: "pts/7", session: nil, place: .local, remote: nil)
                })
        }
    }

    private func endpoint(
        _ app: String = "unit:touchstone-ssh@1000.service", isBridge: Bool = true, client: Client = Client()
    ) -> LoopbackEndpoint {
        let identity = AppIdentity(
            identifier: AppIdentifier(app), evidence: .systemdUnit, name: app, processID: getpid(), userID: getuid(),
            actsForClients: isBridge)
        return LoopbackEndpoint(
            router: device.booted.withLock { $0 }.router,
            peer: Peer(
                processID: getpid(), userID: getuid(), identify: { identity }, client: { client.peer($0) }))
    }

    /// Sees what an agent sees, and lets the sensor count.
    private final class Screen: Sendable {
        private let seen = Mutex<[AgentInterface.Subscribe.Reply]>([])
        private let subscription: VarlinkClient
        let hand: VarlinkClient

        init(_ endpoint: LoopbackEndpoint) throws {
            subscription = try endpoint.client()
            hand = try endpoint.client()
            let ready = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [self] in
                try? subscription.stream(AgentInterface.Subscribe.self, .init()) { reply in
                    seen.withLock { $0.append(reply) }
                    if reply.event == .show, let prompt = reply.prompt {
                        _ = try? hand.call(AgentInterface.ConfirmShown.self, .init(prompt: prompt.identifier))
                    }
                    ready.signal()
                    return true
                }
                ready.signal()
            }
            ready.wait()
        }

        var prompts: [AgentInterface.Prompt] {
            seen.withLock { $0.filter { $0.event == .show }.compactMap(\.prompt) }
        }
        var ends: [AgentInterface.Event] { seen.withLock { $0.map(\.event) }.filter { $0 != .show && $0 != .ready } }

        func cancel(_ prompt: AgentInterface.Prompt) throws {
            _ = try hand.call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
        }

        func close() { subscription.close() }
    }

    /// In the place of the person who is there by default.
    private func screen() throws -> Screen {
        device.setAttended(false)
        return try Screen(endpoint("/usr/bin/agent", isBridge: false))
    }

    private static func options(
        waits: Bool? = nil, validFor: Double? = nil, facts: [AgentInterface.Fact]? = nil, asks: Bool = true
    ) -> Options {
        .init(
            reason: "test", reuseDuration: 0, interactionNotAllowed: !asks, waitsForTurn: waits, validFor: validFor,
            facts: facts)
    }

    private static func evaluate(_ client: VarlinkClient, _ context: String, _ options: Options) throws {
        _ = try client.call(
            AuthenticationInterface.EvaluatePolicy.self,
            .init(context: context, policy: .deviceOwnerAuthenticationWithBiometrics, options: options))
    }

    private static func context(_ client: VarlinkClient, for process: AuthenticationInterface.Client? = nil) throws
        -> String
    {
        try client.call(AuthenticationInterface.CreateContext.self, .init(client: process)).context
    }

    /// Asks on a thread of its own; nil is success.
    private final class Outcome: Sendable {
        private let result = Mutex<Result<Void, any Error>?>(nil)

        init(_ body: @escaping @Sendable () throws -> Void) {
            Thread.detachNewThread { [self] in
                let outcome = Result { try body() }
                result.withLock { $0 = outcome }
            }
        }

        var isThere: Bool { result.withLock { $0 != nil } }

        nonisolated(nonsending) func error() async -> RemoteError? {
            await eventually("no answer") { isThere }
            guard case .failure(let error)? = result.withLock({ $0 }) else { return nil }
            return error as? RemoteError ?? RemoteError(name: "\(error)", parameters: nil)
        }

        nonisolated(nonsending) func code() async -> AuthenticationFailure? {
            await error()?.as(AuthenticationInterface.Failed.self)?.code
        }
    }

    /// It counts once the prompt does.
    private func touch() throws {
        _ = try device.booted.withLock { $0 }.owner.call(
            DeviceInterface.PresentFinger.self, .init(finger: "right-index"))
    }

    private func name(of error: (any Error)?) -> String? { (error as? RemoteError)?.name }

    private func failure(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return name(of: error) ?? "\(error)"
        }
    }

    private static let denied = "org.varlink.service.PermissionDenied"
    private static let gone = "io.touchstone.Authentication.NoSuchClient"

    // MARK: clients

    @Test("ND-1: the prompt shows the client as it was verified, its origin, and the bridge as the way it came")
    func clientInPrompt() async throws {
        let screen = try screen()
        let bridge = try endpoint().client()
        let context = try Self.context(bridge, for: Client.process)
        let outcome = Outcome { try Self.evaluate(bridge, context, Self.options()) }
        await eventually { !screen.prompts.isEmpty }
        let prompt = try #require(screen.prompts.first)
        #expect(prompt.client?.identifier == "/usr/bin/ssh")
        #expect(prompt.client?.processID == 4711)
        #expect(prompt.app.identifier == "unit:touchstone-ssh@1000.service")
        #expect(prompt.origin?.terminal == "pts/7")
        try touch()
        #expect(await outcome.error() == nil)
        #expect(device.log.lines.contains { $0.contains(#""client":"/usr/bin/ssh""#) })
        // And one that asks for itself has no client.
        let own = try Self.context(bridge)
        let second = Outcome { try Self.evaluate(bridge, own, Self.options()) }
        await eventually { screen.prompts.contains { $0.client == nil } }
        try touch()
        #expect(await second.error() == nil)
    }

    @Test("ND-1: the log names the client also where a call is refused, by touchstoned or by the enclave")
    func clientOfRefusal() async throws {
        let bridge = try endpoint().client()
        let context = try Self.context(bridge, for: Client.process)
        let control = try AccessControl(protection: .whenUnlocked, flags: [.privateKeyUsage, .userPresence])
        func refusals() -> [String] { device.log.lines.filter { $0.contains(#""event":"call-refused""#) } }
        func isNamed(_ line: String) -> Bool { line.contains(#""client":"/usr/bin/ssh""#) }
        // touchstoned: nobody may be asked.
        let forbidden = Outcome { try Self.evaluate(bridge, context, Self.options(asks: false)) }
        #expect(await forbidden.error() != nil)
        await eventually { refusals().contains { $0.contains("interactionForbidden") && isNamed($0) } }
        // The twin: a context of the bridge's own has no client.
        let own = try Self.context(bridge)
        let second = Outcome { try Self.evaluate(bridge, own, Self.options(asks: false)) }
        #expect(await second.error() != nil)
        await eventually { refusals().contains { !isNamed($0) } }
        // The enclave: nothing opens behind the lock screen.
        let made = try bridge.call(
            KeyInterface.Create.self, .init(kind: .p256, accessControl: control, context: context))
        try device.lock()
        let locked = Outcome {
            _ = try bridge.call(
                KeyInterface.Sign.self, .init(key: made.key, data: Data(count: 32), context: context))
        }
        #expect(await locked.error() != nil)
        await eventually { refusals().contains { $0.contains("deviceLocked") && isNamed($0) } }
    }

    @Test("ND-1: the bridge is told of a client what the prompt would say of it") func described() throws {
        let reply = try endpoint().client().call(
            AuthenticationInterface.DescribeClient.self, .init(client: Client.process))
        #expect(reply.app.identifier == "/usr/bin/ssh")
        #expect(reply.origin?.terminal == "pts/7")
    }

    @Test("ND-1: a process that is gone, or began at another time, is no client, and makes no context")
    func noSuchClient() throws {
        let client = Client()
        let bridge = try endpoint(client: client).client()
        let other = AuthenticationInterface.Client(processID: 4711, startTicks: 98)
        #expect(failure { _ = try Self.context(bridge, for: other) } == Self.gone)
        _ = try Self.context(bridge, for: Client.process)
        client.isThere.store(false, ordering: .relaxed)
        #expect(failure { _ = try Self.context(bridge, for: Client.process) } == Self.gone)
        #expect(
            failure {
                _ = try bridge.call(AuthenticationInterface.DescribeClient.self, .init(client: Client.process))
            } == Self.gone)
    }

    @Test(
        "ND-1: a bridge has 256 contexts for clients over all its connections, and one more when one of them has ended")
    func contextsForClients() throws {
        let endpoint = endpoint()
        let bridges = try (0..<2).map { _ in try endpoint.client() }
        let contexts = try bridges.map { bridge in
            try (0..<128).map { _ in try Self.context(bridge, for: Client.process) }
        }
        #expect(failure { _ = try Self.context(bridges[1], for: Client.process) } != nil)
        // Its own hold nothing open.
        _ = try Self.context(bridges[1])
        _ = try bridges[0].call(AuthenticationInterface.InvalidateContext.self, .init(context: contexts[0][0]))
        _ = try Self.context(bridges[1], for: Client.process)
        // Another bridge is not kept out.
        _ = try Self.context(try self.endpoint("unit:other@1000.service").client(), for: Client.process)
    }

    @Test("ND-1: an evaluation for a client that has gone since shows no prompt") func clientGone() throws {
        let screen = try screen()
        let client = Client()
        let bridge = try endpoint(client: client).client()
        let context = try Self.context(bridge, for: Client.process)
        client.isThere.store(false, ordering: .relaxed)
        #expect(failure { try Self.evaluate(bridge, context, Self.options()) } == Self.gone)
        #expect(screen.prompts.isEmpty)
    }

    @Test("ND-2: a program whose manifest does not say that it acts for clients names none") func noBridge() throws {
        let app = try endpoint("/usr/bin/app", isBridge: false).client()
        #expect(failure { _ = try Self.context(app, for: Client.process) } == Self.denied)
        #expect(
            failure {
                _ = try app.call(AuthenticationInterface.DescribeClient.self, .init(client: Client.process))
            } == Self.denied)
        #expect(
            failure {
                _ = try app.call(AuthenticationInterface.RequestUnlock.self, .init(client: Client.process))
            } == Self.denied)
        #expect(failure { _ = try Self.context(app) } == nil)
    }

    // MARK: facts

    @Test("ND-5: the prompt has a bridge's facts, cleaned and cut as a reason is") func facts() async throws {
        let screen = try screen()
        let bridge = try endpoint().client()
        let context = try Self.context(bridge)
        let facts: [AgentInterface.Fact] = [
            .init(kind: .host, text: "git\u{202E}hub.com\n:22"),
            .init(kind: .user, text: String(repeating: "x", count: 300)),
        ]
        let outcome = Outcome { try Self.evaluate(bridge, context, Self.options(facts: facts)) }
        await eventually { !screen.prompts.isEmpty }
        let shown = try #require(screen.prompts.first?.facts)
        #expect(shown.map(\.kind) == [.host, .user])
        #expect(shown.map(\.text) == ["github.com :22", String(repeating: "x", count: 256) + "…"])
        try touch()
        #expect(await outcome.error() == nil)
    }

    @Test("ND-5: facts of an app that is no bridge, and more than eight, are refused") func otherFacts() throws {
        let app = try endpoint("/usr/bin/app", isBridge: false).client()
        let one = AgentInterface.Fact(kind: .host, text: "example.org")
        let context = try Self.context(app)
        #expect(failure { try Self.evaluate(app, context, Self.options(facts: [one])) } == Self.denied)
        let bridge = try endpoint().client()
        let own = try Self.context(bridge)
        let many = Self.options(facts: Array(repeating: one, count: 9))
        #expect(failure { try Self.evaluate(bridge, own, many) } == "org.varlink.service.InvalidParameter")
    }

    // MARK: turns

    @Test("ND-3: eight evaluations of one bridge that wait for their turn are eight prompts, and none fails")
    func waitTheirTurn() async throws {
        let screen = try screen()
        var outcomes: [Outcome] = []
        for _ in 0..<8 {
            let bridge = try endpoint().client()
            let context = try Self.context(bridge)
            outcomes.append(Outcome { try Self.evaluate(bridge, context, Self.options(waits: true)) })
        }
        for number in 1...8 {
            await eventually { Set(screen.prompts.map(\.identifier)).count == number }
            try touch()
        }
        for outcome in outcomes { #expect(await outcome.error() == nil) }
    }

    @Test("ND-3, EV-53: an evaluation that does not say so ends the one of its app that is up") func displaces()
        async throws
    {
        let screen = try screen()
        let (first, second) = (try endpoint().client(), try endpoint().client())
        let (one, other) = (try Self.context(first), try Self.context(second))
        let displaced = Outcome { try Self.evaluate(first, one, Self.options(waits: true)) }
        await eventually { screen.prompts.count == 1 }
        let outcome = Outcome { try Self.evaluate(second, other, Self.options()) }
        #expect(await displaced.code() == .systemCancel)
        await eventually { Set(screen.prompts.map(\.identifier)).count == 2 }
        try touch()
        #expect(await outcome.error() == nil)
    }

    // MARK: proofs that lapse

    @Test("ND-4: a proof for 30 seconds is there after 29 and gone after 31", arguments: [29.0, 31.0])
    func lapses(seconds: Double) async throws {
        let screen = try screen()
        let bridge = try endpoint().client()
        let context = try Self.context(bridge)
        let outcome = Outcome { try Self.evaluate(bridge, context, Self.options(validFor: 30)) }
        await eventually { !screen.prompts.isEmpty }
        try touch()
        #expect(await outcome.error() == nil)
        device.advance(by: .seconds(seconds))
        let again = Outcome { try Self.evaluate(bridge, context, Self.options(asks: false)) }
        #expect(await again.code() == (seconds < 30 ? nil : .notInteractive))
    }

    @Test("ND-4: nobody's proof is longer than 300 seconds, and one without an end has none") func longest()
        async throws
    {
        let screen = try screen()
        let bridge = try endpoint().client()
        let (bounded, endless) = (try Self.context(bridge), try Self.context(bridge))
        for (number, pair) in [(bounded, Double.greatestFiniteMagnitude), (endless, nil)].enumerated() {
            let (context, seconds) = pair
            let outcome = Outcome { try Self.evaluate(bridge, context, Self.options(validFor: seconds)) }
            await eventually { Set(screen.prompts.map(\.identifier)).count == number + 1 }
            try touch()
            #expect(await outcome.error() == nil)
        }
        device.advance(by: .seconds(301))
        let gone = Outcome { try Self.evaluate(bridge, bounded, Self.options(asks: false)) }
        #expect(await gone.code() == .notInteractive)
        let there = Outcome { try Self.evaluate(bridge, endless, Self.options(asks: false)) }
        #expect(await there.error() == nil)
    }

    // MARK: unlocking

    @Test("ND-6: asking for the device to be unlocked ends when the owner unlocked it, however") func unlocked()
        async throws
    {
        let screen = try screen()
        try device.lock()
        let bridge = try endpoint().client()
        let outcome = Outcome {
            _ = try bridge.call(AuthenticationInterface.RequestUnlock.self, .init(client: Client.process))
        }
        await eventually { !screen.prompts.isEmpty }
        let prompt = try #require(screen.prompts.first)
        #expect(prompt.phase == .unlock)
        #expect(prompt.client?.identifier == "/usr/bin/ssh")
        #expect(!outcome.isThere)
        try device.unlock(passcode: "1234")
        #expect(await outcome.error() == nil)
        await eventually { screen.ends == [.succeeded] }
        // Of one that is not locked nobody is asked.
        _ = try bridge.call(AuthenticationInterface.RequestUnlock.self, .init())
        #expect(screen.prompts.count == 1)
    }

    @Test("ND-6: the owner cancels with -2, and without an agent it is -1004 at once") func notUnlocked() async throws {
        let screen = try screen()
        try device.lock()
        let bridge = try endpoint().client()
        let outcome = Outcome { _ = try bridge.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        await eventually { !screen.prompts.isEmpty }
        try screen.cancel(try #require(screen.prompts.first))
        #expect(await outcome.code() == .userCancel)
        let second = Outcome { _ = try bridge.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        await eventually { screen.prompts.count == 2 }
        screen.close()
        #expect(await second.code() == .notInteractive)
        let third = Outcome { _ = try bridge.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        #expect(await third.code() == .notInteractive)
    }

    @Test("ND-6: a client that leaves takes its request along, and the prompt goes on for the next") func leaves()
        async throws
    {
        let screen = try screen()
        try device.lock()
        let (first, second) = (
            try endpoint("unit:first.service").client(), try endpoint("unit:second.service").client()
        )
        let left = Outcome { _ = try first.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        await eventually { screen.prompts.count == 1 }
        let stays = Outcome { _ = try second.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        // Whether or not the second has asked by then, it is who is named at last.
        first.close()
        _ = await left.error()
        await eventually { screen.prompts.last?.app.identifier == "unit:second.service" }
        try device.unlock(passcode: "1234")
        #expect(await stays.error() == nil)
    }

    @Test("ND-6: 32 requests of one app wait, and it keeps no other app out") func unlockShares() async throws {
        let screen = try screen()
        try device.lock()
        let crowd = endpoint("unit:crowd.service")
        let waiting = try (0..<32).map { _ in
            let client = try crowd.client()
            return Outcome { _ = try client.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        }
        await eventually { screen.prompts.count == 1 }
        // Whichever of these 33 comes last is refused.
        let more = try crowd.client()
        let last = Outcome { _ = try more.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        let all = waiting + [last]
        await eventually { all.contains { $0.isThere } }
        let other = try endpoint("unit:other.service").client()
        let served = Outcome { _ = try other.call(AuthenticationInterface.RequestUnlock.self, .init()) }
        try device.unlock(passcode: "1234")
        #expect(await served.error() == nil)
        var refused = 0
        for outcome in all where await outcome.code() != nil { refused += 1 }
        #expect(refused == 1)
    }

    // MARK: the status

    @Test("ND-8: who watches the status is told of the lock, of unlocking, and of agents; and of nothing else")
    func status() async throws {
        device.setAttended(false)
        let watcher = try endpoint("/usr/bin/watcher", isBridge: false).client()
        // The end of the device's own agent is heard on another thread.
        await eventually { (try? watcher.call(DeviceInterface.GetStatus.self, .init()))?.status.hasAgent == false }
        let box = Statuses()
        Thread.detachNewThread {
            try? watcher.stream(DeviceInterface.WatchStatus.self, .init()) { reply in
                box.append(reply.status)
                return true
            }
        }
        await eventually { box.all.count == 1 }
        #expect(box.all[0].isLocked == false)
        try device.lock()
        await eventually { box.all.last?.isLocked == true }
        try device.unlock(passcode: "1234")
        await eventually { box.all.last?.isLocked == false }
        let screen = try Screen(endpoint("/usr/bin/agent", isBridge: false))
        await eventually { box.all.last?.hasAgent == true }
        screen.close()
        await eventually { box.all.last?.hasAgent == false }
        #expect(box.all.count == 5)
        watcher.close()
    }

    private final class Statuses: Sendable {
        private let seen = Mutex<[DeviceInterface.Status]>([])
        var all: [DeviceInterface.Status] { seen.withLock { $0 } }
        func append(_ status: DeviceInterface.Status) { seen.withLock { $0.append(status) } }
    }

    @Test("ND-8: a sandboxed app does not watch the device") func sandboxedWatcher() throws {
        let app = AppIdentity(
            identifier: "flatpak:x", evidence: .flatpak, name: "x", processID: getpid(), userID: getuid())
        let client = try LoopbackEndpoint(
            router: device.booted.withLock { $0 }.router,
            peer: Peer(processID: getpid(), userID: getuid(), identify: { app })
        ).client()
        let error = failure { try client.stream(DeviceInterface.WatchStatus.self, .init()) { _ in false } }
        #expect(error == DeviceInterface.Refused.name)
    }
}
