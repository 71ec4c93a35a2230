import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel

/// Another Secret Service on the bus, such as gnome-keyring: what it keeps is read, and written back (SS-52).
///
/// > Concurrency: For one thread.
final class OtherProvider {
    /// An item with its secret.
    struct Item {
        var label: String
        var attributes: [String: String]
        var contentType: String
        var secret: Data
        /// Seconds since 1970.
        var created: UInt64
        var modified: UInt64
    }

    struct Collection {
        var label: String
        var isDefault: Bool
        var items: [Item]
    }

    /// All that it keeps.
    struct Contents {
        var collections: [Collection] = []
        /// What could not be read, for the owner.
        var unread: [String] = []
        /// How many secrets of sandboxed programs stay there, because nobody knows of which.
        var unnamed = 0
    }

    private static let name = "org.freedesktop.secrets"
    private static let interface = "org.freedesktop.Secret."
    private static let promptTime = 600.0

    private let bus: BusConnection
    private let owner: String
    private let session: String
    /// The path of its program; nil where nobody can tell.
    let program: String?

    /// - Throws: `BusFailure`; `.refused` where nobody has the name, and the bus knows nobody who would take it.
    init(_ bus: BusConnection) throws(BusFailure) {
        self.bus = bus
        let service = SecretPath.service.text
        // A file that was just written or removed may say who is started.
        bus.readServicesAgain()
        let opened = try bus.call(
            Self.name, service, Self.interface + "Service", "OpenSession",
            [.string("plain"), .variant(.string(""))])
        guard let owner = bus.owner(of: Self.name), let session = opened.last?.object else { throw .malformed }
        self.owner = owner
        self.session = session
        program = bus.peer(of: owner).flatMap { ClientProcess(processID: $0.processID)?.executable }
        try bus.listen(to: Self.interface + "Prompt", from: owner)
    }

    private func call(
        _ path: String, _ kind: String, _ member: String, _ arguments: [BusValue] = []
    ) throws(BusFailure) -> [BusValue] {
        try bus.call(owner, path, Self.interface + kind, member, arguments)
    }

