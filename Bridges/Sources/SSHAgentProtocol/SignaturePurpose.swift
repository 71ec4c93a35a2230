/// What a signature is for, as the data to be signed says (SA-13, SA-15).
public enum SignaturePurpose: Hashable, Sendable {
    /// A login: of this user, in this session, to this host where the method names one.
    case login(sessionID: [UInt8], user: String, hostKey: HostKey?)
    /// A message's digest, for one namespace.
    case message(namespace: String)
    /// Nobody knows.
    case unknown

    /// - Parameters:
    ///   - data: What is to be signed.
    ///   - key: The blob of the key that signs: a login has to name it, or a certificate of it.
    public init(data: [UInt8], key: [UInt8]) {
        self = Self.login(data, key) ?? Self.message(data) ?? .unknown
    }

    private static func login(_ data: [UInt8], _ key: [UInt8]) -> SignaturePurpose? {
        var reader = WireReader(data)
        guard let id = reader.string(), (1...128).contains(id.count), reader.byte() == 50, let user = reader.text(),
            reader.text() == "ssh-connection", let method = reader.text(), reader.byte() == 1,
            let algorithm = reader.text(), let named = reader.string(), names(named, algorithm, key)
        else { return nil }
        var hostKey: HostKey?
        switch method {
        case "publickey": break
        case "publickey-hostbound-v00@openssh.com":
            guard let blob = reader.string(), let found = HostKey(blob: blob) else { return nil }
            hostKey = found
        default: return nil
        }
        return reader.isAtEnd ? .login(sessionID: id, user: user, hostKey: hostKey) : nil
    }

    /// Whether a login's key is this one, or a certificate of it: ssh asks with the key for what names the certificate (SA-5).
    private static func names(_ named: [UInt8], _ algorithm: String, _ key: [UInt8]) -> Bool {
        switch algorithm {
        case P256Key.algorithm: named == key
        case UserCertificate.algorithm: UserCertificate(blob: named)?.key == key
        default: false
        }
    }

    private static func message(_ data: [UInt8]) -> SignaturePurpose? {
        var reader = WireReader(data)
        guard reader.skip(Array("SSHSIG".utf8)), let namespace = reader.text(), !namespace.isEmpty,
            namespace.utf8.count <= 256, reader.string() != nil, let hash = reader.text(), let digest = reader.string(),
            reader.isAtEnd, (hash == "sha256" && digest.count == 32) || (hash == "sha512" && digest.count == 64)
        else { return nil }
        return .message(namespace: namespace)
    }

    /// Whether this login is one of the connection that asks: in the last session that was bound to it, and to that host (SA-14).
    ///
    /// - Parameter bindings: Those of the connection.
    /// - Returns: nil where nothing was bound, so that nobody knows; false where the login is another one's.
    public func isFor(_ bindings: SessionBindings) -> Bool? {
        guard case .login(let id, _, let hostKey) = self, !bindings.isTainted, let last = bindings.all.last else {
            return nil
        }
        guard !last.isForwarding, last.sessionID == id else { return false }
        guard let hostKey else { return bindings.all.count == 1 }
        return hostKey == last.hostKey
    }
}
