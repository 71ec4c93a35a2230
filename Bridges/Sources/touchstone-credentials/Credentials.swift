import BridgeCore
import CredentialProtocol
import Crypto
import Foundation
import Synchronization
import TouchstoneDevice

/// Serves `io.touchstone.Credentials`.
final class Credentials: Sendable {
    typealias Item = CredentialMessages.Item
    typealias Results = CredentialMessages.Results

    let keychain: CredentialKeychain
    let changes = RowChanges()
    private let approvals: Approvals
    private let reuse: Double
    private let requiresHelper: Bool
    private let served = Mutex(Served())
    /// Of this run alone: what it makes of a password says nothing to anybody else.
    private let digestKey = SymmetricKey(size: .bits256)

    /// What clients were given or brought, so that they can bring it again without a question (GC-13).
    private struct Served {
        struct Key: Hashable {
            /// Only who had the password may compare with it.
            ///
            /// Anybody else could guess.
            var session: ClientSession
            var reference: Data
        }

        static let maximumCount = 1024
        var digests: [Key: Data] = [:]
        var lastUsed: [Data: ContinuousClock.Instant] = [:]
    }

    init(keychain: CredentialKeychain, reuse: Double, requiresHelper: Bool) {
        self.keychain = keychain
        self.reuse = reuse
        self.requiresHelper = requiresHelper
        approvals = Approvals(device: keychain.device)
    }

    /// One connection of a helper's, until it ends.
    func serve(_ connection: ClientConnection) {
        do {
            while let message = try connection.receive(
                longest: CredentialMessages.maximumCount,
                { bytes in bytes.firstIndex(of: 0).map { .bytes($0 + 1) } ?? .unknown })
            {
                let asker = Asker(try connection.look())
                let reply = reply(to: message.dropLast(), asker, connection)
                // The process that asked is the one that is answered.
                _ = try connection.look()
                try connection.send(Array(try JSONEncoder().encode(reply)) + [0])
            }
        } catch {
            // It is gone, or spoke nonsense: nobody to answer.
        }
    }

    private func reply(
        to message: [UInt8].SubSequence, _ asker: Asker, _ connection: ClientConnection
    ) -> CredentialMessages.Reply {
        guard let call = CredentialMessages.Call(message: Array(message)) else { return failure(.invalid) }
        // Whoever is here may see the grants, and take them away (BR-33).
        let isAboutGrants = call.method.hasSuffix("Grants")
        guard asker.isHelper || isAboutGrants || !requiresHelper else {
            return CredentialMessages.Reply(error: "org.varlink.service.PermissionDenied")
        }
        do throws(BridgeFailure) {
            let parameters = call.parameters
            switch call.method.dropFirst(CredentialMessages.interface.count) {
            case _ where !call.method.hasPrefix(CredentialMessages.interface):
                return CredentialMessages.Reply(error: "org.varlink.service.InterfaceNotFound")
            case "Get": return .init(try get(parameters, asker, connection))
            case "Store":
                let results = try store(parameters, asker, connection)
                return .init(error: results.result.map { _ in CredentialMessages.failed }, results)
            case "Erase": return .init(try erase(parameters, asker, connection))
            case "List": return .init(try list(parameters))
            case "ListGrants": return .init(try listGrants())
            case "RevokeGrants": return .init(try revokeGrants(parameters))
            case "Open": return .init(try open(parameters, asker, connection))
            default: return CredentialMessages.Reply(error: "org.varlink.service.MethodNotFound")
            }
        } catch {
            return failure(error)
        }
    }

    private func failure(_ failure: BridgeFailure) -> CredentialMessages.Reply {
        var results = Results()
        results.result =
            switch failure {
            case .cancelled: .cancelled
            case .denied: .denied
            case .locked: .locked
            case .unavailable, .clientGone: .unavailable
            case .gone: .gone
            case .invalid: .invalid
            case .busy, .displaced: .busy
            }
        return CredentialMessages.Reply(error: CredentialMessages.failed, results)
    }

    // MARK: Methods

