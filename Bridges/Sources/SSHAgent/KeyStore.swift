internal import BridgeCore
internal import Foundation
internal import SSHAgentProtocol
internal import Synchronization
public import TouchstoneDevice

/// The agent's own records in the keychain: its keys with their settings, and hosts.
///
/// They can be read while the device is locked, and hold
/// nothing that would be of use without the enclave.
public final class KeyStore: Sendable {
    private let records: OwnRecords
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

    private enum Service {
        static let key = "io.touchstone.ssh.key"
        static let hosts = "io.touchstone.ssh.hosts"
    }

    private static let mostKeys = 256
    private static let mostHosts = 1024

    /// Records of this device's keychain.
    public init(device: Device) {
        records = OwnRecords(device: device)
    }

    // MARK: What is there

    /// - Throws: `BridgeFailure` where the device does not answer and did not before.
    func keys() throws(BridgeFailure) -> [Entry] { try all().keys }

    func hosts() throws(BridgeFailure) -> [HostRecord] { try all().hosts }

    private func all() throws(BridgeFailure) -> Kept {
        if let found = kept.withLock({ $0 }) { return found }
        var entries: [Entry] = []
        for record in try records.all(Service.key, KeyRecord.self) {
            guard let blob = P256Key.blob(point: Array(record.publicKey)) else { continue }
            entries.append(Entry(record: record, blob: blob))
        }
        let hosts = try records.all(Service.hosts, [HostRecord].self).first ?? []
        let found = Kept(keys: entries, hosts: hosts)
        kept.withLock { $0 = found }
        return found
    }

    // MARK: Changes

    func create(_ name: String, _ protection: KeyProtection, host: String?) throws(BridgeFailure) -> Entry {
        let present = try keys()
        guard !present.contains(where: { $0.record.name == name }), present.count < Self.mostKeys else {
            throw .invalid
        }
        let made = try records.makeKey(protection)
        guard let blob = P256Key.blob(point: Array(made.publicKey)) else { throw .invalid }
        var record = KeyRecord(name: name, key: made.key, publicKey: made.publicKey, protection: protection)
        record.settings.host = host
        let entry = Entry(record: record, blob: blob)
        try records.add(Service.key, name, record)
        kept.withLock { $0?.keys.append(entry) }
        return entry
    }

    func remove(_ name: String) throws(BridgeFailure) {
        try records.remove(Service.key, name)
        kept.withLock { $0?.keys.removeAll { $0.record.name == name } }
    }

    func set(_ name: String, _ settings: KeySettings) throws(BridgeFailure) {
        guard var entry = try keys().first(where: { $0.record.name == name }) else { throw .gone }
        entry.record.settings = settings
        try records.replace(Service.key, name, entry.record)
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
        do throws(BridgeFailure) {
            try records.replace(Service.hosts, "", hosts)
        } catch .gone {
            try records.add(Service.hosts, "", hosts)
        }
        kept.withLock { $0?.hosts = hosts }
    }
}
