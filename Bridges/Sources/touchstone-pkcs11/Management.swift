import BridgeCore
import Foundation

/// What the owner's command asks of the bridge, over the bridge's own socket.
enum ManagementRequest: Codable {
    case list
    case create(name: String, protection: KeyProtection, wantsExplicitLogin: Bool)
    case add(name: String, certificate: Data)
    case set(name: String, reuse: Double)
    case remove(name: String)
}

/// The answer.
enum ManagementAnswer: Codable {
    case keys([Key])
    case failed(String)

    /// What is shown of a key.
    struct Key: Codable {
        var name: String
        var publicKey: Data
        var identifier: Data
        var protection: KeyProtection
        var certificate: Data?
        var reuse: Double
        var wantsExplicitLogin: Bool
        var madeBy: String?

        init(record: KeyRecord) {
            name = record.name
            publicKey = record.publicKey
            identifier = record.identifier
            protection = record.protection
            certificate = record.certificate
            reuse = record.reuse
            wantsExplicitLogin = record.wantsExplicitLogin
            madeBy = record.madeBy
        }
    }
}