    private func get(
        _ parameters: CredentialMessages.Parameters, _ asker: Asker, _ connection: ClientConnection
    ) throws(BridgeFailure) -> Results {
        guard let item = parameters.item, item.kind != .secret else { throw .invalid }
        let now = Int64(Date().timeIntervalSince1970)
        guard let row = latest(try rows(item).filter { ($0.expiry ?? .max) > now }) else { throw .gone }
        var request = request(asker, row.item, "read", "read \(Self.sentence(row.item))")
        request.item = row.reference.base64EncodedString()
        // gpg-agent has a time of its own, for which it remembers.
        request.reuse = item.kind == .gpg ? 0 : reuse
        let keychain = keychain
        let secret: Data
        do throws(BridgeFailure) {
            if let granted = try grantedSecrets([row], asker) {
                secret = granted[0]
            } else {
                secret = try approvals.perform(request, while: { connection.isWaitedOn }) {
                    proof throws(DeviceError) in try keychain.secret(of: row, proof)
                }
            }
        } catch {
            // What is not there is stored, whoever knew it.
            if error == .gone { forget(row.reference) }
            throw error
        }
        remember(secret, row.reference, asker)
        var results = Results()
        results.account = row.item.account
        results.secrets = [secret]
        results.expiry = row.expiry
        return results
    }

    private func store(
        _ parameters: CredentialMessages.Parameters, _ asker: Asker, _ connection: ClientConnection
    ) throws(BridgeFailure) -> Results {
        // Some servers of git's sign in without a user.
        guard let item = parameters.item, let account = item.account, !account.isEmpty || item.kind == .git,
            !item.place.isEmpty, let secret = parameters.secret, secret.count <= CredentialMessages.maximumSecretCount
        else { throw .invalid }
        // Only scripts' passwords may be open (SC-5).
        let isOpen = parameters.isOpen == true
        guard !isOpen || [.secret, .git].contains(item.kind) else { throw .invalid }
        let named = parameters.programs ?? []
        guard named.isEmpty || [.secret, .git].contains(item.kind), named.count <= CredentialMessages.maximumPrograms
        else { throw .invalid }
        let programs = named.map { (file: $0, identity: ProgramIdentity(file: $0)) }
        let lets = programs.compactMap(\.identity)
        var results = Results()
        if lets.count < named.count { results.refusedPrograms = programs.filter { $0.identity == nil }.map(\.file) }
        // docker keeps one user of a server, and a key has one passphrase: another takes its place.
        let isOnly = item.kind == .docker || item.kind == .gpg
        var place = item
        if isOnly { place.account = nil }
        let rows = try rows(place).filter { isOnly || $0.item == item }
        // After a store that was cut off, that of another account is there too.
        let others = rows.filter { $0.item.account != account }
        guard let row = rows.first(where: { $0.item.account == account }) ?? others.first else {
            let added = try keychain.add(item, secret, expiry: parameters.expiry, isOpen: isOpen)
            remember(secret, added.reference, asker)
            try grant(secret, of: added.value, item.kind, to: lets)
            return results
        }
        if parameters.isNew == true {
            results.result = .duplicate
            return results
        }
        if row.item.account == account {
            if lets.isEmpty, others.isEmpty, isKnown(secret, row.reference, asker) == true,
                row.expiry == parameters.expiry
            {
                return results
            }
            let request = request(
                asker, row.item, "store", "store over \(Self.sentence(row.item))\(Self.sentence(lettingIn: lets))")
            let (keychain, changes) = (keychain, changes)
            do throws(BridgeFailure) {
                let change = try approvals.perform(request, while: { connection.isWaitedOn }) {
                    proof throws(DeviceError) in
                    // The owner is asked here, so that nobody waits below.
                    _ = try keychain.secret(of: row, proof)
                    return try changes.make(of: row.value) { () throws(DeviceError) in
                        _ = try keychain.replace(row, secret, expiry: parameters.expiry, isOpen: isOpen, proof)
                    }
                }
                remember(secret, row.reference, asker)
                try grant(secret, of: row.value, item.kind, to: lets, after: change)
            } catch .gone {
                // A deletion was cut off before its end (GC-3).
                try delete(row)
                let added = try keychain.add(item, secret, expiry: parameters.expiry, isOpen: isOpen)
                remember(secret, added.reference, asker)
                try grant(secret, of: added.value, item.kind, to: lets)
            }
            for row in try approved(others, nil, asker, connection) { try delete(row) }
        } else {
            let approved = try approved(others, nil, asker, connection)
            // Before the old ones go: a lock or an end in between loses no password.
            remember(secret, try keychain.add(item, secret, expiry: parameters.expiry).reference, asker)
            for row in approved { try delete(row) }
        }
        return results
    }

