public import Foundation
internal import Synchronization
public import TouchstoneDevice

/// A bridge's own records in the keychain, and the keys that it makes: nobody is asked for any of it.
///
/// Records can be read while the device is locked, and are to hold nothing that would be of use without the enclave. Each belongs to a
/// service of the bridge's, and has a name in it.
///
/// > Concurrency: Callable from any thread; every call blocks until it is answered.
public final class OwnRecords: Sendable {
    private let device: Device
    /// One connection for all calls; after a device that ended, another one.
    private let connection = Mutex<DeviceConnection?>(nil)

    /// Records of this device's keychain.
    public init(device: Device) {
        self.device = device
    }

    /// A key that was made.
    public struct MadeKey: Decodable, Sendable {
        /// What the enclave calls it: opaque, and of no use without the enclave.
        public var key: Data
        /// 65 bytes, uncompressed.
        public var publicKey: Data
    }

    /// Has the enclave make a key of P-256, for an unlocked device and this one only.
    ///
    /// - Throws: `BridgeFailure`.
    public func makeKey(_ protection: KeyProtection) throws(BridgeFailure) -> MadeKey {
        try call("Key.Create", Create(accessControl: .init(protection: "aku", flags: protection.flags)))
    }

    /// Has the enclave sign with a key that asks for nobody.
    ///
    /// - Parameters:
    ///   - digest: 32 bytes.
    ///   - key: What the enclave calls it.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: `BridgeFailure`; `.unavailable` for a key that does ask.
    public func sign(_ digest: Data, with key: Data) throws(BridgeFailure) -> Data {
        let reply: Signature = try call("Key.Sign", Sign(key: key, data: digest))
        return reply.signature
    }

    /// The records of a service; those that cannot be read are left out, and stay where they are.
    ///
    /// - Throws: `BridgeFailure`.
    public func all<Record: Decodable>(_ service: String, _ type: Record.Type = Record.self)
        throws(BridgeFailure) -> [Record]
    {
        var query = Self.query(service, nil)
        query["m_Limit"] = .text("m_LimitAll")
        query["r_Data"] = .yes
        do throws(BridgeFailure) {
            let found: Items = try call("Keychain.CopyMatching", Query(query: query))
            return found.items.compactMap { $0.data.flatMap { try? JSONDecoder().decode(type, from: $0) } }
        } catch .gone {
            return []
        }
    }

    /// Keeps a new record.
    ///
    /// - Throws: `BridgeFailure`.
    public func add(_ service: String, _ name: String, _ record: some Encodable) throws(BridgeFailure) {
        var attributes = Self.query(service, name)
        attributes["v_Data"] = .bytes(try Self.encoded(record))
        // Of this device only, and there while it is locked.
        attributes["pdmn"] = .text("dku")
        let _: Ignored = try call("Keychain.Add", Addition(attributes: attributes))
    }

    /// Puts another record in the place of one.
    ///
    /// - Throws: `BridgeFailure`; `.gone` where there is no such record.
    public func replace(_ service: String, _ name: String, _ record: some Encodable) throws(BridgeFailure) {
        let change = Change(query: Self.query(service, name), attributes: ["v_Data": .bytes(try Self.encoded(record))])
        let _: Nothing = try call("Keychain.Update", change)
    }

    /// Removes a record for ever.
    ///
    /// - Throws: `BridgeFailure`; `.gone` where there is no such record.
    public func remove(_ service: String, _ name: String) throws(BridgeFailure) {
        let _: Nothing = try call("Keychain.Delete", Query(query: Self.query(service, name)))
    }

    // MARK: Calls

    private struct Create: Encodable {
        var kind = "p256"
        var accessControl: KeychainValue.Control
    }
    private struct Sign: Encodable {
        var key: Data
        var data: Data
    }
    private struct Signature: Decodable { var signature: Data }
    private struct Query: Encodable { var query: [String: KeychainValue] }
    private struct Addition: Encodable { var attributes: [String: KeychainValue] }
    private struct Change: Encodable {
        var query: [String: KeychainValue]
        var attributes: [String: KeychainValue]
    }
    private struct Item: Decodable { var data: Data? }
    private struct Items: Decodable { var items: [Item] }
    private struct Ignored: Decodable {}

    private static func query(_ service: String, _ name: String?) -> [String: KeychainValue] {
        var query: [String: KeychainValue] = ["class": .text("genp"), "svce": .text(service)]
        if let name { query["acct"] = .text(name) }
        return query
    }

    private static func encoded(_ record: some Encodable) throws(BridgeFailure) -> Data {
        do { return try JSONEncoder().encode(record) } catch { throw .invalid }
    }

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
