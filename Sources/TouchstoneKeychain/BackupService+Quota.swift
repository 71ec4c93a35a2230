import Crypto
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// What each app keeps, and may keep.
extension BackupService {
    func listUse(_ owner: IsOwner) throws -> BackupInterface.ListUse.Reply {
        let keys = try metadataKeys()
        var byGroup: [Data: BackupInterface.Use] = [:]
        for (tag, sealed, limit) in try store.limits() {
            guard let name = quotaNames.open(sealed, tag), GroupTags(name, key: lookupKey).name == tag else { continue }
            byGroup[tag] = .init(app: name, used: .init(items: 0, bytes: 0), limit: limit, isDefault: false)
        }
        // Of groups whose names are in classes that are locked.
        var unnamed = BackupInterface.Storage(items: 0, bytes: 0)
        for use in try store.uses() {
            guard let name = try name(of: use, keys) else {
                unnamed.add(use.used)
                continue
            }
            let none = BackupInterface.Use(
                app: name, used: .init(items: 0, bytes: 0), limit: .ofEveryApp, isDefault: true)
            byGroup[GroupTags(name, key: lookupKey).name, default: none].used.add(use.used)
        }
        var uses = byGroup.values.sorted { ($0.app ?? "") < ($1.app ?? "") }
        if unnamed.items > 0 { uses.append(.init(app: nil, used: unnamed, limit: .ofEveryApp, isDefault: true)) }
        return .init(uses: uses, limit: .ofEveryApp, putAside: try store.quarantined())
    }

    /// As one of its items has it; nil where none can be read now.
    private func name(of use: KeychainStore.ClassUse, _ keys: MetadataKeys) throws -> AccessGroup? {
        let row = try store.anyRow(use.itemClass, groupTag: use.groupTag, keys.open.keys.map(\.rawValue).sorted())
        guard let row, case .open(let attributes, _) = attributes(of: row, keys) else { return nil }
        let group = attributes.accessGroup
        // A tag that was changed names nobody.
        let isRight = GroupTags(group, key: lookupKey).byClass.contains {
            $0.itemClass == row.itemClass && $0.tag == use.groupTag
        }
        return isRight ? group : nil
    }

    func setQuota(_ request: BackupInterface.SetQuota.Parameters, _ owner: IsOwner) throws -> Empty {
        guard (1...BackupInterface.maximumGroupBytes).contains(request.app.utf8.count) else {
            throw VarlinkServiceError.InvalidParameter(parameter: "app")
        }
        if let limit = request.limit {
            guard (0...BackupInterface.Storage.maximum.items).contains(limit.items),
                (0...BackupInterface.Storage.maximum.bytes).contains(limit.bytes)
            else { throw VarlinkServiceError.InvalidParameter(parameter: "limit") }
        }
        let tags = GroupTags(request.app, key: lookupKey)
        try store.write(isDeletion: request.limit == nil) {
            try $0.setLimit(request.limit, of: tags, sealedName: quotaNames.seal(request.app, tags.name))
        }
        return Empty()
    }

    /// What the owner should know at boot: the keychain was altered or could not be read, or rows that do not open were put aside, now or earlier; nil if not.
    package func notice() throws -> String? {
        guard !store.isLookPartial else {
            return "not all items with an access control could be read: 'touchstone keychain check' says more"
        }
        guard store.alteredGroups.isEmpty else {
            return
                "another program has altered the keychain's items with an access control: 'touchstone keychain check' says more"
        }
        let count = try store.quarantined()
        guard count > 0 else { return nil }
        return
            "\(count) damaged \(count == 1 ? "item was" : "items were") put aside; 'touchstone keychain check' looks for more"
    }
}

/// The names of the groups for which the owner has set a limit: under a key that touchstoned has from boot on, and no other device.
struct QuotaNames {
    private let key: SymmetricKey

    init(_ lookupKey: Data) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: lookupKey), info: Data("io.touchstone quota names".utf8),
            outputByteCount: 32)
    }

    func seal(_ name: AccessGroup, _ tag: Data) throws -> Data {
        try AES.GCM.seal(Data(name.utf8), using: key, authenticating: tag).combined ?? Data()
    }

    /// nil where it is not what was sealed for this group on this device.
    func open(_ sealed: Data, _ tag: Data) -> AccessGroup? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let plain = try? AES.GCM.open(box, using: key, authenticating: tag)
        else { return nil }
        return String(bytes: plain, encoding: .utf8).map { AccessGroup($0) }
    }
}

extension BackupInterface.Storage {
    fileprivate mutating func add(_ other: Self) {
        items += other.items
        bytes += other.bytes
    }
}
