import ArgumentParser
import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel
import TouchstoneDevice

/// Runs what is asynchronous to its end, for a command.
func finish<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(BridgeFailure) -> Value
) throws -> Value {
    let first = First<Result<Value, BridgeFailure>>()
    let done = DispatchSemaphore(value: 0)
    Task {
        do throws(BridgeFailure) { first.set(.success(try await body())) } catch { first.set(.failure(error)) }
        done.signal()
    }
    done.wait()
    do throws(BridgeFailure) {
        guard let result = first.now else { throw BridgeFailure.unavailable }
        return try result.get()
    } catch {
        switch error {
        case .locked: throw ValidationError("the device is locked; unlock it, and run this again")
        case .cancelled, .denied: throw ValidationError("you were asked, and did not agree")
        case .unavailable: throw ValidationError("the device does not answer, or nothing shows its prompts")
        default: throw ValidationError("the device refused (\(error)); 'touchstone doctor' says what is wrong")
        }
    }
}

private func other(on connection: BusConnection) throws -> OtherProvider? {
    do throws(BusFailure) {
        return try OtherProvider(connection)
    } catch {
        guard case .refused = error else { throw ValidationError("the other program does not answer") }
        return nil
    }
}

/// Brings in what another provider keeps (SS-52).
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Bring in the passwords of the program that is org.freedesktop.secrets now.",
        discussion: """
            That program may ask you to unlock what it keeps. If it does not give everything away, nothing is brought in.
            You are asked before a program reads what was brought in. If two items have the same attributes, the newer
            one stays. The other program keeps its own copy.

            Exit status: 0 all of it is here, or there is no such program; 1 something could not be read.
            """)

    @OptionGroup var place: Place

    func run() throws {
        let (device, connection, _) = try place.enter()
        guard let other = try other(on: connection) else {
            return BridgeProcess.say("no other program keeps passwords on this bus")
        }
        let contents: OtherProvider.Contents
        do throws(BusFailure) {
            contents = try other.contents()
        } catch {
            throw ValidationError("\(other.program ?? "the other program") does not answer as it should")
        }
        guard contents.unread.isEmpty else {
            for one in contents.unread { BridgeProcess.log("not read: \(one)") }
            BridgeProcess.log("nothing was brought in")
            throw ExitCode.failure
        }
        let keychain = SecretKeychain(device: device)
        let maker = other.program
        let collections = contents.collections
        let count = try finish { () async throws(BridgeFailure) in try await keep(collections, keychain, maker) }
        let name = Sentence.printable(maker ?? "the other program")
        if contents.unnamed > 0 {
            BridgeProcess.log(
                "\(contents.unnamed) secrets of Flatpak apps stay there, because no app that is or was installed here has them"
            )
        }
        BridgeProcess.say("brought in \(count) of \(collections.reduce(0) { $0 + $1.items.count }) items of \(name)")
    }

    /// What an import comes to, before the first item is written.
    private struct Plan {
        /// The new collections: label by name.
        var collections: [(name: String, label: String)] = []
        /// What is written, by its place.
        var items: [Place: OtherProvider.Item] = [:]
        /// Earlier ones that are here, by the same place.
        var earlier: [Place: [SecretKeychain.Item]] = [:]

        struct Place: Hashable {
            var collection: String
            var identity: ItemIdentity
        }

        init(_ given: [OtherProvider.Collection], _ before: SecretKeychain.Contents) {
            var names = Dictionary(before.collections.map { ($0.label, $0.name) }) { first, _ in first }
            let here = Dictionary(grouping: before.items) {
                Place(
                    collection: $0.description.collection,
                    identity: ItemIdentity(label: $0.label, $0.description.attributes))
            }
            for collection in given where !collection.items.isEmpty {
                var name = SecretService.login
                if !collection.isDefault {
                    name = names[collection.label] ?? SecretPath.newName()
                    if names.updateValue(name, forKey: collection.label) == nil {
                        collections.append((name, collection.label))
                    }
                }
                for item in collection.items {
                    let place = Place(
                        collection: name, identity: ItemIdentity(label: item.label, item.attributes))
                    let same = here[place] ?? []
                    guard !same.contains(where: { $0.modified >= item.modified }),
                        items[place].map({ $0.modified < item.modified }) ?? true
                    else { continue }
                    items[place] = item
                    earlier[place] = same
                }
            }
        }
    }

    /// - Returns: How many were not here already.
    private func keep(
        _ collections: [OtherProvider.Collection], _ keychain: SecretKeychain, _ maker: String?
    ) async throws(BridgeFailure) -> Int {
        let before = try await keychain.contents()
        let plan = Plan(collections, before)
        typealias Limits = ItemDescription.Limits
        let replaced = plan.earlier.values.reduce(0) { $0 + $1.count }
        guard before.items.count - replaced + plan.items.count <= Limits.items,
            before.collections.count + plan.collections.count <= Limits.collections
        else {
            BridgeProcess.log(
                "at most \(Limits.items) items and \(Limits.collections) collections are kept; nothing was brought in")
            throw .invalid
        }
        for (name, label) in plan.collections { try await keychain.addCollection(name, label: label, maker: maker) }
        for (place, item) in plan.items {
            try await keep(item, place.collection, keychain, maker)
            for old in plan.earlier[place] ?? [] {
                try await keychain.delete(old.name, grants: before.grants[old.name] ?? [])
            }
        }
        return plan.items.count
    }

    private func keep(
        _ item: OtherProvider.Item, _ collection: String, _ keychain: SecretKeychain, _ maker: String?
    ) async throws(BridgeFailure) {
        let key = SymmetricKeyBytes()
        let new = SecretKeychain.Item(
            name: SecretPath.newName(), label: item.label,
            description: ItemDescription(
                collection: collection, attributes: item.attributes, contentType: item.contentType, maker: maker,
                created: item.created, modified: item.modified),
            created: item.created, modified: item.modified)
        let sealed = try await keychain.seal(item.secret, key, of: new)
        try await keychain.add(new.sized(secret: sealed.kept.count), sealed)
    }
}

