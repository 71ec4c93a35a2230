public import BridgeCore
internal import Crypto
internal import Foundation
internal import SSHAgentProtocol
internal import Synchronization
public import TouchstoneDevice

/// An ssh agent whose keys are the enclave's.
///
/// > Concurrency: Callable from any thread. Requests of one connection are answered in their order, those of others beside them (SA-32).
public final class Agent: Sendable {
    private let store: KeyStore
    private let approvals: Approvals
    private let manager: String?
    private let log: @Sendable (String) -> Void
    /// What the command line of a client names, and what the files of known hosts say.
    private let host: @Sendable (Client) -> String?
    private let knownHosts: @Sendable () -> KnownHosts
    private let certificate: @Sendable (_ name: String, _ key: [UInt8]) -> UserCertificate?
    private let lock = Mutex(StringLock())

    /// ssh-add -x and -X: kept in memory, of the whole agent.
    private struct StringLock {
        var digest: SHA256Digest?
        var delay = 0.1
    }

    /// - Parameters:
    ///   - device: Whose keys.
    ///   - manager: The path of `touchstone-ssh`: no other program makes, changes or removes keys.
    ///   - log: Takes why there was no signature.
    public convenience init(
        device: Device, manager: String?, log: @escaping @Sendable (String) -> Void = BridgeProcess.log
    ) {
        self.init(
            device: device, manager: manager, log: log, host: Destination.host, knownHosts: Destination.knownHosts,
            certificate: CertificateFiles.certificate)
    }

    init(
        device: Device, manager: String?, log: @escaping @Sendable (String) -> Void,
        host: @escaping @Sendable (Client) -> String?, knownHosts: @escaping @Sendable () -> KnownHosts,
        certificate: @escaping @Sendable (_ name: String, _ key: [UInt8]) -> UserCertificate? = { _, _ in nil }
    ) {
        self.certificate = certificate
        self.log = log
        self.host = host
        self.knownHosts = knownHosts
        store = KeyStore(device: device)
        approvals = Approvals(device: device)
        self.manager = manager
    }

    /// Serves a connection until it ends.
    public func serve(_ connection: ClientConnection) {
        var bindings = SessionBindings()
        var refused = 0
        defer { if refused > 1 { log("refused \(refused - 1) more requests of the same connection") } }
        do throws(ConnectionEnd) {
            while let frame = try connection.receive(
                longest: AgentRequest.longest + 4, { MessageLength(AgentRequest.frameLength($0)) })
            {
                let client = try connection.look()
                let answer = answer(AgentRequest(frame: frame), of: client, &bindings, &refused) {
                    connection.isWaitedOn
                }
                // Whoever is gone, or somebody else by now, gets nothing (BR-11).
                _ = try connection.look()
                try connection.send(answer.frame)
            }
        } catch {
            // The connection is over, and with it all that was for it.
        }
    }

    // Answers one request. Of the refused signatures of its connection, which are counted, the first one has a line in the log (BR-29).
    func answer(
        _ request: AgentRequest, of client: Client, _ bindings: inout SessionBindings, _ refused: inout Int,
        while isWaitedOn: @escaping @Sendable () -> Bool
    ) -> AgentAnswer {
        let isLocked = lock.withLock { $0.digest != nil }
        switch request {
        case .extension(SessionBindings.name, let contents):
            return bindings.bind(contents) ? .success : .extensionFailure
        // Another host does not disable the agent of here, and does not guess its word (SA-2).
        case .lock where bindings.isForwarded, .unlock where bindings.isForwarded: return .failure
        case .unlock(let passphrase): return unlock(passphrase)
        case .identities where isLocked: return .identities([])
        case _ where isLocked: return .failure
        case .lock(let passphrase):
            lock.withLock { $0 = StringLock(digest: SHA256.hash(data: passphrase)) }
            return .success
        case .identities: return identities(client, bindings)
        case .extension("query", _): return .extensions([SessionBindings.name])
        case .extension(ManagementRequest.name, let contents): return manage(contents, client, bindings)
        case .sign(let key, let data, _):
            do throws(BridgeFailure) {
                return .signature(try sign(data, key, client, bindings, isWaitedOn))
            } catch {
                refused += 1
                if refused == 1 {
                    log("\(Sentence.printable(client.executable ?? "an unknown program")): no signature: \(error)")
                }
                return .failure
            }
        case .extension, .other, .malformed: return .failure
        }
    }