    private func properties(_ path: String, _ kind: String) throws(BusFailure) -> [String: BusValue] {
        let found = try bus.call(
            owner, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(Self.interface + kind)])
        guard let properties = found.first?.dictionary else { throw .malformed }
        return properties
    }

    /// Has the owner asked in the other program's own window.
    ///
    /// - Returns: Whether it was not dismissed.
    private func run(prompt: BusValue?) throws(BusFailure) -> Bool {
        guard let path = prompt?.object else { throw .malformed }
        guard path != "/" else { return true }
        _ = try call(path, "Prompt", "Prompt", [.string("")])
        let answer = bus.wait(
            for: "Completed", of: Self.interface + "Prompt", at: path, from: owner, seconds: Self.promptTime)
        guard case .boolean(let isDismissed)? = answer?.first else { return false }
        return !isDismissed
    }

    private func unlock(_ path: String) throws(BusFailure) -> Bool {
        try run(prompt: try call(SecretPath.service.text, "Service", "Unlock", [.paths([path])]).last)
    }

    // MARK: Reading

    /// Reads all that it keeps, but for what lasts only as long as its program; its owner is asked to unlock what is locked.
    func contents() throws(BusFailure) -> Contents {
        var contents = Contents()
        let service = try properties(SecretPath.service.text, "Service")
        let initial = try alias("default")
        for path in service["Collections"]?.elements?.compactMap(\.object) ?? [] {
            guard path != SecretPath.collection(SecretService.session).text else { continue }
            var known = try properties(path, "Collection")
            if known["Locked"] == .boolean(true), try unlock(path) { known = try properties(path, "Collection") }
            let label = known["Label"]?.text ?? ""
            var collection = Collection(label: label, isDefault: path == initial, items: [])
            guard known["Locked"] == .boolean(false) else {
                contents.unread.append("everything in “\(Sentence.printable(label))”, which is locked")
                continue
            }
            var hidden: Set<String> = []
            for item in known["Items"]?.elements?.compactMap(\.object) ?? [] {
                guard let found = try properties(ifThere: item) else {
                    hidden.insert(item)
                    continue
                }
                if let read = try self.item(item, found) {
                    collection.items.append(read)
                } else {
                    let name = Sentence.printable(found["Label"]?.text ?? item)
                    contents.unread.append("“\(name)” in “\(Sentence.printable(label))”")
                }
            }
            let secrets = try portalSecrets(among: hidden)
            collection.items += secrets
            if NameOwner.givesWay(program) {
                contents.unnamed += hidden.count - secrets.count
            } else if hidden.count > secrets.count {
                contents.unread.append("items in “\(Sentence.printable(label))” that have no object on the bus")
            }
            contents.collections.append(collection)
        }
        return contents
    }

    /// - Returns: Nil where it has no such object.
    private func properties(ifThere item: String) throws(BusFailure) -> [String: BusValue]? {
        do throws(BusFailure) {
            return try properties(item, "Item")
        } catch .refused {
            return nil
        } catch {
            throw error
        }
    }

    // MARK: The portal's

    /// The secrets of sandboxed programs.
    ///
    /// gnome-keyring 42.1 lists what its portal stored, finds it by the program's name, and gives it. But it has no object on the bus, so
    /// that the name cannot be read. So the names of the programs that were ever installed are tried.
    private func portalSecrets(among hidden: Set<String>) throws(BusFailure) -> [Item] {
        guard !hidden.isEmpty else { return [] }
        var items: [Item] = []
        for app in Self.sandboxedPrograms {
            guard let path = try portalPaths(of: app).first(where: hidden.contains),
                let (secret, contentType) = try secret(at: path)
            else { continue }
            items.append(
                Item(
                    label: "Secret of \(app)", attributes: [SecretService.Portal.attribute: app],
                    contentType: contentType, secret: secret, created: 0, modified: 0))
        }
        return items
    }

    private func portalPaths(of app: String) throws(BusFailure) -> [String] {
        let found = try call(
            SecretPath.service.text, "Service", "SearchItems", [.texts([SecretService.Portal.attribute: app])])
        return found.first?.elements?.compactMap(\.object) ?? []
    }

    private func secret(at path: String) throws(BusFailure) -> (Data, String)? {
        let found = try call(SecretPath.service.text, "Service", "GetSecrets", [.paths([path]), .path(session)])
        guard case .entry(_, .structure(let parts))? = found.first?.elements?.first, parts.count == 4,
            let bytes = parts[2].data, let contentType = parts[3].text, bytes.count <= ItemDescription.Limits.secret
        else { return nil }
        return (Data(bytes), contentType)
    }

    /// The names of all Flatpak programs that are or were installed here; their data stays.
    private static var sandboxedPrograms: [String] {
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? NSHomeDirectory()
        let data = environment["XDG_DATA_HOME"] ?? "\(home)/.local/share"
        let places = ["\(home)/.var/app", "\(data)/flatpak/app", "/var/lib/flatpak/app"]
        return Set(places.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }).sorted()
    }

    private func alias(_ name: String) throws(BusFailure) -> String? {
        try call(SecretPath.service.text, "Service", "ReadAlias", [.string(name)]).first?.object
    }

    /// - Returns: nil where it cannot be read, or is larger than what is kept here.
    private func item(_ path: String, _ known: [String: BusValue]) throws(BusFailure) -> Item? {
        if known["Locked"] == .boolean(true), try !unlock(path) { return nil }
        let answer: BusValue?
        do throws(BusFailure) {
            answer = try call(path, "Item", "GetSecret", [.path(session)]).first
        } catch .refused {
            return nil
        } catch {
            throw error
        }
        guard case .structure(let parts)? = answer, parts.count == 4, let bytes = parts[2].data,
            let contentType = parts[3].text, let label = known["Label"]?.text,
            let attributes = known["Attributes"]?.textDictionary
        else { return nil }
        typealias Limits = ItemDescription.Limits
        guard ItemDescription.allows(attributes), bytes.count <= Limits.secret,
            label.utf8.count <= Limits.text, contentType.utf8.count <= Limits.text
        else { return nil }
        return Item(
            label: label, attributes: attributes, contentType: contentType, secret: Data(bytes),
            created: known["Created"]?.count ?? 0, modified: known["Modified"]?.count ?? 0)
    }

    // MARK: Writing

    /// Makes the default collection ready to be written.
    ///
    /// - Returns: Its path; nil where the owner said no.
    func defaultCollection() throws(BusFailure) -> String? {
        if let path = try alias("default"), path != "/" { return try unlock(path) ? path : nil }
        let label = BusValue.variants([(Self.interface + "Collection.Label", .string("Login"))])
        let made = try call(SecretPath.service.text, "Service", "CreateCollection", [label, .string("default")])
        guard try run(prompt: made.last) else { return nil }
        return try alias("default").flatMap { $0 == "/" ? nil : $0 }
    }

    /// Stores an item, unless the same one is there with the same or a later date; an earlier one is changed.
    ///
    /// gnome-keyring would replace each item that has at least these attributes, so it is not told to replace.
    ///
    /// - Returns: Whether it is there, or a later one.
    func store(_ item: Item, in collection: String) throws(BusFailure) -> Bool {
        let secret = BusValue.structure([
            .path(session), .bytes([]), .bytes(Array(item.secret)), .string(item.contentType),
        ])
        do throws(BusFailure) {
            if let same = try newest(like: item, in: collection) {
                guard same.modified < item.modified else { return true }
                _ = try call(same.path, "Item", "SetSecret", [secret])
                guard same.label != item.label else { return true }
                _ = try bus.call(
                    owner, same.path, "org.freedesktop.DBus.Properties", "Set",
                    [.string(Self.interface + "Item"), .string("Label"), .variant(.string(item.label))])
                return true
            }
            let known = BusValue.variants([
                (Self.interface + "Item.Label", .string(item.label)),
                (Self.interface + "Item.Attributes", .texts(item.attributes)),
            ])
            let made = try call(collection, "Collection", "CreateItem", [known, secret, .boolean(false)])
            return try run(prompt: made.last)
        } catch .refused {
            return false
        } catch {
            throw error
        }
    }

    /// The item of a collection that is the same one, and was changed last; nil if there is no such item.
    private func newest(
        like item: Item, in collection: String
    ) throws(BusFailure) -> (path: String, label: String, modified: UInt64)? {
        var newest: (path: String, label: String, modified: UInt64)?
        let identity = ItemIdentity(label: item.label, item.attributes)
        // It finds all that have at least these attributes.
        let found = try call(collection, "Collection", "SearchItems", [.texts(identity.attributes)])
        for path in found.first?.elements?.compactMap(\.object) ?? [] {
            guard let known = try properties(ifThere: path) else {
                // What its portal stored: the same secret is the same item.
                if let (secret, _) = try secret(at: path), secret == item.secret {
                    return (path, item.label, item.modified)
                }
                continue
            }
            guard let label = known["Label"]?.text, let attributes = known["Attributes"]?.textDictionary,
                ItemIdentity(label: label, attributes) == identity
            else { continue }
            let modified = known["Modified"]?.count ?? 0
            if newest.map({ $0.modified < modified }) ?? true { newest = (path, label, modified) }
        }
        return newest
    }
}

extension BusValue {
    /// A count of seconds; nil of another type than `t`.
    fileprivate var count: UInt64? {
        guard case .uint64(let count) = self else { return nil }
        return count
    }
}
