import BridgeBus
import BridgeCore
import SecretServiceModel

/// Properties and signals, for each caller what it may know (SS-2, SS-31, SS-33).
extension SecretService {
    func properties(
        _ member: String, _ signature: String, _ arguments: [BusValue], _ object: Object, _ client: BusClient
    ) async throws(Refusal) -> [BusValue] {
        guard let interface = arguments.first?.text else { throw .invalidArguments }
        guard interface.isEmpty || interface == object.interface else {
            if member == "GetAll" { return [.variants([])] }
            throw .unknownProperty
        }
        switch (member, signature) {
        case ("Get", "ss"):
            let name = arguments[1].text ?? ""
            if case .item = object, ["Label", "Attributes", "Type"].contains(name) { try await open(for: client) }
            if object == .service || isItems(name, object) { try await loaded() }
            guard let value = values(of: object, client).first(where: { $0.0 == name })?.1 else {
                throw .unknownProperty
            }
            return [.variant(value)]
        case ("GetAll", "s"): return [.variants(values(of: object, client))]
        case ("Set", "ssv"):
            guard case .variant(let value) = arguments[2] else { throw .invalidArguments }
            try await set(arguments[1].text ?? "", value, object, client)
            return []
        default: throw .unknownMethod
        }
    }

    private func isItems(_ name: String, _ object: Object) -> Bool {
        if case .collection = object { return name == "Items" }
        return false
    }

    /// What is known now.
    ///
    /// Of an item of a locked device the label and the attributes are not: they are empty, since libsecret cannot do without them.
    private func values(of object: Object, _ client: BusClient) -> [(String, BusValue)] {
        switch object {
        case .service:
            return [("Collections", .paths(collections.keys.sorted().map { SecretPath.collection($0).text }))]
        case .collection(let name):
            guard let collection = collections[name] else { return [] }
            // What others stored is nobody's list (SS-33).
            offerManaging(client)
            return [
                ("Items", items(of: name, client)), ("Label", .string(collection.label)),
                ("Locked", .boolean(name != Self.session && !isOpen)), ("Created", .uint64(collection.created)),
                ("Modified", .uint64(collection.modified)),
            ]
        case .item(let name):
            let locked = ("Locked", BusValue.boolean(sessionItems[name] == nil && isLocked(name, client)))
            guard let item = items[name] else {
                return [
                    locked, ("Attributes", .texts([:])), ("Label", .string("")), ("Type", .string("")),
                    ("Created", .uint64(0)), ("Modified", .uint64(0)),
                ]
            }
            return [
                locked, ("Attributes", .texts(item.description.attributes)), ("Label", .string(item.label)),
                ("Type", .string(item.description.type)), ("Created", .uint64(item.created)),
                ("Modified", .uint64(item.modified)),
            ]
        case .session, .prompt: return []
        }
    }

    private func items(of collection: String, _ client: BusClient) -> BusValue {
        let known = index.search([:], in: collection).filter { isGranted($0, client) || lists($0, client) }
        return .paths(known.map(path))
    }

    private func set(
        _ name: String, _ value: BusValue, _ object: Object, _ client: BusClient
    ) async throws(Refusal) {
        switch (object, name) {
        case (.item(let item), "Label"):
            guard let label = value.text else { throw .invalidArguments }
            guard label.utf8.count <= ItemDescription.Limits.text else { throw .limitsExceeded }
            try await change(item, client) { $0.label = label }
        case (.item(let item), "Attributes"):
            guard let attributes = value.textDictionary else { throw .invalidArguments }
            guard ItemDescription.allows(attributes) else { throw .limitsExceeded }
            try await change(item, client) { $0.description.attributes = attributes }
        case (.item(let item), "Type"):
            guard let type = value.text else { throw .invalidArguments }
            guard type.utf8.count <= ItemDescription.Limits.text else { throw .limitsExceeded }
            try await change(item, client) { $0.description.attributes["xdg:schema"] = type }
        case (.collection(let collection), "Label"):
            guard let label = value.text else { throw .invalidArguments }
            guard label.utf8.count <= ItemDescription.Limits.text else { throw .limitsExceeded }
            // That of the session is nowhere kept.
            guard collection != Self.session else { throw .accessDenied }
            try await open(for: client)
            do throws(BridgeFailure) {
                try await keychain.changeCollection(collection, label: label)
            } catch { throw Refusal(error) }
            collections[collection]?.label = label
            announce(changeOf: collection, ["Label": value])
        case (.item, "Locked"), (.item, "Created"), (.item, "Modified"), (.collection, "Items"),
            (.collection, "Locked"), (.collection, "Created"), (.collection, "Modified"), (.service, "Collections"):
            throw .readOnly
        default: throw .unknownProperty
        }
    }

    // MARK: Signals

    private static let propertiesInterface = "org.freedesktop.DBus.Properties"

    /// Tells everybody of a collection: at its own path, and at each alias (SS-5).
    func announce(changeOf collection: String, _ changed: [String: BusValue]) {
        for path in paths(of: collection) {
            bus.signal(
                "PropertiesChanged", of: Self.propertiesInterface, at: path,
                [
                    .string(Object.collection("").interface), .variants(changed.map { ($0.key, $0.value) }),
                    .array("s", []),
                ], to: nil)
        }
        announce("CollectionChanged", collection)
    }

    /// Tells one program which items of a collection it may know.
    func announceItems(of collection: String, to client: BusClient) {
        for path in paths(of: collection) {
            bus.signal(
                "PropertiesChanged", of: Self.propertiesInterface, at: path,
                [
                    .string(Object.collection("").interface), .variants([("Items", items(of: collection, client))]),
                    .array("s", []),
                ], to: client.name)
        }
    }

    /// Tells everybody which collections there are.
    func announce(_ signal: String, _ collection: String) {
        bus.signal(
            signal, of: Object.service.interface, at: SecretPath.service.text,
            [.path(SecretPath.collection(collection).text)], to: nil)
    }

    /// Tells those that may know of an item, once the program that changed it has its answer.
    func announce(_ signal: String, _ item: String, in collection: String) {
        let path = BusValue.path(SecretPath.item(collection: collection, item: item).text)
        for client in clients.values where isGranted(item, client) {
            for object in paths(of: collection) {
                bus.signal(
                    signal, of: Object.collection("").interface, at: object, [path], to: client.name, isLast: true)
            }
        }
    }

    /// Tells one program that an item is no longer locked for it (SS-31).
    func announce(changeOf item: String, to client: BusClient) {
        bus.signal(
            "PropertiesChanged", of: Self.propertiesInterface, at: path(of: item),
            [.string(Object.item("").interface), .variants(values(of: .item(item), client)), .array("s", [])],
            to: client.name)
    }

    private func paths(of collection: String) -> [String] {
        [SecretPath.collection(collection).text]
            + aliases.filter { $0.value == collection }.keys.sorted().map { SecretPath.alias($0).text }
    }
}
