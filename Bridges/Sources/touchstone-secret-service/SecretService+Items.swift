import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel
import TouchstoneDevice

/// Items and their secrets.
extension SecretService {
    /// A secret as it comes over the bus, decrypted (SS-3).
    struct Given {
        var secret: Data
        var contentType: String
    }

    func item(
        _ name: String, _ member: String, _ signature: String, _ arguments: [BusValue], _ client: BusClient
    ) async throws(Refusal) -> Answer {
        switch (member, signature) {
        case ("GetSecret", "o"):
            let session = try session(arguments[0], client)
            let secrets = try await secrets(of: [name], session, client)
            guard let secret = secrets[name] else { throw .noSuchObject }
            return Answer(values: [secret], isSecret: true)
        case ("SetSecret", "(oayays)"):
            let given = try given(arguments[0], client)
            try await change(name, client) {
                $0.description.contentType = given.contentType
            } secret: {
                given.secret
            }
            return Answer()
        case ("Delete", ""):
            guard sessionItems[name] != nil || isGranted(name, client) else {
                return Answer(values: [.path(try makePrompt(.deleteItem(name), client))])
            }
            if sessionItems[name] == nil { try await open(for: client) }
            try await remove(name)
            return Answer(values: [Self.none])
        case ("GetSecret", _), ("SetSecret", _), ("Delete", _): throw .invalidArguments
        default: throw .unknownMethod
        }
    }

    /// The session of a caller.
    ///
    /// A session of another caller is refused as one that does not exist (SS-14).
    func session(_ path: BusValue, _ client: BusClient) throws(Refusal) -> (path: String, cipher: SessionCipher) {
        guard let text = path.object, case .session(let name)? = SecretPath(text),
            let session = sessions[name], session.owner == client.name
        else { throw .noSession }
        return (text, session.cipher)
    }

    private func given(_ value: BusValue, _ client: BusClient) throws(Refusal) -> Given {
        guard case .structure(let parts) = value, parts.count == 4, let parameters = parts[1].data,
            let bytes = parts[2].data, let contentType = parts[3].text
        else { throw .invalidArguments }
        let cipher = try session(parts[0], client).cipher
        guard bytes.count <= ItemDescription.Limits.secret + 16,
            contentType.utf8.count <= ItemDescription.Limits.text
        else { throw .limitsExceeded }
        do throws(SessionCipher.Failure) {
            let secret = try cipher.open(parameters: parameters, value: bytes)
            guard secret.count <= ItemDescription.Limits.secret else { throw SessionCipher.Failure.malformed }
            return Given(secret: secret, contentType: contentType)
        } catch {
            throw Refusal(error)
        }
    }

    // MARK: Reading

    /// Secrets of several items, those that the caller may read; of none that it may, the owner is asked (SS-32).
    func secrets(
        _ paths: [String], _ session: (path: String, cipher: SessionCipher), _ client: BusClient
    ) async throws(Refusal) -> Answer {
        guard paths.count <= 4096 else { throw .limitsExceeded }
        var spelled: [String: String] = [:]
        for path in paths {
            guard let path = SecretPath(path) else { continue }
            do throws(Refusal) {
                if case .item(let name) = try await object(path, client) { spelled[name] = path.text }
            } catch {
                // What could not be looked at is not left out (SS-24).
                guard error == .noSuchObject else { throw error }
            }
        }
        var names = Array(spelled.keys)
        if isOpen, names.contains(where: { isGranted($0, client) }) { names.removeAll { !isGranted($0, client) } }
        let secrets = try await secrets(of: names, session, client)
        let entries = secrets.map { BusValue.entry(.path(spelled[$0.key] ?? path(of: $0.key)), $0.value) }
        return Answer(values: [.array("{o(oayays)}", entries)], isSecret: true)
    }

    private func secrets(
        of names: [String], _ session: (path: String, cipher: SessionCipher), _ client: BusClient
    ) async throws(Refusal) -> [String: BusValue] {
        guard !names.isEmpty else { return [:] }
        try await open(for: client)
        let kept = names.filter { sessionItems[$0] == nil }
        let keys = kept.isEmpty ? [:] : try await keysInTime(of: kept, client, .read)
        var found: [String: BusValue] = [:]
        for name in names {
            guard let item = items[name] else {
                // A lock came in between: that is not "nothing" (SS-24).
                guard isOpen else { throw .isLocked }
                continue
            }
            let secret: Data
            if let own = sessionItems[name] {
                secret = unsafe own.secret.withUnsafeBytes { unsafe Data($0) }
            } else {
                guard let key = keys[name] else { continue }
                let sealed: SealedSecret
                do throws(BridgeFailure) {
                    sealed = try await sealedSecret(of: name)
                } catch {
                    // Deleted in between, and others are asked for.
                    if error == .gone, isOpen { continue }
                    throw Refusal(error)
                }
                guard let opened = sealed.open(key, item: name) else { throw .failed }
                secret = opened
            }
            guard let (parameters, value) = session.cipher.seal(secret) else { throw .failed }
            found[name] = .structure([
                .path(session.path), .bytes(parameters), .bytes(value), .string(item.description.contentType),
            ])
        }
        return found
    }

