import BridgeCore
import Foundation
import SecretServiceModel
import Synchronization
import TouchstoneDevice

/// Who may read what, and how the owner is asked (SS-30…39).
extension SecretService {
    enum Times {
        /// A method answers within this from when it came: clients give up at 25 seconds (SS-44).
        static let call = Duration.seconds(20)
        /// A prompt of a method stays for so long altogether; what it grants is good for the next try.
        static let prompt = 120.0
        /// A prompt object waits for the owner as long as its program does (SS-39).
        static let always = 7.0 * 24 * 3600
        /// Seconds after which the owner is asked again, where nobody could be asked.
        static let again = 5.0
        /// Programs that have the owner asked to unlock the device, at a time: each takes threads.
        static let questions = 32
        /// Questions of one process at a time, as many as the owner's device takes of it (BR-29); more wait here, without a thread.
        static let ofOneProcess = 5
    }

    /// When the call that is being answered has its answer; each call sets its own.
    @TaskLocal static var deadline = ContinuousClock.now

    /// Seconds that are left of it.
    private static var secondsLeft: Double {
        max(0, (deadline - ContinuousClock.now) / .seconds(1))
    }

    /// Whether a program may read an item without a question.
    func isGranted(_ item: String, _ client: BusClient) -> Bool {
        if let own = sessionItems[item] { return own.owner == client.grantee }
        return grants.has(item, client.grantee)
    }

    /// Whether a program knows that an item is there (SS-33).
    func isVisible(_ item: String, _ client: BusClient) -> Bool {
        if sessionItems[item] != nil { return isGranted(item, client) }
        return isGranted(item, client) || found[client.name]?.contains(item) == true || lists(item, client)
    }

    /// Whether an item is locked for a program (SS-31).
    func isLocked(_ item: String, _ client: BusClient) -> Bool { !isOpen || !isGranted(item, client) }

    /// Notes that a connection waits, for this many seconds at most.
    func startWaiting(_ client: BusClient, longest: Double) -> Waiting {
        let waiting = Waiting(client, longest: longest)
        waits[client.name, default: [:]][ObjectIdentifier(waiting)] = waiting
        if clients[client.name] == nil { waiting.stop() }
        return waiting
    }

    func stopWaiting(_ client: BusClient, _ waiting: Waiting) {
        waiting.stop()
        waits[client.name]?[ObjectIdentifier(waiting)] = nil
        if waits[client.name]?.isEmpty == true { waits[client.name] = nil }
    }

    // MARK: The device

    /// Waits until the device is open, and has the owner asked to unlock it (SS-41, SS-44).
    ///
    /// - Throws: `Refusal.isLocked` after 20 seconds.
    func open(for client: BusClient) async throws(Refusal) {
        guard !isOpen else { return }
        let waiting = startWaiting(client, longest: Times.prompt)
        // The prompt stays for a while after the call: an unlocked device is good for the next try.
        Task {
            _ = await unlock(for: client, waiting, longest: Times.prompt)
            stopWaiting(client, waiting)
        }
        while !isOpen, .now < Self.deadline, clients[client.name] != nil { await change(within: Self.secondsLeft) }
        guard isOpen else { throw .isLocked }
    }

    /// Has the owner asked to unlock the device, for something that waits as long as its program does (SS-39).
    ///
    /// - Returns: Nil once it is open, else why not.
    func opened(for client: BusClient, _ waiting: Waiting) async -> BridgeFailure? {
        guard !isOpen else { return nil }
        if state.isLocked, let failure = await unlock(for: client, waiting, longest: Times.always) { return failure }
        // It is unlocked: what is kept is being read.
        while !isOpen, !state.isLocked, waiting.isOn { await change(within: Times.again) }
        return isOpen ? nil : .locked
    }

    /// Waits while what an unlocked device keeps is being read; a locked one is not waited for.
    func settled() async {
        while !isOpen, !isStateKnown || !state.isLocked, .now < Self.deadline { await change(within: Self.secondsLeft) }
    }

    /// Waits until it is known what is there (SS-24).
    func loaded() async throws(Refusal) {
        while !isLoaded {
            guard .now < Self.deadline else { throw .isLocked }
            await change(within: Self.secondsLeft)
        }
    }

    /// Has the owner asked to unlock the device; calls of one program join (BR-26).
    ///
    /// - Returns: Nil once it is unlocked, else why not.
    func unlock(for client: BusClient, _ waiting: Waiting, longest: Double) async -> BridgeFailure? {
        while waiting.isOn {
            guard state.isLocked else { return nil }
            guard state != .away, state.hasAgent else { return .unavailable }
            let question: Question<Void>
            if let running = unlocking[client.grantee], running.join(waiting) {
                question = running
            } else {
                guard unlocking.count < Times.questions else { return .unavailable }
                question = askToUnlock(client, waiting, longest)
            }
            switch await question.result {
            case .success: return nil
            // Who asked first left: those that still wait ask again.
            case .failure(.clientGone): continue
            case .failure(let failure): return failure
            }
        }
        return .clientGone
    }

