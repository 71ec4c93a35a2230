import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel
import TouchstoneDevice

/// The methods of the specification (SS-2).
extension SecretService {
    struct Answer {
        var values: [BusValue] = []
        var isSecret = false
    }

    /// What a path is.
    enum Object: Hashable {
        case service
        case collection(String)
        case item(String)
        case session(String)
        case prompt(String)

        var interface: String {
            switch self {
            case .service: "org.freedesktop.Secret.Service"
            case .collection: "org.freedesktop.Secret.Collection"
            case .item: "org.freedesktop.Secret.Item"
            case .session: "org.freedesktop.Secret.Session"
            case .prompt: "org.freedesktop.Secret.Prompt"
            }
        }
    }

    private enum Limits {
        static let sessions = 64
    }

    static let none = BusValue.path("/")

    func result(of call: BusCall, _ client: BusClient) async throws(Refusal) -> Answer {
        if let answer = try await portal(call, client) { return answer }
        if let answer = try await grants(call, client) { return answer }
        guard let path = SecretPath(call.path) else { throw .noSuchObject }
        let arguments = call.arguments
        let object = try await object(path, client)
        switch call.interface {
        case "org.freedesktop.DBus.Introspectable":
            guard call.member == "Introspect", arguments.isEmpty else { throw .unknownMethod }
            return Answer(values: [.string(Introspection.text(of: object))])
        case "org.freedesktop.DBus.Properties":
            return Answer(values: try await properties(call.member, call.signature, arguments, object, client))
        case nil, object.interface: break
        default: throw .unknownMethod
        }
        switch object {
        case .service: return try await service(call.member, call.signature, arguments, client)
        case .collection(let name):
            return try await collection(name, call.member, call.signature, arguments, client)
        case .item(let name): return try await item(name, call.member, call.signature, arguments, client)
        case .session(let name):
            guard call.member == "Close", arguments.isEmpty else { throw .unknownMethod }
            sessions[name] = nil
            return Answer()
        case .prompt(let name): return try prompt(name, call.member, call.signature, client)
        }
    }

    /// The object of a path, for a program that may know of it.
    func object(_ path: SecretPath, _ client: BusClient) async throws(Refusal) -> Object {
        switch path {
        case .service: return .service
        case .collection(let name):
            if collections[name] == nil { try await loaded() }
            guard collections[name] != nil else { throw .noSuchObject }
            return .collection(name)
        case .alias(let alias):
            if aliases[alias] == nil { try await loaded() }
            guard let name = aliases[alias] else { throw .noSuchObject }
            return .collection(name)
        case .item(let collection, let item): return try await itemObject(item, collection, client)
        case .aliasItem(let alias, let item): return try await itemObject(item, aliases[alias] ?? "", client)
        case .session(let name):
            guard sessions[name]?.owner == client.name else { throw .noSession }
            return .session(name)
        case .prompt(let name):
            // It belongs to the caller that got it, and to nobody else (SS-42).
            guard prompts[name]?.owner == client.name else { throw .unknownObject }
            return .prompt(name)
        }
    }

    private func itemObject(_ item: String, _ collection: String, _ client: BusClient) async throws(Refusal) -> Object {
        if sessionItems[item] == nil { try await loaded() }
        guard index.collection(of: item) == collection, isVisible(item, client) else { throw .noSuchObject }
        return .item(item)
    }

    /// The path of an item, as it is everywhere returned (SS-5).
    func path(of item: String) -> String {
        SecretPath.item(collection: index.collection(of: item) ?? Self.login, item: item).text
    }

    // MARK: Service