    private func unlock(_ passphrase: [UInt8]) -> AgentAnswer {
        let delay: Double? = lock.withLock { lock in
            guard let digest = lock.digest else { return 0 }
            guard digest == SHA256.hash(data: passphrase) else {
                defer { lock.delay = min(10, lock.delay * 2) }
                return lock.delay
            }
            lock = StringLock()
            return nil
        }
        guard let delay else { return .success }
        Thread.sleep(forTimeInterval: delay)
        return .failure
    }

    // MARK: Which keys

    /// How many keys a server may be offered before it ends the connection (SA-23).
    private static let mostForHost = 6

    private func identities(_ client: Client, _ bindings: SessionBindings) -> AgentAnswer {
        guard var entries = try? store.keys() else { return .failure }
        if bindings.isForwarded { entries = entries.filter { $0.record.settings.forwarding == .ask } }
        if let host = bindings.destination?.hostKey {
            // Those made for this host first, those for others not at all, and few, since servers count attempts (SA-23).
            let known = entries.contains { $0.record.settings.host != nil } ? knownHosts() : nil
            let here = entries.filter {
                $0.record.settings.isPinned
                    && isPin(of: $0.record.settings, host, claimed(bindings, client), known)
            }
            entries = Array((here + entries.filter { !$0.record.settings.isPinned }).prefix(Self.mostForHost))
        }
        let listed = entries.flatMap { entry in
            // A certificate after its key (SA-5).
            [entry.blob, certificate(entry.record.name, entry.blob)?.blob].compactMap { $0 }.map { blob in
                AgentAnswer.Identity(key: blob, comment: entry.record.name)
            }
        }
        return .identities(bindings.destination == nil ? listed : Array(listed.prefix(Self.mostForHost)))
    }

    /// Whether a key that is pinned is pinned to this host.
    private func isPin(of settings: KeySettings, _ host: HostKey, _ claimed: String?, _ known: KnownHosts?)
        -> Bool
    {
        if !settings.pins.isEmpty { return settings.pins.contains(host.fingerprint) }
        guard let name = settings.host else { return false }
        return claimed == name
            || (known ?? knownHosts()).verdict(of: name, host) == .known
    }

    /// The name that the command line gives to the host of a login: where that goes on from another host, it names only the first one.
    private func claimed(_ bindings: SessionBindings, _ client: Client) -> String? {
        bindings.isForwarded ? nil : host(client)
    }

    // MARK: Signing

    private func sign(
        _ data: [UInt8], _ key: [UInt8], _ client: Client, _ bindings: SessionBindings,
        _ isWaitedOn: @escaping @Sendable () -> Bool
    ) throws(BridgeFailure) -> [UInt8] {
        // A certificate is signed for by the key inside it, as long as it is listed (SA-5).
        let isCertificate = UserCertificate(blob: key) != nil
        let found = try store.keys().first { entry in
            entry.blob == key || (isCertificate && certificate(entry.record.name, entry.blob)?.blob == key)
        }
        guard let entry = found else { throw .gone }
        let record = entry.record
        guard !bindings.isForwarded || record.settings.forwarding == .ask else { throw .denied }
        let (request, host) = try request(
            SignaturePurpose(data: data, key: entry.blob), record, client, bindings)
        let digest = Data(SHA256.hash(data: data))
        let (raw, wasAsked) = try approvals.perform(request, while: isWaitedOn) { proof throws(DeviceError) in
            (try proof.sign(digest, with: record.key, label: record.name), proof.options != nil)
        }
        guard let signature = P256Key.signature(raw: Array(raw)) else { throw .invalid }
        // What is reused was read in no prompt.
        if wasAsked, let host { try approved(host, record) }
        return signature
    }

    /// A host key that was verified, and by which names it goes.
    private struct Host {
        var key: HostKey
        var claimed: String?
    }

