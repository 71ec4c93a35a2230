import BridgeCore
import CredentialProtocol
import Foundation
import TouchstoneDevice

typealias KeychainDictionary = [String: KeychainValue]

/// What is kept, without its secret.
struct CredentialRow: Sendable {
    var item: CredentialMessages.Item
    /// Which row it is, whatever else is alike.
    var reference: Data
    /// The account of the row that has the secret.
    var value: String
    var modified: Double
    var expiry: Int64?
}

/// The rows of this program's group (GC-3): two for each password.
///
/// One says what it is for, and has no access control: the keychain opens nothing of a protected row without the owner, also not
/// its attributes. The other has the secret, under userPresence.
struct CredentialKeychain: Sendable {
    let device: Device

    struct Query: Encodable {
        var query: KeychainDictionary
        var context: String?
        var options: AskingOptions?
    }

    struct Change: Encodable {
        var query: KeychainDictionary?
        var attributes: KeychainDictionary
        var context: String?
        var options: AskingOptions?
    }

    struct Found: Decodable {
        struct Item: Decodable {
            var attributes: KeychainDictionary?
            var data: Data?
            var persistentReference: Data?
        }

        var items: [Item]
    }

    struct Added: Decodable {
        struct Item: Decodable { var persistentReference: Data? }
        var item: Item
    }

    /// Where secrets of commands go (EX-6), if this program's manifest names it: `touchstone item` then has them too (EX-10).
    static let sharedGroup = "touchstone.secrets"
    /// userPresence, while the device is unlocked, on this device.
    private static let control = KeychainValue(accessControl: .init(protection: "aku", flags: 1))

    static func hasSharedGroup(_ connection: DeviceConnection) throws(DeviceError) -> Bool {
        struct Identity: Decodable { var applicationGroups: [String]? }
        let found = try connection.call("Authentication.GetIdentity", Nothing(), Identity.self)
        return found.applicationGroups?.contains(sharedGroup) == true
    }

    /// What the keychain calls git's words; those that it has no word for are not kept.
    private static let schemes = [
        "https": "htps", "http": "http", "smtp": "smtp", "imap": "imap", "imaps": "imps", "ftp": "ftp ", "ftps": "ftps",
    ]

    /// Whether it is a generic password, else one of a server.
    private static func isGeneric(_ kind: CredentialMessages.Item.Kind) -> Bool { kind == .secret || kind == .gpg }

    private static func attributes(_ item: CredentialMessages.Item) -> KeychainDictionary? {
        var found: KeychainDictionary = ["desc": .text(item.kind.rawValue)]
        found["acct"] = item.account.map(KeychainValue.text)
        guard !isGeneric(item.kind) else {
            found["class"] = .text("genp")
            found["svce"] = .text(item.place)
            return found
        }
        found["class"] = .text("inet")
        found["srvr"] = .text(item.place)
        if item.kind == .git {
            guard let scheme = item.scheme.flatMap({ schemes[$0] }) else { return nil }
            found["ptcl"] = .text(scheme)
            found["port"] = item.port.map { .number(Int($0)) }
            found["path"] = item.path.map(KeychainValue.text)
        }
        return found
    }

    private static func row(_ found: Found.Item, _ kind: CredentialMessages.Item.Kind) -> CredentialRow? {
        guard let attributes = found.attributes, let reference = found.persistentReference,
            let place = attributes[isGeneric(kind) ? "svce" : "srvr"]?.string
        else { return nil }
        var item = CredentialMessages.Item(kind: kind, place: place, account: attributes["acct"]?.string)
        if kind == .git {
            let word = attributes["ptcl"]?.string
            item.scheme = schemes.first { $0.value == word }?.key
            item.port = attributes["port"]?.number.flatMap { $0 == 0 ? nil : UInt16(exactly: $0) }
            item.path = attributes["path"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let value = found.data.flatMap({ String(validating: $0, as: UTF8.self) }) else { return nil }
        // Internet passwords have no "gena".
        let expiry = attributes["icmt"]?.string.flatMap { Int64($0) }
        return CredentialRow(
            item: item, reference: reference, value: value, modified: attributes["mdat"]?.date ?? 0, expiry: expiry)
    }

    /// Those of a kind, and of a place and an account where they are named.
    ///
    /// Nobody is asked.
    func rows(_ item: CredentialMessages.Item, everyPlace: Bool = false) throws(BridgeFailure) -> [CredentialRow] {
        var named = item
        // A row of the whole host serves no path, but one of a path serves the whole host (GC-14): so the rows are filtered here.
        named.path = nil
        // Every place has every scheme: which one stands here is taken out again.
        if everyPlace, named.kind == .git { named.scheme = "https" }
        guard var query = Self.attributes(named) else { return [] }
        if everyPlace { for key in ["srvr", "svce", "ptcl", "port", "acct"] { query[key] = nil } }
        query["m_Limit"] = .text("m_LimitAll")
        query["r_Attributes"] = .yes
        query["r_PersistentRef"] = .yes
        query["r_Data"] = .yes
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            let found = try connection.call("Keychain.CopyMatching", Query(query: query), Found.self)
            return found.items.compactMap { Self.row($0, item.kind) }
        } catch {
            let failure = BridgeFailure(error)
            if failure == .gone { return [] }
            throw failure
        }
    }

    /// The secret of a row: asks the owner where the proof says how.
    func secret(of row: CredentialRow, _ proof: Proof) throws(DeviceError) -> Data {
        let query = Self.value(row.value, ["r_Data": .yes])
        let found = try proof.call(
            "Keychain.CopyMatching", Query(query: query, context: proof.context, options: proof.options), Found.self)
        guard let data = found.items.first?.data else { throw .malformedReply }
        return data
    }

    /// The row that has a secret.
    private static func value(_ name: String, _ more: KeychainDictionary = [:]) -> KeychainDictionary {
        more.merging(
            [
                "class": .text("genp"), "svce": .text("io.touchstone.Credentials"), "desc": .text("value"),
                "acct": .text(name),
            ],
            uniquingKeysWith: { $1 })
    }

    private static func named(_ row: CredentialRow) -> KeychainDictionary {
        ["class": .text(isGeneric(row.item.kind) ? "genp" : "inet"), "v_PersistentRef": .bytes(row.reference)]
    }

    func changing<Value>(_ body: (DeviceConnection) throws(DeviceError) -> Value) throws(BridgeFailure) -> Value {
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            return try body(connection)
        } catch {
            throw BridgeFailure(error)
        }
    }