    private func service(
        _ member: String, _ signature: String, _ arguments: [BusValue], _ client: BusClient
    ) async throws(Refusal) -> Answer {
        switch (member, signature) {
        case ("OpenSession", let signature) where signature == "sv":
            guard let algorithm = arguments[0].text, case .variant(let input) = arguments[1] else {
                throw .invalidArguments
            }
            return try openSession(algorithm, input, client)
        case ("CreateCollection", "a{sv}s"):
            let label = arguments[0].dictionary?["org.freedesktop.Secret.Collection.Label"]?.text ?? ""
            return try await createCollection(label, alias: arguments[1].text ?? "", client)
        case ("SearchItems", "a{ss}"):
            let names = try await search(arguments[0], in: nil, client)
            return Answer(values: [
                .paths(names.filter { !isLocked($0, client) }.map(path)),
                .paths(names.filter { isLocked($0, client) }.map(path)),
            ])
        case ("Unlock", "ao"): return try await unlock(arguments[0].elements?.compactMap(\.object) ?? [], client)
        case ("Lock", "ao"):
            // The device is the owner's to lock: what ends is what this program was granted for a time (SS-40).
            grants.drop(client.grantee)
            return Answer(values: [arguments[0], Self.none])
        case ("GetSecrets", "aoo"):
            let paths = arguments[0].elements?.compactMap(\.object) ?? []
            let session = try session(arguments[1], client)
            return try await secrets(paths, session, client)
        case ("ReadAlias", "s"):
            guard let name = aliases[arguments[0].text ?? ""], collections[name] != nil else {
                return Answer(values: [Self.none])
            }
            return Answer(values: [.path(SecretPath.collection(name).text)])
        case ("SetAlias", "so"): return try await setAlias(arguments[0].text ?? "", arguments[1].object ?? "", client)
        case ("OpenSession", _), ("CreateCollection", _), ("SearchItems", _), ("Unlock", _), ("Lock", _),
            ("GetSecrets", _), ("ReadAlias", _), ("SetAlias", _):
            throw .invalidArguments
        default: throw .unknownMethod
        }
    }

    private func openSession(_ algorithm: String, _ input: BusValue, _ client: BusClient) throws(Refusal) -> Answer {
        guard sessions.values.count(where: { $0.owner == client.name }) < Limits.sessions else {
            throw .limitsExceeded
        }
        let cipher: SessionCipher
        let output: BusValue
        switch algorithm {
        case SessionCipher.plainName:
            guard input.text == "" else { throw .invalidArguments }
            (cipher, output) = (.plain, .string(""))
        case SessionCipher.encryptedName:
            guard let value = input.data else { throw .invalidArguments }
            do throws(SessionCipher.Failure) {
                let agreed = try SessionCipher.agree(with: value, exponent: SessionCipher.newExponent())
                (cipher, output) = (agreed.cipher, .bytes(agreed.publicValue))
            } catch {
                throw Refusal(error)
            }
        default: throw .notSupported
        }
        let name = SecretPath.newName()
        sessions[name] = Session(owner: client.name, cipher: cipher)
        return Answer(values: [.variant(output), .path(SecretPath.session(name).text)])
    }

    private func createCollection(_ label: String, alias: String, _ client: BusClient) async throws(Refusal) -> Answer {
        guard label.utf8.count <= ItemDescription.Limits.text else { throw .limitsExceeded }
        try await open(for: client)
        let name = try await inTurn { () async throws(Refusal) in
            if !alias.isEmpty {
                // There is one already; nobody is asked for a second one (SS-7).
                if let name = aliases[alias], collections[name] != nil { return name }
                try allows(alias)
                try hasShare(alias, client)
            }
            let maker = client.client.executable
            guard collections.count < ItemDescription.Limits.collections + 2,
                collections.count(where: { ![Self.login, Self.session].contains($0.key) && $0.value.maker == maker })
                    < ItemDescription.Limits.ownCollections
            else { throw .limitsExceeded }
            let name = SecretPath.newName()
            do throws(BridgeFailure) {
                try await keychain.addCollection(name, label: label, maker: maker)
            } catch { throw Refusal(error) }
            if !alias.isEmpty {
                do throws(Refusal) {
                    try await keep(alias, of: name, client)
                } catch {
                    // Nobody would know of it, and it would count.
                    try? await keychain.deleteCollection(name)
                    throw error
                }
            }
            collections[name] = Collection(label: label, created: Self.now, modified: Self.now, maker: maker)
            announce("CollectionCreated", name)
            return name
        }
        return Answer(values: [.path(SecretPath.collection(name).text), Self.none])
    }

    private func allows(_ alias: String) throws(Refusal) {
        guard SecretPath.isElement(alias), alias.utf8.count <= 64 else { throw .invalidArguments }
        guard !["default", "login", "session"].contains(alias) else { throw .accessDenied }
        guard aliases.count < ItemDescription.Limits.aliases + Self.fixedAliases.count || aliases[alias] != nil
        else { throw .limitsExceeded }
    }

    /// No program takes the aliases of the others.
    private func hasShare(_ alias: String, _ client: BusClient) throws(Refusal) {
        let own = aliasMakers.count { $0.key != alias && $0.value == client.client.executable }
        guard own < ItemDescription.Limits.ownAliases else { throw .limitsExceeded }
    }

