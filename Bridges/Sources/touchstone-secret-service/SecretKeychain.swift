import BridgeCore
import BridgeJSON
import Foundation
import SecretServiceModel
import Synchronization
import TouchstoneDevice

/// The rows of this program's group (SS-20).
///
/// An item has one row, so that it is stored whole or not at all. Its secret is sealed with a key of its own. That key is sealed for the
/// owner's key, whose row wants the owner. The copy for the program that stored the item stands in the item's row. Each other program that
/// was granted the item has a row with a copy.
///
/// > Concurrency: One call at a time, on a queue of its own.
final class SecretKeychain: Sendable {
    typealias Dictionary = [String: KeychainValue]

    /// What kinds of rows there are.
    private enum Service {
        static let value = "ss-value"
        static let ownerKey = "ss-owner-key"
        /// The name of an owner's key, because to look for that key itself asks the owner (AC-22).
        static let owner = "ss-owner"
        static let grant = "ss-grant"
        static let collection = "ss-collection"
        static let alias = "ss-alias"
    }

    private struct Query: Encodable {
        var query: Dictionary
        var context: String?
        var options: AskingOptions?
    }

    /// What is asked for with each store, so that it is written without an encoder.
    private struct Change {
        var query: Dictionary?
        var attributes: Dictionary

        var json: Data {
            var json = JSONObject()
            json.add("query", query.map(Self.object))
            json.add("attributes", Self.object(attributes))
            return json.data
        }

        private static func object(_ dictionary: Dictionary) -> JSONObject {
            var json = JSONObject()
            for (name, value) in dictionary {
                var member = JSONObject()
                member.add("string", value.string)
                member.add("data", base64: value.data)
                member.add("number", value.number)
                member.add("boolean", value.boolean)
                member.add("accessControl", value.accessControl.map(object))
                json.add(name, member)
            }
            return json
        }

        private static func object(_ control: KeychainValue.Control) -> JSONObject {
            var json = JSONObject()
            json.add("protection", control.protection)
            json.add("flags", control.flags)
            return json
        }
    }

    private struct Found: Decodable {
        struct Item: Decodable {
            var attributes: Dictionary?
            var data: Data?
        }

        var items: [Item]
    }

    /// An item, without its secret.
    struct Item: Sendable {
        var name: String
        var label: String
        var description: ItemDescription
        /// Seconds since 1970.
        var created: UInt64
        var modified: UInt64
        /// How many bytes are kept of it, with its sealed secret.
        var bytes = 0

        /// The same with a sealed secret of so many bytes; nil for the one that it has.
        func sized(secret: Int?) -> Item {
            var item = self
            if let secret { item.description.secretBytes = secret }
            item.bytes = label.utf8.count + item.description.kept.count + (item.description.secretBytes ?? 0)
            return item
        }
    }

    /// A grant, without its copy of a key.
    struct KeptGrant: Sendable {
        /// The name of the item.
        var item: String
        var program: GrantedProgram
        /// Seconds since 1970.
        var since: UInt64
    }

    /// All that is kept, without secrets.
    struct Contents: Sendable {
        struct Collection: Sendable {
            var name: String
            var label: String
            var created: UInt64
            /// The path of the program that made it.
            var maker: String?
        }

        struct Alias: Sendable {
            var collection: String
            /// The path of the program that set it.
            var maker: String?
        }

        var collections: [Collection] = []
        /// Those that clients set, by their names.
        var aliases: [String: Alias] = [:]
        var items: [Item] = []
        /// Of each item the programs that were granted it, its own row's among them.
        var grants: [String: Set<String>] = [:]
    }

    /// For whom new items are sealed.
    private struct Owner {
        /// nil until it was read or made.
        var key: OwnerKey.Public?
        /// Of this unlocked period.
        var sealer: OwnerKey.Sealer?
    }

    let device: Device
    private let caller = DeviceCaller()
    /// The connection, and when it was last used.
    private let connection = Mutex<(DeviceConnection, ContinuousClock.Instant)?>(nil)
    private let owner = Mutex(Owner())
    /// touchstoned closes a connection on which nothing was asked for a minute, as after the first reading.
    ///
    /// The first call after that would fail.
    private static let longestSilence = Duration.seconds(20)
    /// What it is called in the journal.
    static let program = "touchstone-secret-service"

    init(device: Device) { self.device = device }

    // MARK: Reading

