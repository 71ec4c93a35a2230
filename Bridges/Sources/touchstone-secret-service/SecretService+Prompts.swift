import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel

/// Prompts: objects by which a program has the owner asked (SS-42).
extension SecretService {
    struct Prompt: Sendable {
        enum Wish: Sendable {
            case unlock([String])
            case deleteItem(String)
            case deleteCollection(String)
        }

        var owner: String
        var wish: Wish
        var waiting: Waiting?
    }

    private enum Limits {
        /// Prompts of one program that were not completed.
        static let prompts = 16
        /// Clients that listen only after the answer to Prompt wait for ever if it comes sooner (SS-42).
        static let pause = 0.1
    }

    func makePrompt(_ wish: Prompt.Wish, _ client: BusClient) throws(Refusal) -> String {
        guard prompts.values.count(where: { $0.owner == client.name }) < Limits.prompts else { throw .limitsExceeded }
        let name = SecretPath.newName()
        prompts[name] = Prompt(owner: client.name, wish: wish)
        return SecretPath.prompt(name).text
    }

    /// Says what is unlocked already, and makes a prompt for the rest (SS-8).
    func unlock(_ paths: [String], _ client: BusClient) async throws(Refusal) -> Answer {
        guard paths.count <= 4096 else { throw .limitsExceeded }
        await settled()
        var open: [String] = []
        var locked: [String] = []
        for text in paths {
            guard let path = SecretPath(text) else { continue }
            if !isLoaded, isKept(path) {
                // Nobody knows yet whether it is there: the prompt waits until it is known.
                locked.append(text)
                continue
            }
            do throws(Refusal) {
                switch try await object(path, client) {
                case .collection(let name):
                    if isOpen || name == Self.session { open.append(text) } else { locked.append(text) }
                case .item(let name):
                    if sessionItems[name] != nil || !isLocked(name, client) {
                        open.append(text)
                    } else {
                        locked.append(text)
                    }
                default: break
                }
            } catch {
                guard error == .noSuchObject else { throw error }
            }
        }
        guard !locked.isEmpty else { return Answer(values: [.paths(open), Self.none]) }
        return Answer(values: [.paths(open), .path(try makePrompt(.unlock(locked), client))])
    }

    private func isKept(_ path: SecretPath) -> Bool {
        switch path {
        case .collection(let name): name != Self.session && collections[name] == nil
        case .item(let collection, _): collection != Self.session
        case .aliasItem(let alias, _): alias != Self.session
        default: false
        }
    }

    func prompt(
        _ name: String, _ member: String, _ signature: String, _ client: BusClient
    ) throws(Refusal) -> Answer {
        switch (member, signature) {
        case ("Prompt", "s"):
            guard let prompt = prompts[name], prompt.waiting == nil else { throw .invalidArguments }
            let waiting = startWaiting(client, longest: Times.always)
            prompts[name]?.waiting = waiting
            Task { await show(name, prompt.wish, client, waiting) }
            return Answer()
        case ("Dismiss", ""):
            guard let prompt = prompts[name] else { throw .unknownObject }
            if let waiting = prompt.waiting { stopWaiting(client, waiting) }
            complete(name, prompt.wish, client, isDone: false)
            return Answer()
        default: throw .unknownMethod
        }
    }

    private func show(_ name: String, _ wish: Prompt.Wish, _ client: BusClient, _ waiting: Waiting) async {
        let earliest = ContinuousClock.now + .seconds(Limits.pause)
        var isPaused = isPaused(wish, client)
        var failure = await ask(wish, client, waiting)
        while let why = failure, waiting.isOn, await isAskedAgain(after: why, isPaused, wish, client, waiting) {
            isPaused = self.isPaused(wish, client)
            failure = await ask(wish, client, waiting)
        }
        try? await Task.sleep(until: earliest, clock: .continuous)
        stopWaiting(client, waiting)
        complete(name, wish, client, isDone: failure == nil)
    }

    /// Waits until the owner can be asked again.
    ///
    /// - Returns: False where the failure is the answer.
    private func isAskedAgain(
        after failure: BridgeFailure, _ wasPaused: Bool, _ wish: Prompt.Wish, _ client: BusClient, _ waiting: Waiting
    ) async -> Bool {
        switch failure {
        case .unavailable, .locked, .displaced:
            // Nobody could be asked: that is no answer, and the program waits (SS-39).
            await change(within: Times.again)
            return true
        case .cancelled, .denied:
            guard case .unlock(let paths) = wish, withholdsRefusal(of: paths, client) else { return false }
            if wasPaused {
                await change(within: Times.again)
                return true
            }
            notify(of: client)
            let before = unlocks
            while waiting.isOn, unlocks == before { await change(within: 60) }
            return true
        case .busy, .clientGone, .gone, .invalid: return false
        }
    }