    private func sealedSecret(of name: String) async throws(BridgeFailure) -> SealedSecret {
        if let sealed = recent[name] { return sealed }
        return try await readSealedSecret(of: name)
    }

    /// Reads it from the device, with the copy of its key.
    func readSealedSecret(of name: String) async throws(BridgeFailure) -> SealedSecret {
        let before = isWriting ? nil : writes
        let sealed = try await keychain.sealedSecret(of: name)
        // What was changed while it was read may be older than what is kept.
        if isOpen, before == writes, items[name] != nil { recent.put(sealed, of: name) }
        return sealed
    }

    /// Keeps a changed item, and notes its new secret; nil leaves the secret as it is.
    private func keep(
        _ item: SecretKeychain.Item, _ secret: Data?, _ key: SymmetricKeyBytes
    ) async throws(Refusal) {
        var sealed: SealedSecret?
        do throws(BridgeFailure) {
            if let secret { sealed = try await keychain.seal(secret, key, of: item) }
        } catch { throw Refusal(error) }
        let item = item.sized(secret: sealed?.kept.count)
        guard hasShare(item) else { throw .limitsExceeded }
        if sealed != nil { recent.remove(item.name) }
        do throws(BridgeFailure) { try await keychain.change(item, sealed: sealed) } catch { throw Refusal(error) }
        guard isOpen else { return }
        items[item.name] = item
        if let sealed { recent.put(sealed, of: item.name) }
    }

    // MARK: Storing

    /// Makes an item, or replaces that with the same attributes (SS-22, SS-23).
    ///
    /// - Returns: Its name.
    func createItem(
        _ collection: String, _ properties: BusValue, _ secret: BusValue, replaces: Bool, _ client: BusClient
    ) async throws(Refusal) -> String {
        let given = try given(secret, client)
        let named = properties.dictionary ?? [:]
        let label = named["org.freedesktop.Secret.Item.Label"]?.text ?? ""
        let value = named["org.freedesktop.Secret.Item.Attributes"] ?? .texts([:])
        guard let attributes = value.textDictionary else { throw .invalidArguments }
        guard ItemDescription.allows(attributes), label.utf8.count <= ItemDescription.Limits.text else {
            throw .limitsExceeded
        }
        let description = ItemDescription(
            collection: collection, attributes: attributes, contentType: given.contentType,
            maker: client.client.executable, grantee: client.grantee.program)
        let new = SecretKeychain.Item(
            name: SecretPath.newName(), label: label, description: description, created: Self.now, modified: Self.now)
        if collection == Self.session { return try keep(new, given.secret, replaces: replaces, client) }
        try await open(for: client)
        let digested = index.digested(attributes)
        var stranger: String?
        if replaces, let name = index.exactly(digested, in: collection), !isGranted(name, client) {
            // Somebody else's: the owner is asked before anything waits for this.
            _ = try await keysInTime(of: [name], client, .store)
            stranger = name
        }
        return try await inTurn { () async throws(Refusal) in
            guard isOpen else { throw .isLocked }
            if replaces, let name = index.exactly(digested, in: collection), name != stranger {
                try await replace(name, label: label, given, client)
                return name
            }
            guard collections[collection] != nil else { throw .noSuchObject }
            guard index.count < ItemDescription.Limits.items else { throw .limitsExceeded }
            try await add(new, digested, given.secret, client)
            // It comes in the other's place, under a key that nobody was granted before, and tells nothing of the old secret.
            if let stranger, index.collection(of: stranger) == collection { try await remove(stranger) }
            return new.name
        }
    }

    func add(
        _ item: SecretKeychain.Item, _ digested: ItemIndex.Attributes, _ secret: Data, _ client: BusClient
    ) async throws(Refusal) {
        let key = SymmetricKeyBytes()
        let sealed: SealedSecret
        do throws(BridgeFailure) {
            sealed = try await keychain.seal(secret, key, of: item)
        } catch { throw Refusal(error) }
        let item = item.sized(secret: sealed.kept.count)
        guard hasShare(item) else { throw .limitsExceeded }
        do throws(BridgeFailure) { try await keychain.add(item, sealed) } catch { throw Refusal(error) }
        index.put(item.name, in: item.description.collection, digested)
        if isOpen {
            items[item.name] = item
            recent.put(sealed, of: item.name)
            grants.put(key, of: item.name, for: client.grantee)
        }
        announce("ItemCreated", item.name, in: item.description.collection)
    }

