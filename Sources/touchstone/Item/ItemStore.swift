import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// The secrets of a person, on a device.
///
/// Each is two generic passwords, as `touchstone-credentials` has them (GC-3). One says what the secret is for, and anybody may list it who
/// has the group. The other has the secret, under userPresence: the keychain opens nothing of it without the owner, also not its attributes.
struct ItemStore {
    /// The group of this program and of `touchstone-credentials`, if the manifests of both name it (KC-40).
    static let sharedGroup = "touchstone.secrets"
    /// Most bytes of a secret.
    static let maximumSecretBytes = 64 << 10

    /// A secret without the secret.
    struct Entry {
        var name: ItemName
        var label: String
        /// Seconds since 2001.
        var modified: Double?
        /// The account of the item that has the secret.
        fileprivate var value: String
        fileprivate var reference: Data
    }

    let device: DeviceClient
    /// Where a new secret goes; nil: the group of this program alone, which it has without a manifest.
    private let group: String?

    private static var control: AccessControl {
        get throws { try AccessControl(protection: .whenUnlockedThisDeviceOnly, flags: .userPresence) }
    }

    init(_ paths: DevicePaths) throws {
        // Whoever has a store has secrets.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
            throw Failure.system("core")
        }
        device = try DeviceClient(paths)
        let groups = try device.call(AuthenticationInterface.GetIdentity.self).applicationGroups
        group = (groups ?? []).contains { $0.rawValue == Self.sharedGroup } ? Self.sharedGroup : nil
    }

    // MARK: What is there

    /// All of them, by their names.
    ///
    /// Nobody is asked.
    func entries() throws -> [Entry] {
        let query: KeychainInterface.Dictionary = [
            .class: .string(ItemClass.genericPassword.rawValue), .description: .string(Self.kind),
            .matchLimit: .matchLimitAll, .returnAttributes: .boolean(true), .returnData: .boolean(true),
            .returnPersistentRef: .boolean(true),
        ]
        let found: [KeychainInterface.Item]
        do {
            found = try call(KeychainInterface.CopyMatching.self, .init(query: query)).items
        } catch Refusal.notFound {
            return []
        }
        return found.compactMap(Self.entry).sorted {
            ($0.name.service, $0.name.account) < ($1.name.service, $1.name.account)
        }
    }

    private static func entry(_ item: KeychainInterface.Item) -> Entry? {
        func text(_ key: AttributeKey) -> String? {
            if case .string(let text)? = item.attributes?[key] { text } else { nil }
        }
        guard let service = text(.service), let account = text(.account),
            let name = ItemName(service: service, account: account), let reference = item.persistentReference,
            let value = item.data.flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        var modified: Double?
        if case .date(let date)? = item.attributes?[.modificationDate] { modified = date }
        return Entry(
            name: name, label: text(.label) ?? service, modified: modified, value: value, reference: reference)
    }

    /// The one that a person names.
    ///
    /// - Throws: `Failure` if nothing has that name, or several have it.
    func entry(_ service: String, _ account: String?) throws -> Entry {
        let found = try entries().filter { entry in
            entry.name.service.utf8.elementsEqual(service.utf8)
                && account.map { $0.utf8.elementsEqual(entry.name.account.utf8) } ?? true
        }
        guard let first = found.first else {
            let words = PlainText.line([service, account].compactMap { $0 }.joined(separator: " "))
            throw Failure(.no, "nothing is kept for '\(words)'; 'touchstone item list' shows what is")
        }
        guard found.count == 1 else {
            let accounts = found.map { PlainText.line($0.name.account) }.joined(separator: ", ")
            throw Failure(.usage, "\(PlainText.line(service)) has several accounts, so name one of them: \(accounts)")
        }
        return first
    }

    // MARK: What changes

    /// Adds both items, the secret first.
    ///
    /// Nobody is asked: the secret comes from who adds it (AC-12).
    func add(_ name: ItemName, label: String?, _ secret: SecretBuffer) throws {
        let value = UUID().uuidString
        var attributes = Self.value(value)
        attributes[.valueData] = .data(unsafe secret.withUnsafeBytes { unsafe Data($0) })
        attributes[.accessControl] = .accessControl(try Self.control)
        // The owner reads this name in the prompt.
        attributes[.label] = .string("\(name.service)/\(name.account)")
        attributes[.accessGroup] = group.map { .string($0) }
        _ = try call(KeychainInterface.Add.self, .init(attributes: attributes))
        var words: KeychainInterface.Dictionary = [
            .class: .string(ItemClass.genericPassword.rawValue), .description: .string(Self.kind),
            .service: .string(name.service), .account: .string(name.account), .label: .string(label ?? name.service),
            .valueData: .data(Data(value.utf8)),
            .accessible: .string(Accessibility.whenUnlockedThisDeviceOnly.rawValue),
        ]
        words[.accessGroup] = group.map { .string($0) }
        do {
            _ = try call(KeychainInterface.Add.self, .init(attributes: words))
        } catch {
            _ = try? call(KeychainInterface.Delete.self, .init(query: Self.value(value)))
            throw error
        }
    }

    /// Puts another secret in the place of the one that is there.
    ///
    /// The owner is asked. It is guarded from then on, also if the old one was not (`touchstone-security -A`).
    func replace(_ entry: Entry, _ secret: SecretBuffer) throws {
        let data = unsafe secret.withUnsafeBytes { unsafe Data($0) }
        _ = try call(
            KeychainInterface.Update.self,
            .init(
                query: Self.value(entry.value),
                attributes: [.valueData: .data(data), .accessControl: .accessControl(try Self.control)],
                options: .init(reason: "store over the secret of \(entry.name)")))
        // Programs that were granted the old one have a copy of it.
        try delete(Self.grants(entry.value))
    }

    /// The secret.
    ///
    /// The owner is asked. touchstoned releases it, and until then it is not here.
    ///
    /// - Parameters:
    ///   - entry: Which one.
    ///   - purpose: What the prompt says before the name.
    /// - Returns: The secret, in locked memory.
    /// - Throws: `Failure` if the owner was not there, or it is gone.
    func secret(_ entry: Entry, to purpose: String) throws -> SecretBuffer {
        var found: [KeychainInterface.Item]
        do {
            found = try open(Self.value(entry.value), to: "\(purpose) the secret of \(entry.name)")
        } catch Refusal.notFound {
            throw Failure(
                .no,
                "the secret of \(entry.name) is gone, because a removal was cut short; remove it again, then add it")
        }
        guard !found.isEmpty, let secret = Self.take(&found[0]) else {
            throw Failure(.internalError, "\(device.paths.name) sent something that is not an answer")
        }
        return secret
    }

    /// The secrets of several, one after another.
    ///
    /// The owner is asked once, because they have one access control (AC-23).
    ///
    /// - Parameters:
    ///   - entries: Which ones.
    ///   - purpose: What the prompt says.
    ///   - body: Gets each with its secret, in their order; nil for one whose removal was cut short.
    /// - Throws: `Failure` if the owner was not there, or they have more than 32 MiB; what `body` throws.
    func secrets(_ entries: [Entry], to purpose: String, _ body: (Entry, SecretBuffer?) throws -> Void) throws {
        var all = Self.values
        all[.matchLimit] = .matchLimitAll
        all[.returnAttributes] = .boolean(true)
        var found: [KeychainInterface.Item] = []
        do { found = try open(all, to: purpose) } catch Refusal.notFound {}
        var places: [String: Int] = [:]
        for (place, item) in found.enumerated() {
            if case .string(let value)? = item.attributes?[.account] { places[value] = place }
        }
        for entry in entries { try body(entry, places[entry.value].flatMap { Self.take(&found[$0]) }) }
    }

    /// What a query finds, after the owner was asked.
    private func open(_ query: KeychainInterface.Dictionary, to reason: String) throws -> [KeychainInterface.Item] {
        try call(
            KeychainInterface.CopyMatching.self,
            .init(query: query.merging([.returnData: .boolean(true)]) { $1 }, options: .init(reason: reason)),
            beforeReading: {
                // Until the answer touchstoned had to see what this process executes (EX-5).
                guard touchstone_become_undumpable() else { throw Failure.system("prctl") }
            },
            // From here on touchstoned cannot tell who this process is. Whoever has an entry has opened the lock screen;
            // a device that was locked since says so.
            mayUnlock: false
        ).items
    }

    /// The secret of an item, whose own copy is zeroed.
    private static func take(_ item: inout KeychainInterface.Item) -> SecretBuffer? {
        guard var data = item.data else { return nil }
        item.data = nil
        defer { data.resetBytes(in: data.startIndex..<data.endIndex) }
        return SecretBuffer(data)
    }

    /// Deletes both items, and what programs were granted of them (BR-30).
    ///
    /// The keychain asks nobody (AC-24).
    func remove(_ entry: Entry) throws {
        let words: KeychainInterface.Dictionary = [
            .class: .string(ItemClass.genericPassword.rawValue), .valuePersistentRef: .data(entry.reference),
        ]
        // Copies for programs first: what is left after a crash is closed.
        for query in [Self.grants(entry.value), Self.value(entry.value), words] { try delete(query) }
    }

    /// What is gone already is no error.
    private func delete(_ query: KeychainInterface.Dictionary) throws {
        do {
            _ = try call(KeychainInterface.Delete.self, .init(query: query))
        } catch Refusal.notFound {
            // There was none, or a removal was cut short.
        }
    }

    // MARK: How

    /// What tells these items from others of the group.
    private static let kind = "secret"

    /// The item that has a secret.
    private static func value(_ name: String) -> KeychainInterface.Dictionary {
        values.merging([.account: .string(name)]) { $1 }
    }

    /// All items that have secrets.
    private static let values: KeychainInterface.Dictionary = [
        .class: .string(ItemClass.genericPassword.rawValue), .service: .string("io.touchstone.Credentials"),
        .description: .string("value"),
    ]

    /// The items with copies for programs, which `touchstone-credentials` makes (BR-30).
    private static func grants(_ value: String) -> KeychainInterface.Dictionary {
        [
            .class: .string(ItemClass.genericPassword.rawValue), .service: .string("io.touchstone.Credentials.grant"),
            .comment: .string(value),
        ]
    }

    /// What callers here go on after.
    private enum Refusal: Error { case notFound }

    private func call<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, beforeReading: (() throws -> Void)? = nil, mayUnlock: Bool = true
    ) throws -> M.Reply {
        do {
            return try device.client.call(method, parameters, beforeReading: beforeReading)
        } catch let failure as Failure {
            throw failure
        } catch let error as RemoteError {
            guard let failed = error.as(KeychainInterface.Failed.self) else { throw Failure.of(error, device.paths) }
            if mayUnlock, failed.isBehindLock, try unlock() {
                return try call(method, parameters, beforeReading: beforeReading, mayUnlock: false)
            }
            if Status(rawValue: failed.status) == .itemNotFound { throw Refusal.notFound }
            throw Failure.of(failed, device.paths) ?? Failure.of(error, device.paths)
        } catch {
            throw Failure.of(error, device.paths)
        }
    }

    /// Has the owner asked to unlock the device (ND-6).
    ///
    /// - Returns: false if nobody could be asked.
    /// - Throws: `Failure` (`cancelled`) if the owner does not want to.
    private func unlock() throws -> Bool {
        do {
            _ = try device.client.call(AuthenticationInterface.RequestUnlock.self, .init())
            return true
        } catch let error as RemoteError {
            let failed = error.as(AuthenticationInterface.Failed.self)
            guard failed?.reason.flatMap(RefusalCause.init(rawValue:)) == .ownerCancelled else { return false }
            throw Failure(.cancelled, "you cancelled it")
        } catch {
            throw Failure.of(error, device.paths)
        }
    }
}