    /// Whether a browser asks for its own key: told that the owner refused, it would throw its cookies away (SS-38).
    private func withholdsRefusal(of paths: [String], _ client: BusClient) -> Bool {
        guard client.systemProgram.map(Browsers.contain) ?? false else { return false }
        return paths.allSatisfy { text in
            switch SecretPath(text) {
            case .item(_, let item), .aliasItem(_, let item):
                items[item]?.description.attributes["xdg:schema"].map(Browsers.keySchemas.contains) ?? false
            default: true
            }
        }
    }

    /// Whether a cancel of a moment ago refuses this without a prompt (BR-29).
    private func isPaused(_ wish: Prompt.Wish, _ client: BusClient) -> Bool {
        guard case .unlock(let paths) = wish else { return false }
        let names = items(of: paths, client)
        return !names.isEmpty && approvals.isPaused(request(names, client, .read, 0))
    }

    private func notify(of client: BusClient) {
        let name = client.systemProgram.map { ($0 as NSString).lastPathComponent } ?? ""
        bus.call(
            "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
            "Notify",
            [
                .string("Touchstone"), .uint32(0), .string("dialog-password"), .string("\(name) waits for its key"),
                .string(
                    "Without it, \(name) would delete its cookies. Lock and unlock the device to be asked again, or close \(name)."
                ), .array("s", []), .variants([]), .int32(-1),
            ])
    }

    /// - Returns: nil once it is done, else why not.
    private func ask(_ wish: Prompt.Wish, _ client: BusClient, _ waiting: Waiting) async -> BridgeFailure? {
        if let failure = await opened(for: client, waiting) { return failure }
        do throws(BridgeFailure) {
            switch wish {
            case .unlock(let paths):
                let names = items(of: paths, client).filter { !isGranted($0, client) }
                if !names.isEmpty { _ = try await keys(of: names, client, .read, waiting, longest: Times.always) }
            case .deleteItem(let item):
                _ = try await keys(of: [item], client, .delete, waiting, longest: Times.always)
                guard waiting.isOn else { throw .clientGone }
                try await removed(item)
            case .deleteCollection(let name):
                var approved: Set<String> = []
                // What others put there meanwhile is asked for, too.
                while try await !removedCollection(name, approved, client) {
                    let others = strangers(in: name, client).subtracting(approved)
                    _ = try await keys(of: others.sorted(), client, .delete, waiting, longest: Times.always)
                    guard waiting.isOn else { throw .clientGone }
                    approved.formUnion(others)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func removedCollection(
        _ name: String, _ approved: Set<String>, _ client: BusClient
    ) async throws(BridgeFailure) -> Bool {
        do throws(Refusal) {
            return try await removeCollection(name, approved, client)
        } catch {
            throw error == .isLocked ? .locked : .denied
        }
    }

    private func removed(_ item: String) async throws(BridgeFailure) {
        do throws(Refusal) { try await remove(item) } catch { throw .denied }
    }

    /// The items among paths that are there, and that the program knows of.
    private func items(of paths: [String], _ client: BusClient) -> [String] {
        paths.compactMap { text in
            let name: String
            switch SecretPath(text) {
            case .item(_, let item), .aliasItem(_, let item): name = item
            default: return nil
            }
            return items[name] != nil && sessionItems[name] == nil && isVisible(name, client) ? name : nil
        }
    }

    /// Says how it ended, once, to the program that asked; then the prompt is gone.
    private func complete(_ name: String, _ wish: Prompt.Wish, _ client: BusClient, isDone: Bool) {
        guard prompts.removeValue(forKey: name) != nil else { return }
        let result: BusValue =
            switch wish {
            case .unlock(let paths): .paths(isDone ? paths.filter { isThere($0, client) } : [])
            case .deleteItem, .deleteCollection: .string("")
            }
        bus.signal(
            "Completed", of: Object.prompt("").interface, at: SecretPath.prompt(name).text,
            [.boolean(!isDone), .variant(result)], to: client.name)
    }

    private func isThere(_ text: String, _ client: BusClient) -> Bool {
        switch SecretPath(text) {
        case .collection(let name): collections[name] != nil
        case .alias(let alias): aliases[alias] != nil
        case .item(_, let item), .aliasItem(_, let item): items[item] != nil && isGranted(item, client)
        default: false
        }
    }
}