    /// Reads all rows but secrets, and removes what a crash left (SS-20).
    ///
    /// - Parameter removes: Whether it does; only who has taken the ``DeviceLock`` may.
    /// - Returns: What the rows say.
    /// - Throws: `BridgeFailure`.
    func contents(removesUnfinished removes: Bool = true) async throws(BridgeFailure) -> Contents {
        let named = self.device
        return try await perform { device throws(DeviceError) in
            var contents = Contents()
            var owner: OwnerKey.Public?
            for row in try Self.rows(named, Service.owner) where owner == nil {
                guard let key = row["acct"]?.string.flatMap(OwnerKey.Public.init(name:)) else { continue }
                if try Self.isThere(device, key) { owner = key }
            }
            self.owner.withLock { [owner] in $0 = Owner(key: owner) }
            for row in try Self.rows(named, Service.alias) {
                guard let name = row["acct"]?.string, let collection = row["labl"]?.string else { continue }
                contents.aliases[name] = .init(collection: collection, maker: Self.maker(row))
            }
            for row in try Self.rows(named, Service.collection) {
                guard let name = row["acct"]?.string else { continue }
                contents.collections.append(
                    .init(
                        name: name, label: row["labl"]?.string ?? "", created: Self.seconds(row["cdat"]),
                        maker: Self.maker(row)))
            }
            var items: Set<String> = []
            for row in try Self.rows(named, Service.value) {
                guard let name = row["acct"]?.string else { continue }
                // Also if it cannot be read: its grants stay (SS-24).
                items.insert(name)
                guard let kept = row["gena"]?.data, let description = ItemDescription(kept) else {
                    BridgeProcess.log("touchstone-secret-service: an item cannot be read: \(Sentence.printable(name))")
                    continue
                }
                let label = row["labl"]?.string ?? ""
                contents.items.append(
                    Item(
                        name: name, label: label, description: description,
                        created: description.created ?? Self.seconds(row["cdat"]),
                        modified: description.modified ?? Self.seconds(row["mdat"]),
                        bytes: label.utf8.count + kept.count + (description.secretBytes ?? 0)))
                if let grantee = description.grantee { contents.grants[name] = [grantee.row] }
            }
            for row in try Self.rows(named, Service.grant) {
                guard let account = row["acct"]?.string else { continue }
                let parts = account.split(separator: "/", maxSplits: 1).map(String.init)
                guard parts.count == 2 else { continue }
                if items.contains(parts[0]) {
                    contents.grants[parts[0], default: []].insert(parts[1])
                } else if removes {
                    try Self.delete(device, Service.grant, account)
                }
            }
            return contents
        }
    }

    /// Whether an owner's key is there, without asking for it; a backup brings its name alone.
    private static func isThere(_ device: DeviceConnection, _ key: OwnerKey.Public) throws(DeviceError) -> Bool {
        var query = row(Service.ownerKey, key.name)
        query["r_Data"] = .yes
        query["u_AuthUI"] = .text("u_AuthUIF")
        do throws(DeviceError) {
            _ = try device.call("Keychain.CopyMatching", Query(query: query), Found.self)
        } catch {
            guard case .answered = error else { throw error }
            return BridgeFailure(error) != .gone
        }
        return true
    }

    /// All rows of a kind, however many: they come in several answers, of at most 32 MiB each.
    private static func rows(_ device: Device, _ service: String) throws(DeviceError) -> [Dictionary] {
        BridgeProcess.endIfReplaced(program)
        let query: Dictionary = [
            "class": .text("genp"), "svce": .text(service), "m_Limit": .text("m_LimitAll"), "r_Attributes": .yes,
        ]
        let request: Data
        do { request = try JSONEncoder().encode(Query(query: query)) } catch { throw .malformedRequest }
        var rows: [Dictionary] = []
        do throws(DeviceError) {
            let answers = try device.stream("io.touchstone.Keychain.CopyMatching", request)
            while let answer = try answers.next() {
                guard let found = try? JSONDecoder().decode(Found.self, from: answer) else { throw .malformedReply }
                rows += found.items.compactMap(\.attributes)
            }
            return rows
        } catch {
            guard rows.isEmpty, BridgeFailure(error) == .gone else { throw error }
            return []
        }
    }

