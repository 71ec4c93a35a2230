/// To which hosts a connection belongs, as OpenSSH's client says and the hosts' own signatures prove (SA-10…SA-12).
public struct SessionBindings: Hashable, Sendable {
    /// One host on the way.
    public struct Binding: Hashable, Sendable {
        /// The host's key, which signed the session.
        public var hostKey: HostKey
        /// The name of the session.
        public var sessionID: [UInt8]
        /// Whether the connection was forwarded to this host, and not made to log in there.
        public var isForwarding: Bool
    }

    /// The extension's name.
    public static let name = "session-bind@openssh.com"
    private static let most = 16

    /// In the order in which they came.
    public private(set) var all: [Binding] = []
    /// Whether a binding failed: from then on nobody knows where a signature goes.
    public private(set) var isTainted = false

    /// Those of a connection that was not bound yet.
    public init() {}

    /// Whether somebody on another host asks, or a binding that failed said so.
    public private(set) var isForwarded = false

    /// The host that a login goes to: the last one, if it was bound for that.
    public var destination: Binding? {
        guard !isTainted, let last = all.last, !last.isForwarding else { return nil }
        return last
    }

    /// The hosts that may ask, where the connection was forwarded: the first one, and whichever it says to be behind it.
    ///
    /// Only the first one is named by the ssh of here. A host signs no more than its session, and that for anybody who connects to it: so
    /// the first one can show bindings of hosts that have nothing to do with this connection (SA-24).
    public var origins: [Binding] { isTainted ? [] : all.filter(\.isForwarding) }

    /// Takes a binding.
    ///
    /// - Parameter contents: What is behind the extension's name.
    /// - Returns: Whether it is right. If not, the connection is tainted.
    public mutating func bind(_ contents: [UInt8]) -> Bool {
        // The flag is the last byte, also of a key that nobody here can verify.
        if contents.last != 0 { isForwarded = true }
        guard let (binding, signature) = Self.read(contents), accepts(binding),
            binding.hostKey.isValid(signature: signature, for: binding.sessionID)
        else {
            isTainted = true
            return false
        }
        if !all.contains(where: { $0.sessionID == binding.sessionID }) { all.append(binding) }
        return true
    }

    private static func read(_ contents: [UInt8]) -> (Binding, [UInt8])? {
        var reader = WireReader(contents)
        guard let key = reader.string(), let id = reader.string(), let signature = reader.string(),
            let forwarding = reader.byte(), reader.isAtEnd, (1...128).contains(id.count),
            let hostKey = HostKey(blob: key)
        else { return nil }
        return (Binding(hostKey: hostKey, sessionID: id, isForwarding: forwarding != 0), signature)
    }

    private func accepts(_ binding: Binding) -> Bool {
        guard !isTainted else { return false }
        if let same = all.first(where: { $0.sessionID == binding.sessionID }) {
            return same.hostKey == binding.hostKey && same.isForwarding == binding.isForwarding
        }
        return all.count < Self.most && all.last?.isForwarding ?? true
    }
}