    /// Adds both rows, the secret first.
    ///
    /// Nobody is asked: it is nobody else's yet.
    ///
    /// - Returns: Which row it is, and the account of the one that has the secret.
    func add(
        _ item: CredentialMessages.Item, _ secret: Data, expiry: Int64?, isOpen: Bool = false
    ) throws(BridgeFailure) -> (reference: Data, value: String) {
        guard var attributes = Self.attributes(item) else { throw .invalid }
        let name = UUID().uuidString
        attributes["labl"] = .text(item.place)
        attributes["v_Data"] = .bytes(Data(name.utf8))
        attributes["pdmn"] = .text("aku")
        attributes["r_PersistentRef"] = .yes
        attributes["icmt"] = expiry.map { .text(String($0)) }
        // The owner reads this name in the prompt.
        let label = item.kind == .secret ? [item.place, item.account] : [item.account, item.place]
        let words = label.compactMap { $0 }.filter { !$0.isEmpty }.joined(
            separator: item.kind == .secret ? "/" : " at ")
        let protection: KeychainDictionary = isOpen ? ["pdmn": .text("aku")] : ["accc": Self.control]
        let value = Self.value(
            name, protection.merging(["v_Data": .bytes(secret), "labl": .text(words)], uniquingKeysWith: { $1 }))
        let description = attributes
        let isSecret = item.kind == .secret
        let reference = try changing { connection throws(DeviceError) in
            var (value, description) = (value, description)
            if isSecret, try Self.hasSharedGroup(connection) {
                (value["agrp"], description["agrp"]) = (.text(Self.sharedGroup), .text(Self.sharedGroup))
            }
            _ = try connection.call("Keychain.Add", Change(attributes: value), Added.self)
            do throws(DeviceError) {
                let added = try connection.call("Keychain.Add", Change(attributes: description), Added.self)
                guard let reference = added.item.persistentReference else { throw .malformedReply }
                return reference
            } catch {
                _ = try? connection.call("Keychain.Delete", Query(query: Self.value(name)), Nothing.self)
                throw error
            }
        }
        return (reference, name)
    }

    /// Puts another secret in the place of a row's, once the owner was asked for the old one with the same proof.
    ///
    /// It is guarded from then on, if `isOpen` does not say otherwise: whoever kept the old one open does not get the new one. Nor does
    /// any program that was granted the old one.
    ///
    /// - Parameters:
    ///   - row: The row, as it was found.
    ///   - secret: The new secret.
    ///   - expiry: When it ends, in seconds since 1970; nil if it does not say.
    ///   - isOpen: Whether it is read without the owner.
    ///   - proof: What the owner's yes is noted in.
    /// - Returns: Nothing.
    /// - Throws: The device's errors. The grants may be gone then.
    func replace(
        _ row: CredentialRow, _ secret: Data, expiry: Int64?, isOpen: Bool, _ proof: Proof
    ) throws(DeviceError) -> Nothing {
        do throws(DeviceError) {
            _ = try proof.call("Keychain.Delete", Query(query: Self.grant(of: row.value)), Nothing.self)
        } catch {
            // No program was granted it.
            guard BridgeFailure(error) == .gone else { throw error }
        }
        var attributes: KeychainDictionary = ["v_Data": .bytes(secret)]
        if !isOpen { attributes["accc"] = Self.control }
        _ = try proof.call(
            "Keychain.Update",
            Change(
                query: Self.value(row.value), attributes: attributes, context: proof.context,
                options: proof.options?.askingNobody),
            Nothing.self)
        let ends = expiry.map { String($0) } ?? ""
        return try proof.call("Keychain.Update", Change(query: Self.named(row), attributes: ["icmt": .text(ends)]))
    }

    /// Deletes both rows, after its grants.
    ///
    /// The keychain asks nobody for that (AC-24): whoever calls this has.
    func delete(_ row: CredentialRow) throws(BridgeFailure) {
        for query in [Self.grant(of: row.value), Self.value(row.value), Self.named(row)] {
            do throws(BridgeFailure) {
                try changing { connection throws(DeviceError) in
                    _ = try connection.call("Keychain.Delete", Query(query: query), Nothing.self)
                }
            } catch .gone {
                // A part of it was gone already.
            }
        }
    }
}
