import ArgumentParser
import BridgeCore
import Foundation
import SyncEngine
import SyncStores
import TouchstoneDevice

/// Where the circle's store is.
struct StoreOptions: ParsableArguments {
    @Argument(help: "A directory, postgresql://… or https://…") var address: String
    @Option(help: "The circle's name in the store.") var circle: String
    @Option(name: .customLong("key-id"), help: "The name of an object store's access key.") var keyID: String?

    var settings: StoreSettings {
        get throws { try StoreSettings(address: address, circle: circle, keyID: keyID) }
    }
}

/// The store's half of `touchstone sync create`.
struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync create'.", shouldDisplay: false)
    @OptionGroup var store: StoreOptions

    func run() throws {
        let options = store
        try Conversation.run { conversation in
            let (settings, store) = try await conversation.newStore(options)
            guard try await ChainExchange.link(0, in: store) == nil else {
                throw Refusal(
                    text:
                        "there is a circle named \(settings.circle) at this store already: 'touchstone sync join' joins it, and "
                        + "--circle NAME makes another one")
            }
            try settings.save(conversation.device)
            do {
                conversation.say("ready")
                _ = try await conversation.hear("changed")
            } catch {
                try StoreSettings.remove(conversation.device)
                throw error
            }
            _ = try await ChainExchange(conversation.calls, store).run()
        }
    }
}

/// The store's half of `touchstone sync join`.
struct Join: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync join'.", shouldDisplay: false)
    @OptionGroup var store: StoreOptions

    func run() throws {
        let options = store
        try Conversation.run { conversation in
            let (settings, store) = try await conversation.newStore(options)
            guard try await ChainExchange.link(0, in: store) != nil else {
                throw Refusal(
                    text:
                        "there is no circle named \(settings.circle) at this store; 'touchstone sync create' makes one")
            }
            let board = BoardChanges(store)
            conversation.say("ready")
            guard let application = try await conversation.hear("application").application else {
                throw Conversation.Ended()
            }
            try await board.change { $0.joining = Board.Joining(application: application) }
            conversation.say("waiting")
            let challenge = try await Self.wait(board, application) { $0.challenge }
            conversation.say(Step(step: "challenge", challenge: challenge))
            let reveal = try await conversation.hear("reveal").reveal
            try await board.change { board in
                guard board.joining?.application == application else { throw Self.displaced }
                board.joining?.reveal = reveal
            }
            let link = try await Self.wait(board, application) { $0.link }
            let links = try await ChainExchange.links(in: store)
            guard links.count > link else {
                throw StoreError.unavailable("not all of the circle has come yet: try again")
            }
            conversation.say(Step(step: "links", links: links))
            _ = try await conversation.hear("changed")
            try settings.save(conversation.device)
            try await board.change { board in
                if board.joining?.application == application { board.joining = nil }
            }
        }
    }

    private static let displaced = Refusal(
        text: "the circle turned this device away, or another device began to join: run this again")

    /// Looks at the board until it has what is wanted.
    private static func wait<Wanted>(
        _ board: BoardChanges, _ application: Data, _ wanted: (Board.Joining) -> Wanted?
    ) async throws -> Wanted {
        for _ in 0..<Waits.looks {
            guard let joining = try await board.read().joining, joining.application == application else {
                throw displaced
            }
            if let found = wanted(joining) { return found }
            try await Task.sleep(for: Waits.pause)
        }
        throw Refusal(text: "nobody answered for half an hour: run this again when you are at the other device")
    }
}

/// The store's half of `touchstone sync recover`.
struct Recover: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync recover'.", shouldDisplay: false)
    @OptionGroup var store: StoreOptions

    func run() throws {
        let options = store
        try Conversation.run { conversation in
            let (settings, store) = try await conversation.newStore(options)
            let links = try await ChainExchange.links(in: store)
            guard !links.isEmpty else {
                throw Refusal(text: "there is no circle named \(settings.circle) at this store: look at --circle")
            }
            conversation.say(Step(step: "links", links: links))
            try settings.save(conversation.device)
            do {
                _ = try await Change.publish(conversation, store)
            } catch {
                try StoreSettings.remove(conversation.device)
                throw error
            }
        }
    }
}

/// How long a person may take to go to another device.
enum Waits {
    static let pause = Duration.milliseconds(500)
    /// Half an hour.
    static let looks = 3600
}

