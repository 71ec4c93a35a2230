import BridgeCore
import CTAP
import Foundation
import TouchstoneDevice

/// The rows of passkeys in the device's keychain (FD-10).
///
/// What a passkey is for is there also while the device is locked, so that a browser finds it; its key and its secret are not.
struct CredentialStore {
    private enum Service: String {
        case credential = "io.touchstone.fido.credential"
        case secret = "io.touchstone.fido.secret"
    }

    private typealias Row = [String: KeychainValue]
    private struct Query: Encodable { var query: Row; var context: String?; var options: AskingOptions? }
    private struct Addition: Encodable { var attributes: Row }
    private struct Change: Encodable { var query: Row; var attributes: Row }
    private struct Item: Decodable { var data: Data? }
    private struct Found: Decodable { var items: [Item] }
    private struct Ignored: Decodable {}

    let device: Device

    /// The control of keys and secrets: this device, unlocked, and its owner.
    static let protection = "aku"
    static let userPresence = 1

    private static func row(_ service: Service, _ id: Data?) -> Row {
        var row: Row = ["class": .text("genp"), "svce": .text(service.rawValue)]
        row["acct"] = id.map { .text($0.map { String(format: "%02x", $0) }.joined()) }
        return row
    }

    private func call<Value>(_ body: (DeviceConnection) throws(DeviceError) -> Value) throws(BridgeFailure) -> Value {
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            return try body(connection)
        } catch {
            throw BridgeFailure(error)
        }
    }

    /// All of them.
    ///
    /// What cannot be read stays where it is.
    func all() throws(BridgeFailure) -> [Credential] {
        var query = Self.row(.credential, nil)
        query["m_Limit"] = .text("m_LimitAll")
        query["r_Data"] = .yes
        do throws(BridgeFailure) {
            let found = try call { connection throws(DeviceError) in
                try connection.call("Keychain.CopyMatching", Query(query: query), Found.self)
            }
            return found.items.compactMap { item in
                item.data.flatMap { try? JSONDecoder().decode(Credential.self, from: $0) }
            }
        } catch .gone {
            return []
        }
    }

    /// Adds the secret first: a credential without its secret would be another one.
    func add(_ credential: Credential, secret: [UInt8]?) throws(BridgeFailure) {
        guard let value = try? JSONEncoder().encode(credential) else { throw .invalid }
        try call { connection throws(DeviceError) in
            if let secret {
                var row = Self.row(.secret, credential.id)
                row["v_Data"] = .bytes(Data(secret))
                row["accc"] = KeychainValue(
                    accessControl: .init(protection: Self.protection, flags: Self.userPresence))
                row["labl"] = .text("passkey of \(Sentence.short(credential.site))")
                _ = try connection.call("Keychain.Add", Addition(attributes: row), Ignored.self)
            }
            var row = Self.row(.credential, credential.id)
            row["v_Data"] = .bytes(value)
            row["pdmn"] = .text("dku")
            do throws(DeviceError) {
                _ = try connection.call("Keychain.Add", Addition(attributes: row), Ignored.self)
            } catch {
                _ = try? connection.call(
                    "Keychain.Delete", Query(query: Self.row(.secret, credential.id)), Nothing.self)
                throw error
            }
        }
    }

    /// Keeps a credential in place of the one with its id; its secret stays.
    func update(_ credential: Credential) throws(BridgeFailure) {
        guard let value = try? JSONEncoder().encode(credential) else { throw .invalid }
        try call { connection throws(DeviceError) in
            _ = try connection.call(
                "Keychain.Update",
                Change(query: Self.row(.credential, credential.id), attributes: ["v_Data": .bytes(value)]), Nothing.self
            )
        }
    }

    func remove(_ id: Data) throws(BridgeFailure) {
        for service in [Service.credential, .secret] {
            do throws(BridgeFailure) {
                try call { connection throws(DeviceError) in
                    _ = try connection.call("Keychain.Delete", Query(query: Self.row(service, id)), Nothing.self)
                }
            } catch .gone {
                // Most have no secret.
            }
        }
    }

    /// The secret of a credential, with what the owner proved.
    func secret(of credential: Credential, _ proof: Proof) throws(DeviceError) -> [UInt8]? {
        guard credential.hasSecret else { return nil }
        var query = Self.row(.secret, credential.id)
        query["r_Data"] = .yes
        let found = try proof.call(
            "Keychain.CopyMatching", Query(query: query, context: proof.context, options: proof.options), Found.self)
        guard let secret = found.items.first?.data else { throw .malformedReply }
        return Array(secret)
    }
}