    private func erase(
        _ parameters: CredentialMessages.Parameters, _ asker: Asker, _ connection: ClientConnection
    ) throws(BridgeFailure) -> Results {
        // Without a place nothing is erased.
        guard let item = parameters.item, !item.place.isEmpty else { throw .invalid }
        let rows = try rows(item)
        guard !rows.isEmpty else { throw .gone }
        // Of a command's secrets one is named, never all of a service.
        guard item.kind != .secret || rows.count == 1 else { throw .invalid }
        for row in try approved(rows, parameters.secret, asker, connection) { try delete(row) }
        return Results()
    }

    /// The rows that may be deleted: those whose secret is `secret`, where one is given.
    ///
    /// Who knows the secret is not asked; anybody else is.
    private func approved(
        _ rows: [CredentialRow], _ secret: Data?, _ asker: Asker, _ connection: ClientConnection
    ) throws(BridgeFailure) -> [CredentialRow] {
        var (approved, unknown): ([CredentialRow], [CredentialRow]) = ([], [])
        for row in rows {
            switch secret.flatMap({ isKnown($0, row.reference, asker) }) {
            case true?: approved.append(row)
            case false?: break
            case nil: unknown.append(row)
            }
        }
        guard let first = unknown.first else { return approved }
        let others = unknown.count > 1 ? " and \(unknown.count - 1) more" : ""
        let request = request(
            asker, first.item, "delete", "delete \(Self.sentence(first.item))\(others)")
        let asked = unknown
        let keychain = keychain
        let secrets = try approvals.perform(request, while: { connection.isWaitedOn }) {
            proof throws(DeviceError) in
            var found: [Data?] = []
            for row in asked {
                do throws(DeviceError) {
                    found.append(try keychain.secret(of: row, proof))
                } catch {
                    // A deletion was cut off before its end (GC-3).
                    guard BridgeFailure(error) == .gone else { throw error }
                    found.append(nil)
                }
            }
            return found
        }
        for (row, found) in zip(asked, secrets)
        where secret == nil || found == nil || found.map(digest) == secret.map(digest) {
            approved.append(row)
        }
        return approved
    }

    private func delete(_ row: CredentialRow) throws(BridgeFailure) {
        forget(row.reference)
        let keychain = keychain
        _ = try changes.make(of: row.value) { () throws(BridgeFailure) in try keychain.delete(row) }
    }

    private func list(_ parameters: CredentialMessages.Parameters) throws(BridgeFailure) -> Results {
        guard let item = parameters.item else { throw .invalid }
        var results = Results()
        results.items = try keychain.rows(Item(kind: item.kind, place: ""), everyPlace: true).map(\.item)
        return results
    }