/// The store's half of `touchstone sync approve`.
struct Approve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync approve'.", shouldDisplay: false)

    func run() throws {
        try Conversation.run { conversation in
            let store = try await conversation.store()
            let board = BoardChanges(store)
            let joining = try await Self.joining(conversation, board)
            do {
                // Before anybody is asked: what others changed meanwhile.
                _ = try await ChainExchange(conversation.calls, store).run()
                let reveal = try await Self.reveal(joining, conversation, board)
                conversation.say(Step(step: "compare", reveal: reveal))
                let link = try await Change.publish(conversation, store) - 1
                try await board.change { board in
                    if board.joining?.application == joining.application { board.joining?.link = link }
                }
            } catch {
                // The new device waits no longer.
                _ = try? await board.change { board in
                    if board.joining?.application == joining.application { board.joining = nil }
                }
                throw error
            }
        }
    }

    private static func joining(_ conversation: Conversation, _ board: BoardChanges) async throws -> Board.Joining {
        for look in 0..<Waits.looks {
            if let joining = try await board.read().joining { return joining }
            if look == 0 { conversation.say("waiting") }
            try await Task.sleep(for: Waits.pause)
        }
        throw Refusal(text: "no device asked to join for half an hour: run this again when you are at it")
    }

    private static func reveal(
        _ joining: Board.Joining, _ conversation: Conversation, _ board: BoardChanges
    ) async throws -> Data {
        conversation.say(Step(step: "application", application: joining.application))
        guard let challenge = try await conversation.hear("challenge").challenge else { throw Conversation.Ended() }
        try await board.change { now in
            guard now.joining?.application == joining.application else { throw gone }
            if let other = now.joining?.challenge, other != challenge {
                throw Refusal(text: "another device of the circle is approving it already")
            }
            now.joining?.challenge = challenge
        }
        for _ in 0..<Waits.looks {
            guard let now = try await board.read().joining, now.application == joining.application else { throw gone }
            if let reveal = now.reveal { return reveal }
            try await Task.sleep(for: Waits.pause)
        }
        throw gone
    }

    private static let gone = Refusal(
        text: "the new device does not wait any more: run 'touchstone sync join' there again")
}

/// The store's half of `touchstone sync remove`.
struct Change: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync remove'.", shouldDisplay: false)

    func run() throws {
        try Conversation.run { conversation in
            let store = try await conversation.store()
            _ = try await ChainExchange(conversation.calls, store).run()
            conversation.say("ready")
            _ = try await Self.publish(conversation, store)
        }
    }

    /// Waits until the command has changed the circle, and makes the change count.
    ///
    /// - Returns: How many links there are.
    static func publish(_ conversation: Conversation, _ store: any SyncStore) async throws -> Int {
        _ = try await conversation.hear("changed")
        let outcome = try await ChainExchange(conversation.calls, store).run()
        guard !outcome.lost else {
            throw Refusal(text: "another device changed the circle at the same moment, and was faster; try again")
        }
        return outcome.count
    }
}

/// The store's half of `touchstone sync leave`.
struct Leave: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync leave'.", shouldDisplay: false)
    @Flag(help: "Only forget the store.") var forget = false

    func run() throws {
        let forget = forget
        try Conversation.run { conversation in
            let store = forget ? nil : try await conversation.store()
            if let store { _ = try await ChainExchange(conversation.calls, store).run() }
            conversation.say("ready")
            do {
                if let store {
                    _ = try await Change.publish(conversation, store)
                } else {
                    _ = try await conversation.hear("changed")
                }
            } catch DeviceFailure.noCircle {
                // The last member leaves at once.
            }
            try StoreSettings.remove(conversation.device)
            ProgressFile.remove(device: conversation.device.name)
        }
    }
}

/// What `touchstone sync status` says of the store.
struct Look: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A part of 'touchstone sync status'.", shouldDisplay: false)

    private struct Report: Encodable {
        var address: String?
        var circle: String?
        var isRunning: Bool
        var problem: String?
    }

    func run() throws {
        try Conversation.run { conversation in
            let settings = try StoreSettings.read(conversation.device)
            var report = Report(
                address: settings?.address, circle: settings?.circle,
                isRunning: ProgressFile.isTaken(device: conversation.device.name))
            if let settings {
                do {
                    let store = try settings.open()
                    try await store.prepare()
                    report.problem =
                        try await ChainExchange.link(0, in: store) == nil
                        ? "the store has no circle" : ChainExchange(conversation.calls, store).problem()
                } catch {
                    report.problem = "\(error)"
                }
            }
            let text = try JSONEncoder().encode(report)
            conversation.say(Step(step: "store", text: String(decoding: text, as: UTF8.self)))
        }
    }
}