    private func setAlias(_ alias: String, _ target: String, _ client: BusClient) async throws(Refusal) -> Answer {
        guard target != "/" else {
            try allows(alias)
            try await open(for: client)
            try await inTurn { () async throws(Refusal) in
                do throws(BridgeFailure) { try await keychain.removeAlias(alias) } catch { throw Refusal(error) }
                forget(alias)
            }
            return Answer()
        }
        guard let path = SecretPath(target) else { throw .invalidArguments }
        guard case .collection(let name) = try await object(path, client) else { throw .noSuchObject }
        if aliases[alias] == name { return Answer() }
        try allows(alias)
        try await open(for: client)
        try await inTurn { () async throws(Refusal) in
            guard collections[name] != nil else { throw .noSuchObject }
            try allows(alias)
            try hasShare(alias, client)
            try await keep(alias, of: name, client)
        }
        return Answer()
    }

    private func keep(_ alias: String, of collection: String, _ client: BusClient) async throws(Refusal) {
        let maker = client.client.executable
        do throws(BridgeFailure) {
            try await keychain.setAlias(alias, of: collection, maker: maker)
        } catch { throw Refusal(error) }
        aliases[alias] = collection
        aliasMakers[alias] = .some(maker)
    }

    private func forget(_ alias: String) {
        aliases[alias] = nil
        aliasMakers.removeValue(forKey: alias)
    }

    // MARK: Searching

    /// Items that have these attributes and that a program may know of, the newest first (SS-21, SS-33).
    func search(_ value: BusValue, in collection: String?, _ client: BusClient) async throws(Refusal) -> [String] {
        guard let attributes = value.textDictionary else { throw .invalidArguments }
        guard ItemDescription.allows(attributes) else { throw .limitsExceeded }
        try await loaded()
        offerManaging(client)
        let names = index.search(attributes, in: collection)
        // A program that names an account may find it; nobody lists what accounts there are.
        let isNamed = attributes.keys.contains { $0 != "xdg:schema" }
        let seen = names.filter { isGranted($0, client) || (isNamed && sessionItems[$0] == nil) || lists($0, client) }
        found[client.name, default: []].formUnion(seen.filter { !isGranted($0, client) })
        return seen
    }

    // MARK: Collection

    private func collection(
        _ name: String, _ member: String, _ signature: String, _ arguments: [BusValue], _ client: BusClient
    ) async throws(Refusal) -> Answer {
        switch (member, signature) {
        case ("SearchItems", "a{ss}"):
            return Answer(values: [.paths(try await search(arguments[0], in: name, client).map(path))])
        case ("CreateItem", "a{sv}(oayays)b"):
            guard case .boolean(let replaces) = arguments[2] else { throw .invalidArguments }
            let item = try await createItem(name, arguments[0], arguments[1], replaces: replaces, client)
            return Answer(values: [.path(path(of: item)), Self.none])
        case ("Delete", ""): return try await deleteCollection(name, client)
        case ("SearchItems", _), ("CreateItem", _), ("Delete", _): throw .invalidArguments
        default: throw .unknownMethod
        }
    }

    private func deleteCollection(_ name: String, _ client: BusClient) async throws(Refusal) -> Answer {
        guard name != Self.login, name != Self.session else { throw .notSupported }
        try await open(for: client)
        guard try await removeCollection(name, [], client) else {
            return Answer(values: [.path(try makePrompt(.deleteCollection(name), client))])
        }
        return Answer(values: [Self.none])
    }

    /// The items of a collection that a program was not granted.
    func strangers(in collection: String, _ client: BusClient) -> Set<String> {
        Set(index.search([:], in: collection).filter { !isGranted($0, client) })
    }

    /// Removes a collection with its items, if the program was granted each or the owner approved it.
    ///
    /// - Returns: Whether it was removed; else there is an item for which the owner was not asked.
    func removeCollection(
        _ name: String, _ approved: Set<String>, _ client: BusClient
    ) async throws(Refusal) -> Bool {
        try await inTurn { () async throws(Refusal) in
            guard isOpen else { throw .isLocked }
            guard strangers(in: name, client).isSubset(of: approved) else { return false }
            for item in index.search([:], in: name) { try await remove(item) }
            let gone = aliases.filter { $0.value == name }.keys.sorted()
            do throws(BridgeFailure) {
                for alias in gone { try await keychain.removeAlias(alias) }
                try await keychain.deleteCollection(name)
            } catch { throw Refusal(error) }
            for alias in gone { forget(alias) }
            collections[name] = nil
            announce("CollectionDeleted", name)
            return true
        }
    }
}
