/// Something that is wrong with what age sent: the plugin says so, and which.
public enum PluginProblem: Hashable, Sendable {
    /// A recipient is none of ours, or cannot be read.
    case recipient(Int)
    /// An identity is none of ours, or cannot be read.
    case identity(Int)
    /// A stanza of ours is malformed: of this file, the one of this number.
    case stanza(file: Int, index: Int)

    /// As the plugin says it.
    public var stanza: Stanza {
        switch self {
        case .recipient(let index): .error(["recipient", "\(index)"], "this is not a recipient of Touchstone's")
        case .identity(let index): .error(["identity", "\(index)"], "this is not an identity of Touchstone's")
        case .stanza(let file, let index):
            .error(["stanza", "\(file)", "\(index)"], "the file's header is malformed")
        }
    }
}

extension Stanza {
    /// An error of the plugin's (AG-7).
    ///
    /// - Parameters:
    ///   - what: What it is about: `internal`, or a kind and a number.
    ///   - text: For the person.
    /// - Returns: The stanza.
    public static func error(_ what: [String], _ text: String) -> Stanza {
        Stanza(["error"] + what, body: Array(text.utf8))
    }
}

/// What age wants of `recipient-v1`: file keys, encrypted to each recipient.
public struct WrapRequest: Sendable {
    private var recipients: [String] = []
    private var identities: [String] = []
    private var fileKeys: [[UInt8]] = []

    /// Before the first stanza.
    public init() {}

    /// Takes one stanza of the first phase.
    ///
    /// - Returns: Whether more follow.
    /// - Throws: `StanzaError`. A stanza that is not known is ignored.
    public mutating func take(_ stanza: Stanza) throws(StanzaError) -> Bool {
        switch stanza.arguments.first {
        case "done": return false
        case "add-recipient": recipients.append(try stanza.onlyArgument)
        case "add-identity": identities.append(try stanza.onlyArgument)
        case "wrap-file-key":
            guard stanza.body.count == TagStanza.fileKeyCount else { throw .malformed }
            fileKeys.append(stanza.body)
        default: break
        }
        guard recipients.count + identities.count <= Stanza.Limits.names, fileKeys.count <= Stanza.Limits.files else {
            throw .tooLong
        }
        return true
    }

    /// What the plugin answers: a stanza for each file and recipient, or what is wrong with recipients and identities.
    public func answers() -> [Stanza] {
        let found = recipients.map { TagRecipient($0) }
        let own = identities.map { PluginIdentity($0)?.recipient }
        let problems =
            found.indices.filter { found[$0] == nil }.map { PluginProblem.recipient($0) }
            + own.indices.filter { own[$0] == nil }.map { PluginProblem.identity($0) }
        guard problems.isEmpty else { return problems.map(\.stanza) }
        var stanzas: [Stanza] = []
        for (file, key) in fileKeys.enumerated() {
            for recipient in (found + own).compactMap({ $0 }) {
                guard let wrapped = recipient.wrap(key) else { return [.error(["internal"], "encrypting failed")] }
                stanzas.append(Stanza(["recipient-stanza", "\(file)"] + wrapped.arguments, body: wrapped.body))
            }
        }
        return stanzas
    }
}

/// What age wants of `identity-v1`: the keys of files that are encrypted to identities.
public struct UnwrapRequest: Sendable {
    /// A stanza that an identity of ours opens.
    public struct Match: Sendable {
        /// The number of the identity.
        public var number: Int
        /// The identity.
        public var identity: PluginIdentity
        /// The stanza, and its number within the file.
        public var stanza: TagStanza
        /// See ``stanza``.
        public var index: Int
    }

    /// A file of which something is for one of the identities.
    public struct File: Sendable {
        /// age's number for it.
        public var number: Int
        /// In the order of the file.
        public var matches: [Match]
    }

    private var identities: [String] = []
    private var files: [(number: Int, stanzas: [Stanza])] = []
    private var count = 0

    /// Before the first stanza.
    public init() {}

    /// Takes one stanza of the first phase.
    ///
    /// - Returns: Whether more follow.
    /// - Throws: `StanzaError`. A stanza that is not known is ignored.
    public mutating func take(_ stanza: Stanza) throws(StanzaError) -> Bool {
        switch stanza.arguments.first {
        case "done": return false
        case "add-identity":
            identities.append(try stanza.onlyArgument)
            guard identities.count <= Stanza.Limits.names else { throw .tooLong }
        case "recipient-stanza":
            guard stanza.arguments.count >= 3, let number = Int(stanza.arguments[1]), number >= 0,
                String(number) == stanza.arguments[1], number >= files.last?.number ?? 0
            else { throw .malformed }
            if files.last?.number != number { files.append((number, [])) }
            files[files.count - 1].stanzas.append(
                Stanza(Array(stanza.arguments.dropFirst(2)), body: stanza.body))
            count += 1
            guard files.count <= Stanza.Limits.files, count <= Stanza.Limits.stanzas else { throw .tooLong }
        default: break
        }
        return true
    }

    /// Which files the identities may open, and what is wrong.
    ///
    /// With a wrong identity no file is opened; with a malformed stanza none of its file.
    public func plan() -> (problems: [PluginProblem], files: [File]) {
        let found = identities.map { PluginIdentity($0) }
        let wrong = found.indices.filter { found[$0] == nil }
        guard wrong.isEmpty else { return (wrong.map { .identity($0) }, []) }
        var problems: [PluginProblem] = []
        var opened: [File] = []
        for (number, stanzas) in files {
            var matches: [Match] = []
            var isMalformed = false
            for (index, stanza) in stanzas.enumerated() {
                do throws(StanzaError) {
                    guard let ours = try TagStanza(stanza) else { continue }
                    for (place, identity) in found.enumerated() {
                        guard let identity, ours.isFor(identity.recipient) else { continue }
                        matches.append(Match(number: place, identity: identity, stanza: ours, index: index))
                    }
                } catch {
                    problems.append(.stanza(file: number, index: index))
                    isMalformed = true
                }
            }
            if !isMalformed, !matches.isEmpty { opened.append(File(number: number, matches: matches)) }
        }
        return (problems, opened)
    }
}

extension Stanza.Limits {
    static let names = 1024
    static let files = 1024
    static let stanzas = 8 << 10
}

extension Stanza {
    fileprivate var onlyArgument: String {
        get throws(StanzaError) {
            guard arguments.count == 2 else { throw .malformed }
            return arguments[1]
        }
    }
}