/// Gives back what is kept here (SS-52).
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Give all passwords to another program that is org.freedesktop.secrets.",
        discussion: """
            You are asked once for all of them, and the other program may ask you to unlock what it keeps. Everything goes
            into its default collection. If that has a newer version of an item, the newer one stays. A copy of everything
            stays here.

            Exit status: 0 it has all of them; 1 it did not take all of them, or there is no such program.
            """)

    @OptionGroup var place: Place

    func run() throws {
        let (device, connection, _) = try place.enter()
        let keychain = SecretKeychain(device: device)
        let all = try finish { () async throws(BridgeFailure) in try await keychain.contents() }.items
        // All of them go into one collection. Of the same items the one goes that was changed last.
        let kept = Dictionary(all.map { (ItemIdentity(label: $0.label, $0.description.attributes), $0) }) {
            $0.modified < $1.modified ? $1 : $0
        }.values
        guard !kept.isEmpty else { return BridgeProcess.say("there are no passwords to give back") }
        guard let other = try other(on: connection) else {
            throw ValidationError("no other program would keep passwords on this bus; they stay here")
        }
        let secrets = try secrets(of: Array(kept), keychain, device)
        var left: [String] = []
        do throws(BusFailure) {
            guard let collection = try other.defaultCollection() else {
                throw BusFailure.refused("its default collection stays locked")
            }
            // The oldest first, so that the newest is found first there, too.
            for item in kept.sorted(by: { $0.created < $1.created }) {
                guard let secret = secrets[item.name],
                    try other.store(
                        .init(
                            label: item.label, attributes: item.description.attributes,
                            contentType: item.description.contentType, secret: secret, created: item.created,
                            modified: item.modified), in: collection)
                else {
                    left.append(item.label)
                    continue
                }
            }
        } catch {
            throw ValidationError(
                "\(other.program ?? "the other program") did not take them (\(error)); they stay here")
        }
        for label in left { BridgeProcess.log("not given back: “\(Sentence.printable(label))”") }
        let name = Sentence.printable(other.program ?? "the other program")
        BridgeProcess.say("gave \(kept.count - left.count) of \(kept.count) items to \(name)")
        guard left.isEmpty else { throw ExitCode.failure }
    }

    /// The owner is asked once for all of them.
    private func secrets(
        of items: [SecretKeychain.Item], _ keychain: SecretKeychain, _ device: Device
    ) throws -> [String: Data] {
        let process = ClientProcess(processID: getpid())
        let client = process.flatMap { process in
            process.executable.map { Client.known(process, executable: $0) }
        }
        var request = ApprovalRequest(
            client: client ?? .unknown, item: "passwords", purpose: "read", destination: nil,
            reason: "read all \(items.count) passwords, to give them to another program")
        // One proof is good for all of them; reading them takes a while.
        request.reuse = 300
        let asked = request
        let names = items.map(\.name)
        return try finish { () async throws(BridgeFailure) in
            let keys = try Approvals(device: device).perform(asked, while: { true }) { proof throws(DeviceError) in
                try SecretKeychain.keys(of: names, proof)
            }
            var secrets: [String: Data] = [:]
            for (name, key) in keys {
                secrets[name] = try await keychain.sealedSecret(of: name).open(key, item: name)
            }
            return secrets
        }
    }
}
