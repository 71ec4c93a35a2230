import BridgeCore
import Foundation
import SyncStores
import TouchstoneDevice

/// Which store the circle has, and this device's credentials for it: one item of this program's own group (SY-31).
struct StoreSettings: Codable {
    /// `postgresql://…`, `https://…` or a path.
    var address: String
    /// The circle's name in the store.
    var circle: String
    /// The name of an object store's access key.
    var keyID: String?
    /// A password, or an access key's secret.
    fileprivate var secret: String?

    /// - Throws: `configuration` for an address of no kind of store.
    init(address: String, circle: String, keyID: String?) throws(StoreError) {
        (self.address, self.circle, self.keyID) = (address, circle, keyID)
        _ = try kind
        if try kind == .objectStore, keyID == nil {
            throw .configuration("an object store needs the name of its access key: add --key-id NAME")
        }
    }

    enum Kind { case directory, postgreSQL, objectStore }

    var kind: Kind {
        get throws(StoreError) {
            if address.hasPrefix("/") { return .directory }
            if address.hasPrefix("postgresql://") || address.hasPrefix("postgres://") { return .postgreSQL }
            if address.hasPrefix("https://") || address.hasPrefix("http://") { return .objectStore }
            throw .configuration(
                "a store is a directory with a slash before it, postgresql://USER@HOST/DATABASE, or "
                    + "https://HOST/BUCKET?region=REGION")
        }
    }

    /// How the owner is asked for the secret; nil for a store without a secret.
    var question: String? {
        get throws(StoreError) {
            switch try kind {
            case .directory: nil
            case .postgreSQL: "The store's password (empty if it asks for none): "
            case .objectStore: "The secret of the access key \(keyID ?? ""): "
            }
        }
    }

    mutating func take(secret: PasscodeBuffer) {
        self.secret = secret.isEmpty ? nil : String(decoding: secret, as: UTF8.self)
    }

    /// Looks at nothing yet.
    func open() throws(StoreError) -> any SyncStore {
        let secret = try secret.map { secret throws(StoreError) in try StoreSecret(Array(secret.utf8)) }
        switch try kind {
        case .directory: return try DirectoryStore(path: address, circle: circle)
        case .postgreSQL: return try PostgreSQLStore(address: address, password: secret, circle: circle)
        case .objectStore:
            guard let secret else { throw .configuration("an object store needs the secret of its access key") }
            return try ObjectStore(address: address, keyID: keyID ?? "", secret: secret, circle: circle)
        }
    }

    /// How long a wait for news is.
    ///
    /// PostgreSQL says when there is something, and is asked all the same.
    var poll: Duration {
        get throws(StoreError) {
            switch try kind {
            case .directory: .seconds(2)
            case .postgreSQL: .seconds(60)
            case .objectStore: .seconds(30)
            }
        }
    }
}

/// The item itself.
extension StoreSettings {
    private typealias Row = [String: KeychainValue]
    private struct Query: Encodable { var query: Row }
    private struct Addition: Encodable { var attributes: Row }
    private struct Item: Decodable { var data: Data? }
    private struct Items: Decodable { var items: [Item] }
    private struct Ignored: Decodable {}

    private static let row: Row = [
        "class": .text("genp"), "svce": .text("io.touchstone.sync"), "acct": .text("store"),
    ]

    /// What was kept; nil before a store was chosen.
    ///
    /// - Throws: `BridgeFailure`: `.locked` before the first unlock.
    static func read(_ device: Device) throws(BridgeFailure) -> StoreSettings? {
        do throws(BridgeFailure) {
            let query = row.merging(["r_Data": .yes]) { $1 }
            let found: Items = try call(device, "Keychain.CopyMatching", Query(query: query))
            guard var data = found.items.first?.data else { return nil }
            defer { data.resetBytes(in: data.indices) }
            return try? JSONDecoder().decode(StoreSettings.self, from: data)
        } catch .gone {
            return nil
        }
    }

    /// Keeps them in the place of earlier ones, of which nothing is known any more.
    func save(_ device: Device) throws(BridgeFailure) {
        ProgressFile.remove(device: device.name)
        try Self.remove(device)
        guard let data = try? JSONEncoder().encode(self) else { throw .invalid }
        var attributes = Self.row
        attributes["v_Data"] = .bytes(data)
        attributes["labl"] = .text("the store of this device's circle")
        // Of this device only, and there after the first unlock: synchronizing goes on behind a lock screen.
        attributes["pdmn"] = .text("cku")
        let _: Ignored = try Self.call(device, "Keychain.Add", Addition(attributes: attributes))
    }

    static func remove(_ device: Device) throws(BridgeFailure) {
        do throws(BridgeFailure) {
            let _: Ignored = try call(device, "Keychain.Delete", Query(query: row))
        } catch .gone {
            // There were none.
        }
    }

    private static func call<Reply: Decodable>(
        _ device: Device, _ method: String, _ parameters: some Encodable
    ) throws(BridgeFailure) -> Reply {
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            return try connection.call(method, parameters)
        } catch {
            throw BridgeFailure(error)
        }
    }
}
