internal import BridgeCore
internal import Foundation
internal import SSHAgentProtocol
internal import Synchronization
public import TouchstoneDevice

/// The agent's own records in the keychain: its keys with their settings, and hosts. They can be read while the device is locked, and hold
/// nothing that would be of use without the enclave.
public final class KeyStore: Sendable {
    private let device: Device
    private let connection = Mutex<DeviceConnection?>(nil)
    private let kept = Mutex<Kept?>(nil)

    struct Kept {
        var keys: [Entry]
        var hosts: [HostRecord]
    }

    struct Entry: Sendable {
        var record: KeyRecord
        /// As ssh writes its public half.
        var blob: [UInt8]
    }

    private enum Service: String {
        case key = "io.touchstone.ssh.key"
        case hosts = "io.touchstone.ssh.hosts"
    }

    private static let mostKeys = 256
    private static let mostHosts = 1024

    public init(device: Device) {
        self.device = device
    }

    // MARK: What is there

    /// - Throws: `BridgeFailure` where the device does not answer and did not before.
    func keys() throws(BridgeFailure) -> [Entry] { try all().keys }

    func hosts() throws(BridgeFailure) -> [HostRecord] { try all().hosts }

    private func all() throws(BridgeFailure) -> Kept {
        if let found = kept.withLock({ $0 }) { return found }
        var entries: [Entry] = []
        for data in try find(.key) {
            // What cannot be read stays where it is.
            guard let record = try? JSONDecoder().decode(KeyRecord.self, from: data),
                let blob = P256Key.blob(point: Array(record.publicKey))
            else { continue }
            entries.append(Entry(record: record, blob: blob))
        }
        let hosts = try find(.hosts).first.flatMap { try? JSONDecoder().decode([HostRecord].self, from: $0) } ?? []
        let found = Kept(keys: entries, hosts: hosts)
        kept.withLock { $0 = found }
        return found
    }

    // MARK: Changes

    func create(_ name: String, _ protection: KeyProtection, host: String?) throws(BridgeFailure) -> Entry {
        let present = try keys()
        guard !present.contains(where: { $0.record.name == name }), present.count < Self.mostKeys else { throw .invalid }
        let made: Created = try call(
            "Key.Create", Create(accessControl: .init(protection: "aku", flags: protection.flags)))
        guard let blob = P256Key.blob(point: Array(made.publicKey)) else { throw .invalid }
        var record = KeyRecord(name: name, key: made.key, publicKey: made.publicKey, protection: protection)
        record.settings.host = host
        let entry = Entry(record: record, blob: blob)
        try add(.key, name, record)
        kept.withLock { $0?.keys.append(entry) }
        return entry
    }

    func remove(_ name: String) throws(BridgeFailure) {
        let _: Nothing = try call("Keychain.Delete", Query(query: Self.query(.key, name)))
        kept.withLock { $0?.keys.removeAll { $0.record.name == name } }
    }

    func set(_ name: String, _ settings: KeySettings) throws(BridgeFailure) {
        guard var entry = try keys().first(where: { $0.record.name == name }) else { throw .gone }
        entry.record.settings = settings
        try replace(.key, name, entry.record)
        kept.withLock { kept in
            guard let index = kept?.keys.firstIndex(where: { $0.record.name == name }) else { return }
            kept?.keys[index] = entry
        }
    }

    /// Keeps that the owner approved a login to a host, if it is not kept yet (SA-17).
    func remember(_ host: HostRecord) throws(BridgeFailure) {
        var hosts = try hosts()
        guard !hosts.contains(where: { $0.fingerprint == host.fingerprint && $0.name == host.name }) else { return }
        hosts = hosts.suffix(Self.mostHosts - 1) + [host]
        do throws(BridgeFailure) { try replace(.hosts, "", hosts) } catch .gone { try add(.hosts, "", hosts) }
        kept.withLock { $0?.hosts = hosts }
    }

    // MARK: Calls

    private struct Value: Encodable {
        var string: String?
        var data: Data?
        var boolean: Bool?
    }
    private struct AccessControl: Encodable { var protection: String; var flags: Int }
    private struct Create: Encodable { var kind = "p256"; var accessControl: AccessControl }
    private struct Created: Decodable { var key: Data; var publicKey: Data }
    private struct Query: Encodable { var query: [String: Value] }
    private struct Addition: Encodable { var attributes: [String: Value] }
    private struct Change: Encodable { var query: [String: Value]; var attributes: [String: Value] }
    private struct Item: Decodable { var data: Data? }
    private struct Items: Decodable { var items: [Item] }

    private static func query(_ service: Service, _ account: String?) -> [String: Value] {
        var query = ["class": Value(string: "genp"), "svce": Value(string: service.rawValue)]
        if let account { query["acct"] = Value(string: account) }
        return query
    }

    private func find(_ service: Service) throws(BridgeFailure) -> [Data] {
        var query = Self.query(service, nil)
        query["m_Limit"] = Value(string: "m_LimitAll")
        query["r_Data"] = Value(boolean: true)
        do throws(BridgeFailure) {
            let found: Items = try call("Keychain.CopyMatching", Query(query: query))
            return found.items.compactMap(\.data)
        } catch .gone {
            return []
        }
    }

    private func add(_ service: Service, _ account: String, _ value: some Encodable) throws(BridgeFailure) {
        var attributes = Self.query(service, account)
        attributes["v_Data"] = Value(data: try Self.encoded(value))
        // Of this device only, and there while it is locked.
        attributes["pdmn"] = Value(string: "dku")
        let _: Ignored = try call("Keychain.Add", Addition(attributes: attributes))
    }

    private struct Ignored: Decodable {}

    private func replace(_ service: Service, _ account: String, _ value: some Encodable) throws(BridgeFailure) {
        let data = Value(data: try Self.encoded(value))
        let _: Nothing = try call(
            "Keychain.Update", Change(query: Self.query(service, account), attributes: ["v_Data": data]))
    }

    private static func encoded(_ value: some Encodable) throws(BridgeFailure) -> Data {
        do { return try JSONEncoder().encode(value) } catch { throw .invalid }
    }

    /// One connection for all calls that ask nobody; after a device that ended, another one.
    private func call<Reply: Decodable>(_ method: String, _ parameters: some Encodable) throws(BridgeFailure) -> Reply {
        do throws(DeviceError) {
            let connection = try connection.withLock { connection throws(DeviceError) -> DeviceConnection in
                if let connection { return connection }
                let made = try device.connect()
                connection = made
                return made
            }
            return try connection.call(method, parameters, Reply.self)
        } catch {
            switch error {
            case .answered, .malformedRequest: break
            default: connection.withLock { $0 = nil }
            }
            throw BridgeFailure(error)
        }
    }
}