    private func askToUnlock(_ client: BusClient, _ waiting: Waiting, _ longest: Double) -> Question<Void> {
        var request = ApprovalRequest(
            client: client.client, item: "the device", purpose: "unlock", destination: nil,
            reason: "read your passwords")
        request.unlock = longest
        let asked = request
        let approvals = approvals
        let question = Question<Void>(waiting, of: client.client.process)
        unlocking[client.grantee] = question
        question.start { [self] in
            let result = await onThread { () throws(BridgeFailure) in
                try approvals.unlock(asked, while: { question.isWaitedOn })
            }
            await ended(unlocking: question, of: client.grantee)
            return result
        }
        return question
    }

    private func ended(unlocking question: Question<Void>, of grantee: Grantee) {
        if unlocking[grantee] === question { unlocking[grantee] = nil }
    }

    // MARK: Keys

    /// The keys of items, of which the owner is asked for those that the program was not granted.
    ///
    /// One prompt for all of them (SS-34). What is read is granted from then on (SS-30).
    ///
    /// - Throws: `BridgeFailure`.
    func keys(
        of names: [String], _ client: BusClient, _ purpose: Purpose, _ waiting: Waiting, longest: Double
    ) async throws(BridgeFailure) -> [String: SymmetricKeyBytes] {
        var keys: [String: SymmetricKeyBytes] = [:]
        var missing: [String] = []
        for name in names {
            guard sessionItems[name] == nil else { throw .gone }
            if let key = try await grantedKey(of: name, client) { keys[name] = key } else { missing.append(name) }
        }
        guard !missing.isEmpty else { return keys }
        let asked = Asking(grantee: client.grantee, items: Set(missing), purpose: purpose)
        while waiting.isOn {
            let question: Question<[String: SymmetricKeyBytes]>
            if let running = asking[asked], running.join(waiting) {
                question = running
            } else if asking.values.count(where: { $0.asker == client.client.process }) < Times.ofOneProcess {
                question = ask(asked, client, waiting, longest)
            } else {
                // A program that starts with many accounts asks for all of them at once: one after the other, and none is refused.
                await change(within: Times.again, orPlace: true)
                continue
            }
            do throws(BridgeFailure) {
                return keys.merging(try await question.result.get()) { $1 }
            } catch .clientGone {
                // Who asked first left: those that still wait ask again.
                continue
            } catch .busy {
                await change(within: Times.again)
            } catch {
                throw error
            }
        }
        throw .clientGone
    }

    private func ask(
        _ asked: Asking, _ client: BusClient, _ waiting: Waiting, _ longest: Double
    ) -> Question<[String: SymmetricKeyBytes]> {
        let wanted = asked.items.sorted()
        let request = request(wanted, client, asked.purpose, longest)
        let approvals = approvals
        let question = Question<[String: SymmetricKeyBytes]>(waiting, of: client.client.process)
        asking[asked] = question
        question.start { [self] in
            let result = await onThread { () throws(BridgeFailure) in
                try approvals.perform(request, while: { question.isWaitedOn }) {
                    proof throws(DeviceError) in try SecretKeychain.keys(of: wanted, proof)
                }
            }
            await ended(asking: question, asked, result, client)
            return result
        }
        return question
    }

    /// Grants what was read before anybody hears of it, so that the next call finds it.
    private func ended(
        asking question: Question<[String: SymmetricKeyBytes]>, _ asked: Asking,
        _ result: Result<[String: SymmetricKeyBytes], BridgeFailure>, _ client: BusClient
    ) async {
        if asked.purpose == .read, case .success(let found) = result { await grant(found, client) }
        if asking[asked] === question { asking[asked] = nil }
        // Another question of the process may have its turn now.
        wakeWhoWantsAPlace()
    }

    /// The copy that a program has; nil where it has none.
    private func grantedKey(of name: String, _ client: BusClient) async throws(BridgeFailure) -> SymmetricKeyBytes? {
        guard grants.has(name, client.grantee) else { return nil }
        if let key = grants.key(of: name, for: client.grantee) { return key }
        guard let row = client.grantee.row else { return nil }
        let key: SymmetricKeyBytes
        if items[name]?.description.grantee?.row == row {
            guard let copy = try await readSealedSecret(of: name).copy else { throw .gone }
            key = copy
        } else {
            key = try await keychain.key(of: name, for: row)
        }
        if isOpen, index.collection(of: name) != nil { grants.put(key, of: name, for: client.grantee) }
        return key
    }