    /// Whether the program that stored an item may keep it so: no program takes the place of the others (SS-22).
    ///
    /// What is there and does not grow is kept, because the owner may have brought in more.
    private func hasShare(_ item: SecretKeychain.Item) -> Bool {
        typealias Limits = ItemDescription.Limits
        let old = items[item.name]
        if let old, item.bytes <= old.bytes { return true }
        var (count, bytes) = (1, item.bytes)
        for other in items.values
        where other.description.maker == item.description.maker && other.name != item.name
            && sessionItems[other.name] == nil
        {
            count += 1
            bytes += other.bytes
        }
        return (old != nil || count <= Limits.ownItems) && bytes <= Limits.ownBytes
    }

    private func keep(
        _ item: SecretKeychain.Item, _ secret: Data, replaces: Bool, _ client: BusClient
    ) throws(Refusal) -> String {
        let attributes = item.description.attributes
        let own = index.search(attributes, in: Self.session).first {
            items[$0]?.description.attributes == attributes && isGranted($0, client)
        }
        let name = replaces ? own ?? item.name : item.name
        guard hasRoom(secret.count, for: name, client) else { throw .limitsExceeded }
        sessionItems[name] = SessionItem(secret: SecretBuffer(secret), owner: client.grantee)
        var kept = item
        kept.name = name
        kept.created = items[name]?.created ?? item.created
        items[name] = kept
        index.put(name, in: Self.session, attributes)
        announce(own == name ? "ItemChanged" : "ItemCreated", name, in: Self.session)
        return name
    }

    /// Whether a program may keep so many bytes in memory under this name: no program takes the place of the others.
    private func hasRoom(_ bytes: Int, for name: String, _ client: BusClient) -> Bool {
        typealias Limits = ItemDescription.Limits
        let others = sessionItems.filter { $0.key != name }.values
        let own = others.filter { $0.owner == client.grantee }
        return others.count < Limits.sessionItems && own.count < Limits.ownSessionItems
            && own.reduce(bytes) { $0 + $1.secret.count } <= Limits.ownSessionBytes
    }

    /// Removes an item of the session, of which nobody is left who could read it.
    func forgetSessionItem(_ name: String) {
        sessionItems[name] = nil
        items[name] = nil
        index.remove(name)
    }

    private func replace(_ name: String, label: String, _ given: Given, _ client: BusClient) async throws(Refusal) {
        guard let key = try await currentKey(of: name, client), var item = items[name] else { throw .isLocked }
        item.label = label
        item.description.contentType = given.contentType
        item.modified = Self.now
        item.description.modified = nil
        try await keep(item, given.secret, key)
        announce("ItemChanged", name, in: item.description.collection)
    }

    /// The key of an item that the caller was granted, without a question.
    private func currentKey(of name: String, _ client: BusClient) async throws(Refusal) -> SymmetricKeyBytes? {
        guard isGranted(name, client) else { return nil }
        return try await keysInTime(of: [name], client, .store)[name]
    }

    // MARK: Changing

    /// Changes an item, with a new secret or without; the owner is asked where the caller was not granted it (SS-36).
    func change(
        _ name: String, _ client: BusClient, _ edit: (inout SecretKeychain.Item) -> Void, secret: () -> Data? = { nil }
    ) async throws(Refusal) {
        if let own = sessionItems[name] {
            guard own.owner == client.grantee, var item = items[name] else { throw .noSuchObject }
            edit(&item)
            item.modified = Self.now
            if let secret = secret() {
                guard hasRoom(secret.count, for: name, client) else { throw .limitsExceeded }
                sessionItems[name]?.secret = SecretBuffer(secret)
            }
            items[name] = item
            index.put(name, in: Self.session, item.description.attributes)
            return announce("ItemChanged", name, in: Self.session)
        }
        try await open(for: client)
        let keys = try await keysInTime(of: [name], client, .change)
        try await inTurn { () async throws(Refusal) in
            guard isOpen, var item = items[name], let key = keys[name] else { throw .isLocked }
            edit(&item)
            item.modified = Self.now
            item.description.modified = nil
            try await keep(item, secret(), key)
            index.put(name, in: item.description.collection, item.description.attributes)
            announce("ItemChanged", name, in: item.description.collection)
        }
    }

    /// Removes an item with all that belongs to it.
    func remove(_ name: String) async throws(Refusal) {
        let collection = index.collection(of: name) ?? Self.login
        if sessionItems.removeValue(forKey: name) == nil {
            do throws(BridgeFailure) {
                try await keychain.delete(name, grants: grants.kept[name] ?? [])
            } catch { throw Refusal(error) }
        }
        announce("ItemDeleted", name, in: collection)
        index.remove(name)
        items[name] = nil
        recent.remove(name)
        grants.remove(name)
    }
}
