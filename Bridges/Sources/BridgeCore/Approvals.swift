internal import Dispatch
internal import Foundation
import Glibc
internal import Synchronization
public import TouchstoneDevice

/// What a client asks for: the same (client or its session, item, purpose, destination) has one context (BR-25).
public struct ApprovalRequest: Sendable {
    /// Who asks.
    public var client: Client
    /// What is used, such as the name of a key.
    public var item: String
    /// Where several things are used by one approval, each of them: the pause after a cancel is for every one.
    public var parts: Set<String> = []
    /// What for, in the bridge's own words.
    public var purpose: String
    /// Where it goes; nil where nobody knows, and then nothing is reused.
    public var destination: String?
    /// What distinguishes askers behind one client.
    ///
    /// An approval is for one of them; the pause after a cancel is for all.
    public var origin = ""
    /// The sentence that the owner reads: a verb, and at most one object that the bridge checked itself (BR-20).
    public var reason: String
    /// What the bridge checked or recorded, at most 8.
    public var facts: [Fact]
    /// For how many seconds an approval is good, at most 300; the enclave ends it (ND-4).
    public var reuse: Double = 0
    /// Longest wait for the owner, in seconds (BR-28).
    public var longest: Double = 110
    /// Longest wait until the owner unlocks a locked device, in seconds; 0: the owner is not asked to.
    public var unlock: Double = 60
    /// What the sentence ends with if nobody knows who asks.
    public var stranger = " for a program that could not be identified"

    /// A request that is asked for each time.
    public init(client: Client, item: String, purpose: String, destination: String?, reason: String, facts: [Fact] = [])
    {
        self.client = client
        self.item = item
        self.purpose = purpose
        self.destination = destination
        self.reason = reason
        self.facts = facts
    }
}

/// Has the owner asked, and keeps what may be reused (BR-25…29).
///
/// The enclave decides. What is kept here is the name of a context, which without the enclave opens nothing.
///
/// > Concurrency: Callable from any thread. No lock is held while a prompt is up.
public final class Approvals: Sendable {
    private let device: Device
    private let state = Mutex(State())

    /// Asks the owner of this device.
    public init(device: Device) {
        self.device = device
    }

    private enum Limits {
        static let contexts = 64
        static let joined = 32
        /// Of one process: one prompt, and four that wait (BR-29).
        static let ofOneClient = 5
        static let cancels = 3
        /// Cancels of whatever one client asks for with one purpose, after which it does not ask for anything else either.
        static let cancelsOfAll = 6
        static let kept = 256
        /// How often the client is looked at while the owner is waited for.
        static let look = 0.25
    }

    /// The same key, the same approval.
    private struct Key: Hashable {
        var asker: Asker
        var destination: String?
        var origin: String
    }

    /// Who asks for what.
    private struct Asker: Hashable {
        var session: ClientSession?
        var item: String
        var purpose: String
        var parts: Set<String>

        init(_ request: ApprovalRequest) {
            session = request.client.process?.clientSession
            item = request.item
            purpose = request.purpose
            parts = request.parts
        }

        /// What waits after a cancel: each part by itself, so that another set of them is no way around it.
        var pauses: [Pause] {
            (parts.isEmpty ? [item] : Array(parts)).map { Pause(session: session, item: $0, purpose: purpose) }
        }

        /// What waits after many cancels.
        var pauseOfAll: Pause { Pause(session: session, item: nil, purpose: purpose) }
    }

    private struct Pause: Hashable {
        var session: ClientSession?
        /// Nil for all of them.
        var item: String?
        var purpose: String
    }

    private struct State {
        var proven: [Key: Proven] = [:]
        var asking: [Key: Asking] = [:]
        /// Prompts that are up or wait, by who asks.
        var prompts: [ObjectIdentifier: (asker: Asker, connection: DeviceConnection)] = [:]
        var waiting: [ClientProcess?: Int] = [:]
        var cancels: [Pause: [ContinuousClock.Instant]] = [:]
        var refusals: [Pause: (until: ContinuousClock.Instant, count: Int)] = [:]

        /// The pause of this asker that is not over yet; nil if it has no pause.
        func pause(of asker: Asker) -> Pause? {
            let now = ContinuousClock.now
            return (asker.pauses + [asker.pauseOfAll]).first { refusals[$0].map { $0.until > now } ?? false }
        }
    }

    private struct Proven {
        var connection: DeviceConnection
        var context: String
        var until: ContinuousClock.Instant
    }

    /// A prompt that others of the same key wait for.
    private final class Asking: Sendable {
        let joined = Mutex<[DispatchSemaphore]>([])
        let result = Mutex<Result<Void, BridgeFailure>?>(nil)

