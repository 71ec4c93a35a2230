import BridgeCore
import CTAP
import Foundation

/// What the service says to its owner's commands.
struct PasskeysReply: Codable {
    struct Passkey: Codable {
        /// 64 hexadecimal digits.
        var id: String
        var site: String
        var account: String?
        var created: Date
        var isDiscoverable: Bool
    }
    struct Parameters: Codable {
        var passkeys: [Passkey]?
        var reason: String?
    }
    var error: String?
    var parameters = Parameters()
}

/// Serves `touchstone fido`, which lists and removes passkeys (FD-17).
///
/// One JSON object a message, as Varlink has them.
final class Passkeys: Sendable {
    private let owner: Owner

    init(owner: Owner) { self.owner = owner }

    private static let longest = 4096

    private struct Call: Decodable {
        struct Parameters: Decodable { var id: String? }
        var method: String
        var parameters: Parameters?
    }

    /// One connection of the command's, until it ends.
    func serve(_ connection: ClientConnection) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        do {
            while let message = try connection.receive(
                longest: Self.longest, { bytes in bytes.firstIndex(of: 0).map { .bytes($0 + 1) } ?? .unknown })
            {
                let client = try connection.look()
                let reply = reply(to: Data(message.dropLast()), client, connection)
                _ = try connection.look()
                try connection.send(Array(try encoder.encode(reply)) + [0])
            }
        } catch {
            // It is gone, or spoke nonsense: nobody to answer.
        }
    }

    private func reply(to message: Data, _ client: Client, _ connection: ClientConnection) -> PasskeysReply {
        guard let call = try? JSONDecoder().decode(Call.self, from: message) else {
            return PasskeysReply(error: "org.varlink.service.InvalidParameter")
        }
        do throws(BridgeFailure) {
            switch call.method {
            case "org.varlink.service.GetInfo": return PasskeysReply()
            case "io.touchstone.Passkeys.List":
                let found = try owner.list().sorted { $0.created < $1.created }
                return PasskeysReply(
                    parameters: .init(
                        passkeys: found.map { credential in
                            .init(
                                id: Self.hex(credential.id), site: credential.site, account: credential.account,
                                created: credential.created, isDiscoverable: credential.isDiscoverable)
                        }))
            case "io.touchstone.Passkeys.Remove":
                guard let id = call.parameters?.id,
                    let credential = try owner.list().first(where: { Self.hex($0.id) == id })
                else { throw .gone }
                try owner.remove(credential.id, asking: client) { connection.isWaitedOn }
                BridgeProcess.log("touchstone-fido: a passkey was removed")
                return PasskeysReply()
            default: return PasskeysReply(error: "org.varlink.service.MethodNotFound")
            }
        } catch {
            return PasskeysReply(error: "io.touchstone.Passkeys.Failed", parameters: .init(reason: "\(error)"))
        }
    }

    private static func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }
}
