import BridgeCore
import CredentialProtocol
import Foundation
import TouchstoneDevice

/// A value of a dictionary of the keychain's, as `io.touchstone.Keychain` has them.
struct KeychainValue: Codable, Sendable {
    struct Control: Codable, Sendable {
        var protection: String
        var flags: Int
    }

    var string: String?
    var data: Data?
    var number: Int?
    var boolean: Bool?
    var date: Double?
    var accessControl: Control?

    static func text(_ text: String) -> KeychainValue { KeychainValue(string: text) }
    static func bytes(_ bytes: Data) -> KeychainValue { KeychainValue(data: bytes) }
    static let yes = KeychainValue(boolean: true)
}

typealias KeychainDictionary = [String: KeychainValue]

/// A row of the keychain's, without its secret.
struct CredentialRow: Sendable {
    var item: CredentialMessages.Item
    /// Which row it is, whatever else is alike.
    var reference: Data
    var modified: Double
    var expiry: Int64?
}

/// The rows of this program's group (GC-3): internet passwords of git's and docker's, generic ones for commands, each under userPresence.
struct CredentialKeychain: Sendable {
    let device: Device

    private struct Query: Encodable {
        var query: KeychainDictionary
        var context: String?
        var options: AskingOptions?
    }

    private struct Change: Encodable {
        var query: KeychainDictionary?
        var attributes: KeychainDictionary
        var context: String?
        var options: AskingOptions?
    }

    private struct Found: Decodable {
        struct Item: Decodable {
            var attributes: KeychainDictionary?
            var data: Data?
            var persistentReference: Data?
        }

        var items: [Item]
    }

    private struct Added: Decodable {
        struct Item: Decodable { var persistentReference: Data? }
        var item: Item
    }

    /// What the keychain calls git's words; those that it has no word for are not kept.
    private static let schemes = [
        "https": "htps", "http": "http", "smtp": "smtp", "imap": "imap", "imaps": "imps", "ftp": "ftp ", "ftps": "ftps",
    ]

    private static func attributes(_ item: CredentialMessages.Item) -> KeychainDictionary? {
        var found: KeychainDictionary = ["desc": .text(item.kind.rawValue)]
        found["acct"] = item.account.map(KeychainValue.text)
        guard item.kind != .secret else {
            found["class"] = .text("genp")
            found["svce"] = .text(item.place)
            return found
        }
        found["class"] = .text("inet")
        found["srvr"] = .text(item.place)
        if item.kind == .git {
            guard let scheme = item.scheme.flatMap({ schemes[$0] }) else { return nil }
            found["ptcl"] = .text(scheme)
            found["port"] = item.port.map { KeychainValue(number: Int($0)) }
            found["path"] = item.path.map(KeychainValue.text)
        }
        return found
    }

    private static func row(_ found: Found.Item, _ kind: CredentialMessages.Item.Kind) -> CredentialRow? {
        guard let attributes = found.attributes, let reference = found.persistentReference,
            let place = attributes[kind == .secret ? "svce" : "srvr"]?.string
        else { return nil }
        var item = CredentialMessages.Item(kind: kind, place: place, account: attributes["acct"]?.string)
        if kind == .git {
            let word = attributes["ptcl"]?.string
            item.scheme = schemes.first { $0.value == word }?.key
            item.port = attributes["port"]?.number.flatMap { $0 == 0 ? nil : UInt16(exactly: $0) }
            item.path = attributes["path"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        let expiry = attributes["gena"]?.data.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        return CredentialRow(
            item: item, reference: reference, modified: attributes["mdat"]?.date ?? 0, expiry: expiry)
    }

    /// Those of a kind, and of a place and an account where they are named. Nobody is asked.
    func rows(_ item: CredentialMessages.Item, everyPlace: Bool = false) throws(BridgeFailure) -> [CredentialRow] {
        var named = item
        // A row of the whole host serves no path, but one of a path serves the whole host (GC-14): so the rows are filtered here.
        named.path = nil
        guard var query = Self.attributes(named) else { return [] }
        if everyPlace { for key in ["srvr", "svce", "ptcl", "port", "acct"] { query[key] = nil } }
        query["m_Limit"] = .text("m_LimitAll")
        query["r_Attributes"] = .yes
        query["r_PersistentRef"] = .yes
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
        let query: KeychainDictionary = [
            "class": .text(row.item.kind == .secret ? "genp" : "inet"), "v_PersistentRef": .bytes(row.reference),
            "r_Data": .yes,
        ]
        let found = try proof.call(
            "Keychain.CopyMatching", Query(query: query, context: proof.context, options: proof.options), Found.self)
        guard let data = found.items.first?.data else { throw .malformedReply }
        return data
    }

    /// Adds a row. Nobody is asked: it is nobody else's yet.
    func add(_ item: CredentialMessages.Item, _ secret: Data, expiry: Int64?) throws(BridgeFailure) -> Data {
        guard var attributes = Self.attributes(item) else { throw .invalid }
        attributes["labl"] = .text(item.place)
        attributes["v_Data"] = .bytes(secret)
        attributes["accc"] = KeychainValue(accessControl: .init(protection: "aku", flags: 1))
        attributes["r_PersistentRef"] = .yes
        attributes["gena"] = expiry.map { .bytes(Data(String($0).utf8)) }
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            let added = try connection.call("Keychain.Add", Change(attributes: attributes), Added.self)
            guard let reference = added.item.persistentReference else { throw .malformedReply }
            return reference
        } catch {
            throw BridgeFailure(error)
        }
    }

    /// Puts another secret in the place of a row's: asks the owner.
    func replace(_ row: CredentialRow, _ secret: Data, expiry: Int64?, _ proof: Proof) throws(DeviceError) -> Nothing {
        let query: KeychainDictionary = [
            "class": .text(row.item.kind == .secret ? "genp" : "inet"), "v_PersistentRef": .bytes(row.reference),
        ]
        let attributes: KeychainDictionary = [
            "v_Data": .bytes(secret), "gena": .bytes(Data((expiry.map { String($0) } ?? "").utf8)),
        ]
        return try proof.call(
            "Keychain.Update",
            Change(query: query, attributes: attributes, context: proof.context, options: proof.options))
    }

    /// Deletes a row. The keychain asks nobody for that (AC-24): whoever calls this has.
    func delete(_ row: CredentialRow) throws(BridgeFailure) {
        let query: KeychainDictionary = [
            "class": .text(row.item.kind == .secret ? "genp" : "inet"), "v_PersistentRef": .bytes(row.reference),
        ]
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            _ = try connection.call("Keychain.Delete", Query(query: query), Nothing.self)
        } catch {
            let failure = BridgeFailure(error)
            if failure != .gone { throw failure }
        }
    }
}
