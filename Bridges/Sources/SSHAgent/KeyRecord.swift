public import BridgeCore
public import Foundation

/// A key of the enclave's, and what its owner lets it be used for (SA-22).
public struct KeyRecord: Codable, Hashable, Sendable {
    /// What its owner calls it.
    public var name: String
    /// What the enclave calls it: opaque, and of no use without the enclave.
    public var key: Data
    /// 65 bytes, uncompressed.
    public var publicKey: Data
    /// Who has to prove what.
    public var protection: KeyProtection
    /// What it may be used for.
    public var settings = KeySettings()
}

/// What a key may be used for.
public struct KeySettings: Codable, Hashable, Sendable {
    /// Whether the owner is asked at all.
    public enum Answer: String, Codable, Sendable { case refuse, ask }

    /// For which host it was made: the first login there that the owner approves pins the key to that host's key.
    public var host: String?
    /// Fingerprints of the host keys for which alone it signs logins; empty: any.
    public var pins: [String] = []
    /// For which namespaces it signs messages; `any` for all.
    public var namespaces = ["git", "file"]
    /// Requests of programs on other hosts.
    public var forwarding = Answer.refuse
    /// Data that is neither a login nor a message of a namespace.
    public var unknown = Answer.refuse
    /// For how many seconds an approval of a login is good for the same again.
    public var loginReuse = 30.0
    /// The same of messages.
    public var messageReuse = 0.0

    /// Those of a new key.
    public init() {}

    /// Whether it signs no login but for some hosts.
    var isPinned: Bool { !pins.isEmpty || host != nil }
}

/// A host key for which the owner approved a login (SA-16).
struct HostRecord: Codable, Hashable {
    var fingerprint: String
    var name: String
    var since: Date
}

/// What `touchstone-ssh` asks of the agent, over the agent's own socket.
public enum ManagementRequest: Codable, Sendable {
    case create(name: String, protection: KeyProtection, host: String?)
    case list
    case remove(name: String)
    case set(name: String, settings: KeySettings)

    /// The extension's name.
    public static let name = "manage@touchstone"
}

/// The answer.
public enum ManagementAnswer: Codable, Sendable {
    case keys([Key])
    case failed(String)

    /// What is shown of a key.
    public struct Key: Codable, Sendable {
        /// What its owner calls it.
        public var name: String
        /// Its public half, as ssh writes it.
        public var blob: Data
        /// What using it takes.
        public var protection: KeyProtection
        /// What it may be used for.
        public var settings: KeySettings
    }
}