extension KeychainInterface.Failed {
    /// Whether the device has to be unlocked before.
    fileprivate var isBehindLock: Bool {
        [.deviceLocked, .beforeFirstUnlock].contains(reason.flatMap(RefusalCause.init(rawValue:)))
    }
}

extension Failure {
    /// Why an item was not opened or kept; nil where that has no sentence of its own.
    static func of(_ failed: KeychainInterface.Failed, _ paths: DevicePaths) -> Failure? {
        switch failed.reason.flatMap(RefusalCause.init(rawValue:)) {
        case .ownerCancelled, .fallbackChosen: Failure(.cancelled, "you cancelled it")
        case .cancelledTooOften:
            Failure(.refused, "you cancelled three prompts within two minutes; try again in five minutes")
        case .missedTooOften: Failure(.no, "the finger did not match; try again")
        case .biometryLockedOut, .passcodeRequired, .biometrySuspended:
            Failure(.passcodeRequired, "the passcode is required; type it where the prompt is")
        case .noAgent, .agentLost:
            Failure(
                .unavailable,
                "nothing can show you the prompt; start touchstone-agent, or 'touchstone agent' in another terminal")
        case .deviceLocked, .beforeFirstUnlock, .lockedMeanwhile:
            Failure(.refused, "\(paths.name) is locked; unlock it with 'touchstone device unlock\(paths.option)'")
        case .passcodeNotSet:
            Failure(
                .refused, "\(paths.name) has no passcode; set one with 'touchstone device passcode set\(paths.option)'")
        case .waitedTooLong, .tooManyWait, .cancelledByAnother:
            Failure(.refused, "other prompts were in the way; try again")
        case .quotaReached:
            Failure(.refused, "too much is kept; 'touchstone keychain quota' shows and changes how much may be")
        case .keychainAltered:
            Failure(.refused, "another program has altered the keychain; 'touchstone keychain check' says more")
        case .keyLost, .passcodeRemoved:
            Failure(
                .refused,
                "it can never be opened again, because the passcode was removed since; remove it, then add it again")
        default: nil
        }
    }
}
