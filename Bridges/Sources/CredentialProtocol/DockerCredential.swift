internal import Foundation

/// What docker, podman and skopeo say to a credential helper: one JSON object, or the bare address of a server (GC-20).
public struct DockerCredential: Equatable, Sendable {
    /// Most bytes that are read.
    public static let maximumCount = 64 << 10

    /// As it was given, without white space around it (GC-21).
    public let server: String
    /// `<token>` marks an identity token.
    public let username: String
    /// The password or token.
    public let secret: [UInt8]

    /// A credential by its parts.
    public init(server: String, username: String, secret: [UInt8]) {
        self.server = server
        self.username = username
        self.secret = secret
    }

    /// Reads what `store` gets.
    ///
    /// - Throws: `DockerCredentialError`.
    public init(_ bytes: [UInt8]) throws(DockerCredentialError) {
        let object = try Self.object(bytes)
        let server = Self.trimmed(object["ServerURL"] as? String ?? "")
        guard !server.isEmpty else { throw .noServer }
        guard let username = object["Username"] as? String, !username.isEmpty else { throw .noUsername }
        self.init(server: server, username: username, secret: Array((object["Secret"] as? String ?? "").utf8))
    }

    /// The server that `get` and `erase` name.
    ///
    /// - Throws: `DockerCredentialError.noServer`, `.malformed`.
    public static func server(_ bytes: [UInt8]) throws(DockerCredentialError) -> String {
        guard bytes.count <= maximumCount, let text = String(validating: bytes, as: UTF8.self) else { throw .malformed }
        let server = trimmed(text)
        guard !server.isEmpty else { throw .noServer }
        guard !server.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .malformed
        }
        return server
    }

    /// What `get` answers.
    ///
    /// - Throws: `DockerCredentialError.malformed` for a secret that is not UTF-8, which JSON cannot hold.
    public func answer() throws(DockerCredentialError) -> [UInt8] {
        guard let secret = String(validating: secret, as: UTF8.self) else { throw .malformed }
        return Self.json(["ServerURL": server, "Username": username, "Secret": secret])
    }

    /// What `list` answers.
    ///
    /// - Parameter users: The name of the user by server.
    /// - Returns: A JSON object.
    public static func list(_ users: [String: String]) -> [UInt8] { json(users) }

    private static func json(_ values: [String: String]) -> [UInt8] {
        // A dictionary of strings always has a JSON text.
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let text = try? JSONSerialization.data(withJSONObject: values, options: options) else { return [] }
        return Array(text) + [0x0A]
    }

    private static func object(_ bytes: [UInt8]) throws(DockerCredentialError) -> [String: Any] {
        guard bytes.count <= maximumCount, let object = JSONText.object(bytes) else { throw .malformed }
        return object
    }

    private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// What a helper says, on its standard output, before it exits with 1.
///
/// docker compares the texts (GC-20).
public enum DockerCredentialError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing is stored for the server.
    case notFound
    /// The request names no server.
    case noServer
    /// The request names no user.
    case noUsername
    /// The request is not the JSON that it should be, or is too long.
    case malformed

    /// The exact text.
    public var description: String {
        switch self {
        case .notFound: "credentials not found in native keychain"
        case .noServer: "no credentials server URL"
        case .noUsername: "no credentials username"
        case .malformed: "the request is malformed"
        }
    }
}
