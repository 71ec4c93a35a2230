import BridgeCore
import CredentialProtocol
import Foundation
import TouchstoneDevice

/// What single programs may read without a question (BR-30).
///
/// A grant is a row of its own with a copy of the secret. The row under userPresence stays closed to everybody, so what was granted to
/// nobody opens for nobody without the owner. A copy is never older than the secret: grants go before it is stored over or deleted.
extension CredentialKeychain {
    /// A grant, without its copy.
    struct Grant: Sendable {
        var program: ProgramIdentity
        /// The account of the row that has the secret.
        var value: String
        /// Seconds since 1970.
        var since: Int64
    }

    /// What a row of a grant says beside its copy (BR-31).
    private struct Kept: Codable {
        var program: ProgramIdentity
        var scope = "always"
    }

    private static let service = "io.touchstone.Credentials.grant"
    /// Between Apple's dates, which begin in 2001, and those of 1970.
    private static let years = 978_307_200.0

    /// The rows of grants: of a secret, and of a program, where they are named.
    static func grant(of value: String?, for program: String? = nil) -> KeychainDictionary {
        var query: KeychainDictionary = ["class": .text("genp"), "svce": .text(service)]
        query["icmt"] = value.map(KeychainValue.text)
        if let value, let program { query["acct"] = .text("\(value) \(program)") }
        return query
    }

    /// The grants of one secret, or of all.
    func grants(of value: String? = nil) throws(BridgeFailure) -> [Grant] {
        let query = Self.grant(of: value).merging(["m_Limit": .text("m_LimitAll"), "r_Attributes": .yes]) { $1 }
        do throws(BridgeFailure) {
            let found = try changing { connection throws(DeviceError) in
                try connection.call("Keychain.CopyMatching", Query(query: query), Found.self)
            }
            return found.items.compactMap { item in
                guard let attributes = item.attributes, let value = attributes["icmt"]?.string,
                    let kept = attributes["gena"]?.data.flatMap({ try? JSONDecoder().decode(Kept.self, from: $0) })
                else { return nil }
                let since = (attributes["cdat"]?.date ?? 0) + Self.years
                return Grant(program: kept.program, value: value, since: Int64(since))
            }
        } catch {
            if error == .gone { return [] }
            throw error
        }
    }

    /// The copy that a program was granted.
    func copy(of value: String, for program: ProgramIdentity) throws(BridgeFailure) -> Data {
        let query = Self.grant(of: value, for: program.path).merging(["r_Data": .yes]) { $1 }
        let found = try changing { connection throws(DeviceError) in
            try connection.call("Keychain.CopyMatching", Query(query: query), Found.self)
        }
        guard let data = found.items.first?.data else { throw .gone }
        return data
    }

    /// Writes a copy for a program.
    func grant(
        _ secret: Data, of value: String, _ kind: CredentialMessages.Item.Kind, to program: ProgramIdentity
    ) throws(BridgeFailure) {
        guard let kept = try? JSONEncoder().encode(Kept(program: program)) else { throw .invalid }
        try changing { connection throws(DeviceError) in
            var attributes = Self.grant(of: value, for: program.path)
            attributes["desc"] = .text("grant")
            attributes["gena"] = .bytes(kept)
            attributes["labl"] = .text(program.path)
            attributes["pdmn"] = .text("aku")
            attributes["v_Data"] = .bytes(secret)
            // Where the secret is, so that whoever may delete that may delete this.
            if kind == .secret, try Self.hasSharedGroup(connection) { attributes["agrp"] = .text(Self.sharedGroup) }
            _ = try connection.call("Keychain.Add", Change(attributes: attributes), Added.self)
        }
    }

    /// Takes the grants of a secret away: all of them, or that of one program.
    func revoke(_ value: String, _ program: String? = nil) throws(BridgeFailure) {
        do throws(BridgeFailure) {
            try changing { connection throws(DeviceError) in
                _ = try connection.call(
                    "Keychain.Delete", Query(query: Self.grant(of: value, for: program)), Nothing.self)
            }
        } catch .gone {
            // There was none.
        }
    }
}