        /// nil: it is over already, or too many wait.
        func join() -> DispatchSemaphore? {
            joined.withLock { joined in
                guard result.withLock({ $0 == nil }), joined.count < Limits.joined else { return nil }
                let semaphore = DispatchSemaphore(value: 0)
                joined.append(semaphore)
                return semaphore
            }
        }

        func end(_ ended: Result<Void, BridgeFailure>) {
            joined.withLock { joined in
                result.withLock { $0 = ended }
                for semaphore in joined { semaphore.signal() }
            }
        }
    }

    /// Runs an operation that may want the owner.
    ///
    /// - Parameters:
    ///   - request: Who asks for what, and the words of the prompt.
    ///   - isWaitedOn: Whether the client still waits; asked a few times in a second. Once it says no, the prompt is taken down (BR-28).
    ///   - operation: One call of the device, with the context and the options of the proof. It may run twice: what the first run did is
    ///     then nothing.
    /// - Returns: What the operation returns.
    /// - Throws: `BridgeFailure`.
    public func perform<Value: Sendable>(
        _ request: ApprovalRequest, while isWaitedOn: @escaping @Sendable () -> Bool,
        _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(BridgeFailure) -> Value {
        let asker = Asker(request)
        let session = asker.session
        let key = Key(asker: asker, destination: request.destination, origin: request.origin)
        // Nothing is reused for somebody who is not known, or for a place that is not.
        let isReusable = request.reuse > 0 && session != nil && request.destination != nil
        while true {
            guard isReusable else {
                return try ask(request, key, keeps: false, isWaitedOn, operation)
            }
            if let value = try reuse(key, operation) { return value }
            switch state.withLock({ enter($0.asking[key], &$0, key) }) {
            case .first(let asking):
                let result: Result<Value, BridgeFailure>
                do throws(BridgeFailure) {
                    result = .success(try ask(request, key, keeps: true, isWaitedOn, operation))
                } catch {
                    result = .failure(error)
                }
                state.withLock { $0.asking[key] = nil }
                asking.end(result.map { _ in () })
                return try result.get()
            case .after(let asking):
                guard let semaphore = asking.join() else {
                    // Ended between the two looks, or full.
                    if asking.result.withLock({ $0 == nil }) { throw .busy }
                    continue
                }
                guard wait(semaphore, request.longest, isWaitedOn) else {
                    throw isWaitedOn() ? .unavailable : .clientGone
                }
                // If the first one left, the next one asks.
                if case .failure(let failure)? = asking.result.withLock({ $0 }), failure != .clientGone {
                    throw failure
                }
            }
        }
    }

    private enum Place {
        case first(Asking)
        case after(Asking)
    }

    private func enter(_ asking: Asking?, _ state: inout State, _ key: Key) -> Place {
        if let asking { return .after(asking) }
        let asking = Asking()
        state.asking[key] = asking
        return .first(asking)
    }

    // MARK: Reuse

    /// - Returns: nil where the owner has to be asked.
    private func reuse<Value: Sendable>(
        _ key: Key, _ operation: (Proof) throws(DeviceError) -> Value
    ) throws(BridgeFailure) -> Value? {
        guard let proven = state.withLock({ $0.proven[key] }), proven.until > .now else { return nil }
        do throws(DeviceError) {
            return try operation(Proof(connection: proven.connection, context: proven.context, options: nil))
        } catch {
            // Its time is over, the device was locked, or it was stopped: the enclave says so, not we.
            state.withLock { if $0.proven[key]?.context == proven.context { $0.proven[key] = nil } }
            switch error {
            case _ where DeviceAnswer.wantsOwner(error), .closed, .notBooted: return nil
            default:
                let failure = BridgeFailure(error)
                guard failure == .locked else { throw failure }
                return nil
            }
        }
    }

    private func keep(_ proven: Proven, _ key: Key) {
        state.withLock { state in
            let now = ContinuousClock.now
            state.proven = state.proven.filter { $0.value.until > now }
            if state.proven.count >= Limits.contexts,
                let oldest = state.proven.min(by: { $0.value.until < $1.value.until })?.key
            {
                state.proven[oldest] = nil
            }
            state.proven[key] = proven
        }
    }

    /// Forgets what was proven: of one item, or of all.
    public func forget(item: String? = nil) {
        state.withLock { state in
            state.proven = state.proven.filter { item != nil && $0.key.asker.item != item }
        }
    }

    // MARK: Asking

    private func ask<Value: Sendable>(
        _ request: ApprovalRequest, _ key: Key, keeps: Bool, _ isWaitedOn: @escaping @Sendable () -> Bool,
        _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(BridgeFailure) -> Value {
        let process = request.client.process
        try state.withLock { state throws(BridgeFailure) in
            try refuse(key.asker, &state)
            guard state.waiting[process, default: 0] < Limits.ofOneClient else { throw .busy }
            state.waiting[process, default: 0] += 1
        }
        defer {
            state.withLock { state in
                let left = state.waiting[process, default: 1] - 1
                state.waiting[process] = left == 0 ? nil : left
            }
        }
        do throws(BridgeFailure) {
            return try once(request, key, keeps: keeps, isWaitedOn, operation)
        } catch .locked where request.unlock > 0 {
            try unlock(request, key.asker, isWaitedOn)
            return try once(request, key, keeps: keeps, isWaitedOn, operation)
        } catch .displaced {
            // An app that waits for nobody took the place: once more, and not for ever (BR-27).
            return try once(request, key, keeps: keeps, isWaitedOn, operation)
        } catch {
            throw error
        }
    }

    private func once<Value: Sendable>(
        _ request: ApprovalRequest, _ key: Key, keeps: Bool, _ isWaitedOn: @escaping @Sendable () -> Bool,
        _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(BridgeFailure) -> Value {
        let (connection, proof) = try begin(request)
        let name = ObjectIdentifier(connection)
        state.withLock { $0.prompts[name] = (key.asker, connection) }
        let result = run(connection, request.longest, isWaitedOn) { () throws(DeviceError) in try operation(proof) }
        let isRefused = state.withLock { state in
            state.prompts[name] = nil
            return state.pause(of: key.asker) != nil
        }
        switch result {
        case .success(let value):
            if keeps {
                let until = ContinuousClock.now + .seconds(request.reuse)
                keep(Proven(connection: connection, context: proof.context, until: until), key)
            }
            return value
        case .failure(.unavailable) where isRefused:
            // Taken down with another one that was cancelled.
            throw .cancelled
        case .failure(let failure):
            if failure == .cancelled { cancelled(key.asker) }
            throw failure
        }
    }

    private struct ContextRequest: Encodable { var client: ClientProcess? }
    private struct ContextReply: Decodable { var context: String }

    /// Connects, and makes a context for the client.
    private func begin(_ request: ApprovalRequest) throws(BridgeFailure) -> (DeviceConnection, Proof) {
        var options = AskingOptions(reason: request.reason, validFor: 0, facts: request.facts)
        // Without reuse the connection, and its context, end with the operation. A slow one is not cut off by it.
        options.validFor = request.reuse > 0 ? min(request.reuse, 300) : 30
        let unknown = request.stranger
        do throws(DeviceError) {
            let connection = try device.connect()
            var client = request.client.process
            if let process = client {
                do throws(DeviceError) {
                    let context = try context(connection, for: process)
                    return (connection, Proof(connection: connection, context: context, options: options))
                } catch {
                    switch error {
                    case .answered(let name, _) where name.hasSuffix(".NoSuchClient"):
                        // Gone, or the device cannot see what it executes: then it is a stranger (BR-12).
                        guard process.isThere else { throw error }
                        options.reason += unknown
                        client = nil
                    case .answered(let name, _) where name.hasSuffix(".PermissionDenied"):
                        // Nobody said in a manifest that this program is a bridge: all is its own claim (BR-21).
                        options.reason = Sentence.reason(request.reason, for: request.client.executable)
                        options.facts = nil
                    default: throw error
                    }
                }
            } else {
                options.reason += unknown
            }
            // Whoever may not name clients may not state facts either (ND-2).
            if client == nil, try !isBridge(connection) { options.facts = nil }
            let context = try context(connection, for: nil)
            return (connection, Proof(connection: connection, context: context, options: options))
        } catch {
            throw BridgeFailure(error)
        }
    }

    private func context(_ connection: DeviceConnection, for client: ClientProcess?) throws(DeviceError) -> String {
        try connection.call("Authentication.CreateContext", ContextRequest(client: client), ContextReply.self).context
    }

    private struct DescribeReply: Decodable { struct App: Decodable { var identifier: String }; var app: App }

    private func isBridge(_ connection: DeviceConnection) throws(DeviceError) -> Bool {
        guard let own = ClientProcess(processID: getpid()) else { return false }
        do throws(DeviceError) {
            _ = try connection.call("Authentication.DescribeClient", ContextRequest(client: own), DescribeReply.self)
            return true
        } catch .answered {
            return false
        } catch {
            throw error
        }
    }

    /// Runs a call that may wait for a person on a thread of its own, and looks after the client meanwhile.
    private func run<Value: Sendable>(
        _ connection: DeviceConnection, _ longest: Double, _ isWaitedOn: () -> Bool,
        _ call: @escaping @Sendable () throws(DeviceError) -> Value
    ) -> Result<Value, BridgeFailure> {
        let box = Box<Value>()
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let result: Result<Value, DeviceError>
            do throws(DeviceError) { result = .success(try call()) } catch { result = .failure(error) }
            box.value.withLock { $0 = result }
            done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        guard wait(done, longest, isWaitedOn) else {
            connection.close()
            return .failure(isWaitedOn() ? .unavailable : .clientGone)
        }
        return box.value.withLock { $0 }?.mapError(BridgeFailure.init) ?? .failure(.unavailable)
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, DeviceError>?>(nil)
    }

    /// - Returns: Whether it was signalled while the client waited, and in time.
    private func wait(_ semaphore: DispatchSemaphore, _ longest: Double, _ isWaitedOn: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(longest)
        while semaphore.wait(timeout: .now() + Limits.look) == .timedOut {
            guard isWaitedOn(), .now < deadline else { return false }
        }
        return true
    }

    /// Has the owner asked to unlock the device, and nothing else (ND-6).
    ///
    /// - Parameters:
    ///   - request: Who asks, what for, and for how many seconds at most.
    ///   - isWaitedOn: As of ``perform(_:while:_:)``.
    /// - Throws: `BridgeFailure`; `.locked` where nobody unlocked it in time.
    public func unlock(
        _ request: ApprovalRequest, while isWaitedOn: @escaping @Sendable () -> Bool
    ) throws(BridgeFailure) {
        let asker = Asker(request)
        try state.withLock { state throws(BridgeFailure) in try refuse(asker, &state) }
        try unlock(request, asker, isWaitedOn)
    }

    /// Has the owner asked to unlock the device (ND-6).
    private func unlock(
        _ request: ApprovalRequest, _ asker: Asker, _ isWaitedOn: () -> Bool
    ) throws(BridgeFailure) {
        let connection: DeviceConnection
        do throws(DeviceError) { connection = try device.connect() } catch { throw .unavailable }
        let process = request.client.process
        let result = run(connection, request.unlock, isWaitedOn) { () throws(DeviceError) in
            do throws(DeviceError) {
                return try connection.call(
                    "Authentication.RequestUnlock", ContextRequest(client: process), Nothing.self)
            } catch .answered(let name, _) where !name.hasSuffix(".Failed") {
                // The client cannot be named: then the bridge asks for itself.
                return try connection.call("Authentication.RequestUnlock", ContextRequest(), Nothing.self)
            }
        }
        connection.close()
        switch result {
        case .success: return
        case .failure(.unavailable): throw .locked
        case .failure(let failure):
            if failure == .cancelled { cancelled(asker) }
            throw failure
        }
    }

    // MARK: Floods

    /// Whether a cancel of a moment ago refuses a request without a prompt (BR-29).
    ///
    /// - Parameter request: Who would ask for what.
    /// - Returns: Whether it would be refused now.
    public func isPaused(_ request: ApprovalRequest) -> Bool {
        state.withLock { $0.pause(of: Asker(request)) != nil }
    }

    /// - Throws: `BridgeFailure.cancelled` for a while after the owner cancelled the same (BR-29).
    private func refuse(_ asker: Asker, _ state: inout State) throws(BridgeFailure) {
        if let pause = state.pause(of: asker) {
            state.refusals[pause]?.count += 1
            throw .cancelled
        }
        for pause in asker.pauses + [asker.pauseOfAll] {
            guard let over = state.refusals.removeValue(forKey: pause), over.count > 0 else { continue }
            BridgeProcess.log("refused \(over.count) more requests after a cancel")
        }
    }

    /// The owner said no: the same waits for 10 seconds, after three times in two minutes for 5 minutes.
    ///
    /// After six cancels of any items in two minutes all that the client asks for with this purpose waits for 5 minutes. What waits of it is
    /// taken down.
    private func cancelled(_ asker: Asker) {
        let taken = state.withLock { state in
            let now = ContinuousClock.now
            if state.cancels.count >= Limits.kept {
                state.cancels = state.cancels.filter { $0.value.contains { $0 > now - .seconds(120) } }
                state.refusals = state.refusals.filter { $0.value.until > now }
            }
            for pause in asker.pauses + [asker.pauseOfAll] {
                let recent = (state.cancels[pause] ?? []).filter { $0 > now - .seconds(120) } + [now]
                state.cancels[pause] = recent
                let most = pause.item == nil ? Limits.cancelsOfAll : Limits.cancels
                if recent.count >= most {
                    state.refusals[pause] = (now + .seconds(300), 0)
                } else if pause.item != nil {
                    state.refusals[pause] = (now + .seconds(10), 0)
                }
            }
            return state.prompts.values.filter { state.pause(of: $0.asker) != nil }.map(\.connection)
        }
        for connection in taken { connection.close() }
    }
}
