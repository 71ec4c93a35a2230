import BridgeCore
import Crypto
import Foundation
import P11Token
import Synchronization
import TouchstoneDevice

/// The bridge's keys in the keychain, and the token's serial number.
///
/// > Concurrency: Callable from any thread.
final class KeyStore: Sendable {
    private enum Service {
        static let key = "io.touchstone.pkcs11.key"
        static let token = "io.touchstone.pkcs11.token"
    }
    private enum Limits {
        static let keys = 256
        /// Of programs: so that the owner's command has room.
        static let keysOfPrograms = 64
    }

    struct Entry {
        var record: KeyRecord
        var key: TokenKey
    }

    private struct TokenRecord: Codable { var serialNumber: String }

    private struct Kept {
        var entries: [Entry]?
        var serialNumber: String?
        var lastNumber: UInt64 = 0
    }

    private let records: OwnRecords
    private let kept = Mutex(Kept())
    /// Held over changes, each of which looks before it leaps.
    private let changing = NSLock()

    init(device: Device) { records = OwnRecords(device: device) }

    // MARK: What is there

    func entries() throws(BridgeFailure) -> [Entry] {
        if let found = kept.withLock({ $0.entries }) { return found }
        let found = try records.all(Service.key, KeyRecord.self).sorted { $0.name < $1.name }
        return kept.withLock { kept in
            // Another thread may have been first; what has a number keeps it.
            if let entries = kept.entries { return entries }
            let entries = found.map { Entry(record: $0, key: Self.key($0, &kept.lastNumber)) }
            kept.entries = entries
            return entries
        }
    }

    func entry(named name: String) throws(BridgeFailure) -> Entry {
        guard let entry = try entries().first(where: { $0.record.name == name }) else { throw .gone }
        return entry
    }

    private static func key(_ record: KeyRecord, _ lastNumber: inout UInt64) -> TokenKey {
        lastNumber += 1
        return key(record, number: lastNumber)
    }

    private static func key(_ record: KeyRecord, number: UInt64) -> TokenKey {
        var key = TokenKey(
            number: number, label: record.name, identifier: Array(record.identifier), point: Array(record.publicKey))
        key.certificate = record.certificate.flatMap { TokenCertificate(der: Array($0)) }
        key.wantsExplicitLogin = record.wantsExplicitLogin
        return key
    }

    /// 16 characters that were drawn once for this keychain: a device publishes nothing that outlives its boot.
    func serialNumber() throws(BridgeFailure) -> String {
        if let found = kept.withLock({ $0.serialNumber }) { return found }
        return try change { () throws(BridgeFailure) in
            let found: String
            if let record = try records.all(Service.token, TokenRecord.self).first {
                found = record.serialNumber
            } else {
                found = String(format: "%016llx", UInt64.random(in: .min ... .max))
                try records.add(Service.token, "", TokenRecord(serialNumber: found))
            }
            kept.withLock { $0.serialNumber = found }
            return found
        }
    }

    /// Signs with a key that asks for nobody.
    func sign(_ digest: [UInt8], with record: KeyRecord) throws(BridgeFailure) -> [UInt8] {
        Array(try records.sign(Data(digest), with: record.key))
    }

    // MARK: Changes

    private func change<Value>(_ body: () throws(BridgeFailure) -> Value) throws(BridgeFailure) -> Value {
        changing.lock()
        defer { changing.unlock() }
        return try body()
    }

    /// What a new key is made by.
    struct Wish {
        /// Nil for a name of the store's choice.
        var name: String?
        /// Nil for the SHA-1 of the point.
        var identifier: Data?
        var protection = KeyProtection.userPresence
        var wantsExplicitLogin = false
        /// The program that asks; nil for the owner's command.
        var madeBy: String?
    }

    /// - Throws: `BridgeFailure`: `.invalid` for a name that is taken or none, `.busy` where there are too many keys.
    func create(_ wish: Wish) throws(BridgeFailure) -> Entry {
        try change { () throws(BridgeFailure) in
            let present = try entries().map(\.record)
            let ofPrograms = present.count { $0.madeBy != nil }
            guard present.count < Limits.keys, wish.madeBy == nil || ofPrograms < Limits.keysOfPrograms else {
                throw .busy
            }
            if let name = wish.name {
                guard KeyName.isValid(name), !present.contains(where: { $0.name == name }) else { throw .invalid }
            }
            let made = try records.makeKey(wish.protection)
            let digest = Insecure.SHA1.hash(data: made.publicKey)
            let record = KeyRecord(
                name: wish.name ?? "key " + digest.prefix(8).map { String(format: "%02x", $0) }.joined(), key: made.key,
                publicKey: made.publicKey, protection: wish.protection, identifier: wish.identifier ?? Data(digest),
                wantsExplicitLogin: wish.wantsExplicitLogin, madeBy: wish.madeBy)
            try records.add(Service.key, record.name, record)
            return kept.withLock { kept in
                let entry = Entry(record: record, key: Self.key(record, &kept.lastNumber))
                kept.entries?.append(entry)
                return entry
            }
        }
    }

    /// - Throws: `BridgeFailure`: `.gone` where there is no such key.
    func change(_ name: String, _ body: (inout KeyRecord) throws(BridgeFailure) -> Void) throws(BridgeFailure) -> Entry
    {
        try change { () throws(BridgeFailure) in
            var entry = try entry(named: name)
            try body(&entry.record)
            try records.replace(Service.key, name, entry.record)
            entry.key = Self.key(entry.record, number: entry.key.number)
            kept.withLock { kept in
                guard let index = kept.entries?.firstIndex(where: { $0.record.name == name }) else { return }
                kept.entries?[index] = entry
            }
            return entry
        }
    }

    /// - Throws: `BridgeFailure`: `.gone` where there is no such key.
    func remove(_ name: String) throws(BridgeFailure) {
        try change { () throws(BridgeFailure) in
            try records.remove(Service.key, name)
            kept.withLock { $0.entries?.removeAll { $0.record.name == name } }
        }
    }
}