    /// Several secrets of commands, on one proof (EX-2).
    private func open(
        _ parameters: CredentialMessages.Parameters, _ asker: Asker, _ connection: ClientConnection
    ) throws(BridgeFailure) -> Results {
        guard let items = parameters.items, !items.isEmpty, items.count <= CredentialMessages.maximumSecrets else {
            throw .invalid
        }
        var opened: [CredentialRow] = []
        for item in items {
            guard item.kind == .secret else { throw .invalid }
            guard let row = latest(try rows(item)) else { throw .gone }
            opened.append(row)
        }
        if let granted = try grantedSecrets(opened, asker) {
            var results = Results()
            if opened.count == 1 { results.account = opened[0].item.account }
            results.secrets = granted
            return results
        }
        let shown = ShownSecrets(opened.map(\.item), names: parameters.names, command: parameters.command)
        guard let shown else { throw .invalid }
        var request = request(asker, opened[0].item, parameters.command == nil ? "read" : "run", shown.reason)
        request.facts = shown.facts
        request.item = opened.map { $0.reference.base64EncodedString() }.sorted().joined(separator: " ")
        request.destination = "run"
        request.reuse = min(300, max(0, parameters.reuse ?? 0))
        let rows = opened
        let keychain = keychain
        let secrets = try approvals.perform(request, while: { connection.isWaitedOn }) {
            proof throws(DeviceError) in
            var found: [Data] = []
            for row in rows { found.append(try keychain.secret(of: row, proof)) }
            return found
        }
        var results = Results()
        if rows.count == 1 { results.account = rows[0].item.account }
        results.secrets = secrets
        return results
    }

    // MARK: Which, and for whom

    private func rows(_ item: Item) throws(BridgeFailure) -> [CredentialRow] {
        try keychain.rows(item).filter { row in
            guard item.kind == .git else { return row.item.place == item.place }
            guard let place = item.credentialPlace else { return false }
            return row.item.credentialPlace?.serves(place) == true
        }
    }

    /// The only one; of several the one that was used last, or changed last.
    private func latest(_ rows: [CredentialRow]) -> CredentialRow? {
        let used = served.withLock { $0.lastUsed }
        return rows.max { left, right in
            switch (used[left.reference], used[right.reference]) {
            case (let left?, let right?): left < right
            case (nil, .some): true
            case (.some, nil): false
            case (nil, nil): left.modified < right.modified
            }
        }
    }

    private func request(_ asker: Asker, _ item: Item, _ purpose: String, _ reason: String) -> ApprovalRequest {
        var facts = [Fact(.host, item.credentialPlace?.description ?? item.place)]
        if item.kind == .gpg { facts = [Fact(.item, "keygrip \(item.place)")] }
        if let account = item.account, !account.isEmpty { facts.append(Fact(.account, account)) }
        return ApprovalRequest(
            client: asker.client, item: "\(item.kind) \(item.place) \(item.account ?? "")", purpose: purpose,
            destination: item.place, reason: reason, facts: facts)
    }

    private static func sentence(_ item: Item) -> String {
        // gpg-agent's word for the key, when its passphrase was stored.
        guard item.kind != .gpg else { return "the passphrase of gpg's key “\(Sentence.short(item.account ?? ""))”" }
        let user = item.account.flatMap { $0.isEmpty ? nil : "of \($0) " } ?? ""
        return "the password \(short("\(user)at \(item.credentialPlace?.description ?? item.place)"))"
    }

    private static func short(_ text: String) -> String {
        text.count > 96 ? "\(text.prefix(95))…" : text
    }

    // MARK: What was served

    private func digest(_ secret: Data) -> Data { Data(HMAC<SHA256>.authenticationCode(for: secret, using: digestKey)) }

    private func remember(_ secret: Data, _ reference: Data, _ asker: Asker) {
        let digest = digest(secret)
        let session = asker.client.process?.clientSession
        served.withLock { served in
            if served.digests.count >= Served.maximumCount { served.digests = [:] }
            if served.lastUsed.count >= Served.maximumCount { served.lastUsed = [:] }
            served.lastUsed[reference] = .now
            // What another session knew of it is true no more.
            served.digests = served.digests.filter { $0.key.reference != reference || $0.value == digest }
            if let session { served.digests[Served.Key(session: session, reference: reference)] = digest }
        }
    }

    private func forget(_ reference: Data) {
        served.withLock { served in
            served.digests = served.digests.filter { $0.key.reference != reference }
            served.lastUsed[reference] = nil
        }
    }

    /// Whether this is the secret of a row; nil where the client never had it.
    private func isKnown(_ secret: Data, _ reference: Data, _ asker: Asker) -> Bool? {
        guard let session = asker.client.process?.clientSession,
            let known = served.withLock({ $0.digests[Served.Key(session: session, reference: reference)] })
        else { return nil }
        return known == digest(secret)
    }
}