    /// What the owner is asked, if the key's settings let it be asked at all (SA-20).
    private func request(
        _ purpose: SignaturePurpose, _ record: KeyRecord, _ client: Client, _ bindings: SessionBindings
    ) throws(BridgeFailure) -> (ApprovalRequest, Host?) {
        let settings = record.settings
        let item = Fact(.item, "key \(record.name)")
        var hostKeys = bindings.all.map(\.hostKey)
        if case .login(_, _, let hostKey?) = purpose { hostKeys.append(hostKey) }
        // Files are read for those alone who say for which host they ask.
        let known = hostKeys.isEmpty ? KnownHosts([]) : knownHosts()
        guard !hostKeys.contains(where: { known.verdict(of: nil, $0) == .revoked }) else { throw .denied }
        let origin = try bindings.isForwarded ? origin(bindings, client, known) : nil
        func asked(
            _ verb: String, _ destination: String?, _ reason: String, _ facts: [Fact], reuse: Double = 0
        ) -> ApprovalRequest {
            // First who asks: what stands behind it is of their choice, and may be long.
            var request = ApprovalRequest(
                client: client, item: record.name, purpose: verb + (origin == nil ? "" : " for another host"),
                destination: destination, reason: (origin.map { "\($0.words): " } ?? "") + reason,
                facts: facts + [item])
            // What was approved for one host is not approved for another one that asks for the same.
            request.origin = origin?.fingerprints ?? ""
            request.reuse = origin.map(\.isReusable) ?? true ? reuse : 0
            return request
        }
        switch purpose {
        case .message(let namespace):
            guard settings.namespaces.contains(namespace) || settings.namespaces == ["any"] else { throw .denied }
            let reason =
                namespace == "git" ? "sign a commit or a tag (git)" : "sign for “\(Sentence.short(namespace))”"
            return (
                asked("sign", namespace, reason, [Fact(.namespace, namespace)], reuse: settings.messageReuse), nil
            )
        case .unknown:
            guard settings.unknown == .ask else { throw .denied }
            return (asked("sign", nil, "sign data of which nobody knows what it is", []), nil)
        case .login(_, let user, _):
            let shownUser = Sentence.short(user)
            let facts = [Fact(.user, shownUser)]
            switch purpose.isFor(bindings) {
            case false?: throw .denied
            case nil:
                guard !settings.isPinned else { throw .denied }
                return (
                    asked("sign in", nil, "sign in to a place that it did not name, as “\(shownUser)”", facts), nil
                )
            case true?: break
            }
            guard let hostKey = bindings.destination?.hostKey else { throw .denied }
            let claimed = claimed(bindings, client)
            guard !settings.isPinned || isPin(of: settings, hostKey, claimed, known) else { throw .denied }
            let name = try name(of: hostKey, claimed, known)
            // Bytes, since what differs in them may be equal as text, and shortened names are.
            let destination = [hostKey.fingerprint, claimed ?? "", user].map { Data($0.utf8).base64EncodedString() }
            let request = asked(
                "sign in", destination.joined(separator: " "),
                "\(name.isOther ? "beware: another host key than before: " : "")sign in to \(name.words)"
                    + " as “\(shownUser)”",
                facts + (name.text.map { [Fact(.host, $0)] } ?? [])
                    + [Fact(.hostKey, "\(hostKey.shortFingerprint), checked, \(name.remark)")],
                reuse: name.isOther ? 0 : settings.loginReuse)
            return (request, Host(key: hostKey, claimed: claimed))
        }
    }

    /// Who asks over a forwarded connection.
    private struct Origin {
        var words: String
        var fingerprints: String
        var isReusable: Bool
    }

    /// Where a request over a forwarded connection comes from: through the first host, which the ssh of here names (SA-24).
    private func origin(
        _ bindings: SessionBindings, _ client: Client, _ known: KnownHosts
    ) throws(BridgeFailure) -> Origin {
        let origins = bindings.origins
        guard let first = origins.first else {
            return Origin(words: "asked by a program on another host", fingerprints: "", isReusable: false)
        }
        let name = try name(of: first.hostKey, host(client), known)
        return Origin(
            words: "asked \(origins.count == 1 ? "by a program on" : "through") \(name.words)"
                + (name.isOther ? ", which has another host key than before" : ""),
            fingerprints: origins.map(\.hostKey.fingerprint).joined(separator: " "), isReusable: !name.isOther)
    }