    /// The copies that a program has, if all of them are in memory.
    private func knownKeys(of names: [String], _ client: BusClient) -> [String: SymmetricKeyBytes]? {
        var keys: [String: SymmetricKeyBytes] = [:]
        for name in names {
            guard sessionItems[name] == nil, grants.has(name, client.grantee),
                let key = grants.key(of: name, for: client.grantee)
            else { return nil }
            keys[name] = key
        }
        return keys
    }

    private func grant(_ keys: [String: SymmetricKeyBytes], _ client: BusClient) async {
        for (name, key) in keys where index.collection(of: name) != nil {
            var isKept = true
            if let program = client.grantee.program {
                do throws(BridgeFailure) {
                    try await keychain.grant(key, of: name, to: program)
                } catch {
                    // It is good for a time; then the owner is asked again.
                    BridgeProcess.log("touchstone-secret-service: a grant was not kept: \(error)")
                    isKept = false
                }
            }
            guard isOpen else { continue }
            grants.put(key, of: name, for: client.grantee, isKept: isKept)
            announce(changeOf: name, to: client)
        }
    }

    /// What the owner reads: who asks says the device, whose it is and what it is called say the facts (SS-37).
    func request(
        _ names: [String], _ client: BusClient, _ purpose: Purpose, _ longest: Double
    ) -> ApprovalRequest {
        let shown = names.prefix(5).compactMap { items[$0] }
        let object = names.count == 1 ? "a password" : "\(names.count) passwords"
        let labels = shown.map { "“\(Sentence.short($0.label))”" }.joined(separator: ", ")
        var facts = shown.map { item in
            let maker = item.description.maker.map { "stored by \(Sentence.printable($0))" }
            return Fact(.item, "“\(Sentence.short(item.label))”, \(maker ?? "stored by an unknown program")")
        }
        if names.count > shown.count { facts.append(Fact(.secrets, "\(names.count - shown.count) more")) }
        var request = ApprovalRequest(
            client: client.client, item: "passwords", purpose: purpose.rawValue, destination: nil,
            reason: "\(purpose.rawValue) \(object): \(labels)", facts: facts)
        request.parts = Set(names)
        request.longest = longest
        request.unlock = 0
        return request
    }

    /// Runs something that blocks on a thread of its own.
    func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BridgeFailure) -> Value
    ) async -> Result<Value, BridgeFailure> {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                do throws(BridgeFailure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
    }

    // MARK: Methods that wait

    /// The keys of items for a method, which answers within 20 seconds (SS-32, SS-44).
    ///
    /// The prompt stays longer. What the owner then approves is found by the next call.
    func keysInTime(
        of names: [String], _ client: BusClient, _ purpose: Purpose
    ) async throws(Refusal) -> [String: SymmetricKeyBytes] {
        // A task and a timer would take as long as the rest of the call.
        if let known = knownKeys(of: names, client) { return known }
        let waiting = startWaiting(client, longest: Times.prompt)
        let work = Task { () -> Result<[String: SymmetricKeyBytes], BridgeFailure> in
            do throws(BridgeFailure) {
                let keys = try await keys(of: names, client, purpose, waiting, longest: Times.prompt)
                stopWaiting(client, waiting)
                return .success(keys)
            } catch {
                stopWaiting(client, waiting)
                return .failure(error)
            }
        }
        let first = First<Result<[String: SymmetricKeyBytes], BridgeFailure>>()
        Task { first.set(await work.value) }
        let timer = Task {
            try? await Task.sleep(for: .seconds(Self.secondsLeft))
            first.set(.failure(.unavailable))
        }
        let result = await first.value
        timer.cancel()
        do throws(BridgeFailure) { return try result.get() } catch { throw Refusal(error) }
    }
}

/// The first of several values.
final class First<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, Never>)
        case done(Value)
        case taken
    }

    private let state = Mutex(State.empty)

    func set(_ value: Value) {
        state.withLock { state in
            switch state {
            case .empty: state = .done(value)
            case .waiting(let continuation):
                state = .taken
                continuation.resume(returning: value)
            case .done, .taken: break
            }
        }
    }

    /// The value, if there is one; it is taken.
    var now: Value? {
        state.withLock { state in
            guard case .done(let value) = state else { return nil }
            state = .taken
            return value
        }
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if case .done(let value) = state {
                        state = .taken
                        continuation.resume(returning: value)
                    } else {
                        state = .waiting(continuation)
                    }
                }
            }
        }
    }
}