    /// The program that made a collection or set an alias; nil if nobody knows it.
    private static func maker(_ row: Dictionary) -> String? { row["icmt"]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// Apple's dates begin in 2001, those of D-Bus in 1970.
    private static func seconds(_ date: KeychainValue?) -> UInt64 {
        UInt64(max(0, (date?.date ?? 0) + 978_307_200))
    }

    /// All grants that have a row of their own, in no order.
    func grants() async throws(BridgeFailure) -> [KeptGrant] {
        let named = self.device
        return try await perform { _ throws(DeviceError) in
            try Self.rows(named, Service.grant).compactMap { row in
                let parts = row["acct"]?.string?.split(separator: "/", maxSplits: 1).map(String.init) ?? []
                guard parts.count == 2 else { return nil }
                let program = GrantedProgram(
                    row: parts[1], path: row["labl"]?.string ?? "", digest: row["icmt"]?.string)
                return KeptGrant(item: parts[0], program: program, since: Self.seconds(row["cdat"]))
            }
        }
    }

    /// The sealed secret of an item.
    func sealedSecret(of item: String) async throws(BridgeFailure) -> SealedSecret {
        try await perform { device throws(DeviceError) in try Self.sealedSecret(device, item) }
    }

    private static func sealedSecret(_ device: DeviceConnection, _ item: String) throws(DeviceError) -> SealedSecret {
        guard let sealed = SealedSecret(try data(device, Service.value, item)) else { throw .malformedReply }
        return sealed
    }

    /// The copy of an item's key in the row that a program's grant has of its own.
    func key(of item: String, for program: String) async throws(BridgeFailure) -> SymmetricKeyBytes {
        let bytes = try await perform { device throws(DeviceError) in
            try Self.data(device, Service.grant, "\(item)/\(program)")
        }
        guard let key = SymmetricKeyBytes(bytes) else { throw .gone }
        return key
    }

    /// The keys of items: asks the owner, once for all of them (SS-34).
    static func keys(of items: [String], _ proof: Proof) throws(DeviceError) -> [String: SymmetricKeyBytes] {
        var found: [String: SymmetricKeyBytes] = [:]
        var ownerKeys: [OwnerKey.Public: OwnerKey] = [:]
        for item in items {
            let sealed = try sealedSecret(proof.connection, item)
            if ownerKeys[sealed.owner] == nil {
                var query = row(Service.ownerKey, sealed.owner.name)
                query["r_Data"] = .yes
                ownerKeys[sealed.owner] = try proof.call(
                    "Keychain.CopyMatching", Query(query: query, context: proof.context, options: proof.options),
                    Found.self
                ).items.first?.data.flatMap(OwnerKey.init)
            }
            guard let key = ownerKeys[sealed.owner].flatMap({ sealed.key($0, item: item) }) else {
                throw .malformedReply
            }
            found[item] = key
        }
        return found
    }

    private static func data(
        _ device: DeviceConnection, _ service: String, _ account: String
    ) throws(DeviceError) -> Data {
        var query = row(service, account)
        query["r_Data"] = .yes
        guard let data = try device.call("Keychain.CopyMatching", Query(query: query), Found.self).items.first?.data
        else { throw .malformedReply }
        return data
    }

    // MARK: Changing

    /// Seals a secret for the owner, whose key is made with the first item.
    ///
    /// The copy of the key is there if the item's description says for whom.
    func seal(
        _ secret: Data, _ key: SymmetricKeyBytes, of item: Item
    ) async throws(BridgeFailure) -> SealedSecret {
        let sealer =
            if let known = owner.withLock({ $0.sealer }) { known } else { try await newSealer() }
        let hasCopy = item.description.grantee != nil
        guard let sealed = SealedSecret(secret, key, item: item.name, for: sealer, hasCopy: hasCopy) else {
            throw .invalid
        }
        return sealed
    }

    private func newSealer() async throws(BridgeFailure) -> OwnerKey.Sealer {
        let key = if let known = owner.withLock({ $0.key }) { known } else { try await newOwnerKey() }
        guard let sealer = OwnerKey.Sealer(for: key) else { throw .invalid }
        owner.withLock { if $0.key == key { $0.sealer = sealer } }
        return sealer
    }

    /// Seals nothing more with what can open what was sealed until now: the device is locked.
    func forgetSealer() { owner.withLock { $0.sealer = nil } }

    private func newOwnerKey() async throws(BridgeFailure) -> OwnerKey.Public {
        try await perform { device throws(DeviceError) in
            // Another call may have been quicker.
            if let known = self.owner.withLock({ $0.key }) { return known }
            let key = OwnerKey()
            try Self.add(
                device, Service.ownerKey, key.publicKey.name, key.bytes,
                [
                    "accc": KeychainValue(accessControl: .init(protection: "aku", flags: 1)),
                    "labl": .text("Passwords of desktop programs"),
                ])
            // After the key itself: what nobody can open is sealed for nobody.
            try Self.add(device, Service.owner, key.publicKey.name, Data())
            self.owner.withLock { $0 = Owner(key: key.publicKey) }
            return key.publicKey
        }
    }

    /// Adds an item.
    func add(_ item: Item, _ sealed: SealedSecret) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.add(
                device, Service.value, item.name, sealed.kept,
                ["labl": .text(item.label), "gena": .bytes(item.description.kept)])
        }
    }

    /// Changes an item that is there; what is nil stays.
    func change(_ item: Item, sealed: SealedSecret?) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            var attributes: Dictionary = [
                "labl": .text(item.label), "gena": .bytes(item.description.kept),
            ]
            attributes["v_Data"] = sealed.map { .bytes($0.kept) }
            let change = Change(query: Self.row(Service.value, item.name), attributes: attributes)
            _ = try device.call("io.touchstone.Keychain.Update", change.json)
        }
    }

    /// Writes the copy of an item's key for another program than the one that stored it (SS-20).
    func grant(
        _ key: SymmetricKeyBytes, of item: String, to program: GrantedProgram
    ) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.add(device, Service.grant, "\(item)/\(program.row)", key.bytes, Self.who(program))
        }
    }

    /// What the row of a grant says of its program, for the owner's list of them (BR-31).
    private static func who(_ program: GrantedProgram) -> Dictionary {
        var attributes: Dictionary = ["labl": .text(program.path)]
        attributes["icmt"] = program.digest.map(KeychainValue.text)
        return attributes
    }

    /// Removes the row of a program's grant; one that is gone already is no error.
    func revoke(_ item: String, _ row: String) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.delete(device, Service.grant, "\(item)/\(row)")
        }
    }

    /// Deletes an item with all its rows; its own first.
    ///
    /// The keychain asks nobody for that (AC-24): whoever calls this has.
    func delete(_ item: String, grants: Set<String>) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.delete(device, Service.value, item)
            for program in grants { try Self.delete(device, Service.grant, "\(item)/\(program)") }
        }
    }

    func addCollection(_ name: String, label: String, maker: String?) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.add(
                device, Service.collection, name, Data(), ["labl": .text(label), "icmt": .text(maker ?? "")])
        }
    }

    /// The first one, `login`, has a row only once its label was changed.
    func changeCollection(_ name: String, label: String) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.put(device, Service.collection, name, ["labl": .text(label)])
        }
    }

    func deleteCollection(_ name: String) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in try Self.delete(device, Service.collection, name) }
    }

    /// Sets an alias, also one that is there.
    func setAlias(_ alias: String, of collection: String, maker: String?) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in
            try Self.put(device, Service.alias, alias, ["labl": .text(collection), "icmt": .text(maker ?? "")])
        }
    }

    func removeAlias(_ alias: String) async throws(BridgeFailure) {
        try await perform { device throws(DeviceError) in try Self.delete(device, Service.alias, alias) }
    }

    private static func row(_ service: String, _ account: String) -> Dictionary {
        ["class": .text("genp"), "svce": .text(service), "acct": .text(account)]
    }

    private static func add(
        _ device: DeviceConnection, _ service: String, _ account: String, _ data: Data, _ more: Dictionary = [:]
    ) throws(DeviceError) {
        var attributes = row(service, account).merging(more) { $1 }
        if attributes["accc"] == nil { attributes["pdmn"] = .text("aku") }
        attributes["v_Data"] = .bytes(data)
        _ = try device.call("io.touchstone.Keychain.Add", Change(attributes: attributes).json)
    }

    /// Changes what a row without data says, or adds the row.
    private static func put(
        _ device: DeviceConnection, _ service: String, _ account: String, _ attributes: Dictionary
    ) throws(DeviceError) {
        do throws(DeviceError) {
            let change = Change(query: row(service, account), attributes: attributes)
            _ = try device.call("io.touchstone.Keychain.Update", change.json)
        } catch {
            guard BridgeFailure(error) == .gone else { throw error }
            try add(device, service, account, Data(), attributes)
        }
    }

    /// What is gone already is no error.
    private static func delete(
        _ device: DeviceConnection, _ service: String, _ account: String
    ) throws(DeviceError) {
        do throws(DeviceError) {
            _ = try device.call("Keychain.Delete", Query(query: row(service, account)), Nothing.self)
        } catch {
            guard BridgeFailure(error) == .gone else { throw error }
        }
    }

    /// Runs calls one after the other, over the connection that stays.
    ///
    /// One that was ended since the last call is made anew. What was in flight is not repeated.
    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (DeviceConnection) throws(DeviceError) -> Value
    ) async throws(BridgeFailure) -> Value {
        do throws(DeviceError) {
            return try await caller.run { () throws(DeviceError) in
                let device = try self.connected()
                do throws(DeviceError) {
                    let value = try body(device)
                    self.connection.withLock { $0?.1 = .now }
                    return value
                } catch {
                    if case .answered = error {} else { self.connection.withLock { $0 = nil } }
                    throw error
                }
            }
        } catch {
            throw BridgeFailure(error)
        }
    }

    private func connected() throws(DeviceError) -> DeviceConnection {
        if let (kept, used) = connection.withLock({ $0 }), used + Self.longestSilence > .now { return kept }
        BridgeProcess.endIfReplaced(Self.program)
        let made = try device.connect()
        connection.withLock { $0 = (made, .now) }
        return made
    }

    /// Ends the connection, since the device it was to is gone.
    func disconnect() { connection.withLock { $0 = nil } }
}