    /// What a verified host key is called.
    private struct Name {
        /// Recorded or claimed; nil where nobody knows it.
        var text: String?
        /// The same in a sentence: a claim stands in quotation marks.
        var words: String
        /// Who says so, or since when.
        var remark: String
        /// Whether the name had another key before.
        var isOther: Bool
    }

    /// How a verified host key is called, and what is known of the name (SA-16, SA-17).
    private func name(of key: HostKey, _ claimed: String?, _ known: KnownHosts) throws(BridgeFailure) -> Name {
        let hosts = try store.hosts()
        let ofName = hosts.filter { $0.name == claimed }
        let ofKey = hosts.filter { $0.fingerprint == key.fingerprint }
        let isOther = !ofName.isEmpty && !ofName.contains { $0.fingerprint == key.fingerprint }
        if let record = ofKey.first(where: { $0.name == claimed }) ?? ofKey.first {
            let name = Sentence.short(record.name)
            let also = claimed.flatMap { $0 == record.name ? nil : ", now called “\(Sentence.short($0))”" } ?? ""
            return Name(
                text: name, words: name,
                remark: "known since \(record.since.formatted(.iso8601.year().month().day()))\(also)",
                isOther: isOther)
        }
        guard let claimed else {
            return Name(words: "a host that is not known yet", remark: "not known yet", isOther: isOther)
        }
        let words = "“\(Sentence.short(claimed))”"
        let isKnown = known.verdict(of: claimed, key) == .known
        return Name(
            text: words, words: words, remark: isKnown ? "named by known_hosts" : "named by its command line",
            isOther: isOther)
    }

    /// The owner approved a login: the host is known from now on, and a key that was made for it is pinned to it.
    private func approved(_ host: Host, _ record: KeyRecord) throws(BridgeFailure) {
        guard record.protection != .nothing else { return }
        if let name = host.claimed {
            try store.remember(HostRecord(fingerprint: host.key.fingerprint, name: name, since: Date()))
        }
        guard record.settings.host != nil, record.settings.pins.isEmpty else { return }
        // Read again: the owner may have changed them while the prompt was up.
        guard var settings = try store.keys().first(where: { $0.record.key == record.key })?.record.settings,
            settings.host == record.settings.host, settings.pins.isEmpty
        else { return }
        settings.pins = [host.key.fingerprint]
        try store.set(record.name, settings)
    }

    // MARK: Management

    /// Only for `touchstone-ssh`, and never for somebody who reaches the agent through a forwarded connection.
    private func manage(_ contents: [UInt8], _ client: Client, _ bindings: SessionBindings) -> AgentAnswer {
        guard let manager, client.executable == manager, bindings == SessionBindings(), contents.count <= 64 << 10,
            let request = try? JSONDecoder().decode(ManagementRequest.self, from: Data(contents))
        else { return .failure }
        var answer: ManagementAnswer
        do throws(BridgeFailure) {
            answer = .keys(
                try manage(request).map { entry in
                    .init(
                        name: entry.record.name, blob: Data(entry.blob), protection: entry.record.protection,
                        settings: entry.record.settings)
                })
        } catch {
            answer = .failed("\(error)")
        }
        guard let data = try? JSONEncoder().encode(answer) else { return .failure }
        return .extensionAnswer(Array(data))
    }

    private func manage(_ request: ManagementRequest) throws(BridgeFailure) -> [KeyStore.Entry] {
        switch request {
        case .list: return try store.keys()
        case .create(let name, let protection, let host): return [try store.create(name, protection, host: host)]
        case .remove(let name):
            try store.remove(name)
            approvals.forget(item: name)
            return []
        case .set(let name, let settings):
            try store.set(name, settings)
            // What was approved before was approved under other settings (BR-25).
            approvals.forget(item: name)
            return try store.keys().filter { $0.record.name == name }
        }
    }
}
