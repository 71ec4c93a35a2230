/// Where a password is good: what a stored item says, and what is asked for.
///
/// > Security: Compared byte for byte, so that an item never goes to a parent domain, to another port, or over a weaker scheme (GC-14).
public struct CredentialPlace: Hashable, Sendable {
    /// `https`, `http` and so on, as git writes it.
    public let scheme: String
    /// Without the port; an address of IPv6 with its brackets.
    public let host: String
    /// Absent: the scheme's own.
    ///
    /// That, and the same number spelled out, are two places.
    public let port: UInt16?
    /// Absent: the whole host.
    public let path: String?

    /// A place by its parts.
    public init(scheme: String, host: String, port: UInt16? = nil, path: String? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Of what git wrote.
    ///
    /// - Parameter credential: Without a scheme or without a host it names no place.
    /// - Throws: `GitCredentialError.malformedHost` for a port that is not a number from 1 to 65535.
    public init?(_ credential: GitCredential) throws(GitCredentialError) {
        guard let scheme = credential.scheme, !scheme.isEmpty, let name = credential.host, !name.isEmpty else {
            return nil
        }
        let bracket = name.hasPrefix("[") ? name.firstIndex(of: "]") : name.startIndex
        guard let bracket else { throw .malformedHost }
        var port: UInt16?
        var host = name[...]
        if let colon = name[bracket...].firstIndex(of: ":") {
            let digits = name[name.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits), number > 0 else {
                throw .malformedHost
            }
            port = number
            host = name[..<colon]
        }
        guard !host.isEmpty else { throw .malformedHost }
        self.init(
            scheme: scheme, host: String(host), port: port, path: credential.path.flatMap { $0.isEmpty ? nil : $0 })
    }

    /// Whether an item of this place may be given to who asks for `other`.
    ///
    /// - Parameter other: Without a path it asks for any of the host, as git's own helpers understand it.
    /// - Returns: Whether scheme, host, port and path are the same.
    public func serves(_ other: CredentialPlace) -> Bool {
        scheme.utf8.elementsEqual(other.scheme.utf8) && host.utf8.elementsEqual(other.host.utf8) && port == other.port
            && (other.path.map { ($0.utf8).elementsEqual((path ?? "").utf8) && path != nil } ?? true)
    }
}

/// The host and its port, as a person reads it.
extension CredentialPlace: CustomStringConvertible {
    /// `example.org`, or `example.org:8080`.
    public var description: String { port.map { "\(host):\($0)" } ?? host }
}
