import Foundation
import GRDB
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

/// What was in this device's keychain until another device's change took its place: given back to the owner, once the enclave has seen the
/// passcode (SY-20).
extension Synchronizer {
    private static let listed = 1000

    func replacedVersions() throws -> [SyncInterface.ReplacedVersion] {
        try with { circle in
            let time = now().timeIntervalSinceReferenceDate
            var versions: [SyncInterface.ReplacedVersion] = []
            var last: Int64?
            while versions.count < Self.listed {
                let count = min(Limits.batch, Self.listed - versions.count)
                let batch = try store.inspect { [last] in
                    try CircleTables.replaced(
                        before: last, at: time, count: count, longest: Limits.batchBytes, $0)
                }
                guard !batch.isEmpty else { break }
                last = batch.last?.number
                let reply = try enclave.call(EnclaveInterface.OpenRecords.self, .init(records: batch.map(\.bytes)))
                guard reply.records.count == batch.count else { throw Status.internalError }
                // Locked after the passcode was seen: all of it again, after the unlock.
                guard !reply.records.contains(where: { $0.verdict == .locked }) else {
                    throw SyncInterface.Refused(reason: .locked)
                }
                versions += zip(batch, reply.records).compactMap { Self.version($0, $1, circle.chain) }
            }
            return versions
        }
    }

    /// nil for what does not open any more.
    private static func version(
        _ replaced: CircleTables.Replaced, _ opened: EnclaveInterface.OpenedRecord, _ chain: CircleChain
    ) -> SyncInterface.ReplacedVersion? {
        guard let header = try? SealedRecord(replaced.bytes).header, let item = opened.item,
            let binding = ItemCipher.Binding(bytes: item.binding.item),
            let attributes = opened.attributes.flatMap(ItemAttributes.decode)
        else { return nil }
        let written = Date(timeIntervalSince1970: Double(header.clock.milliseconds) / 1000)
        return .init(
            number: replaced.number, replacedAt: replaced.at, writtenAt: written.timeIntervalSinceReferenceDate,
            writer: header.member.description, writerName: chain.members[header.member]?.name,
            itemClass: binding.itemClass.rawValue, accessGroup: item.binding.accessGroup,
            place: attributes.text(.service) ?? attributes.text(.server), account: attributes.text(.account),
            label: attributes.text(.label))
    }

    /// Puts a version into the keychain, and lets all devices know of it as of any change of an app's.
    func restore(_ number: Int64) throws {
        try with { circle in
            let time = now().timeIntervalSinceReferenceDate
            guard let keys = circle.keys else { throw SyncInterface.Refused(reason: .locked) }
            guard
                let replaced = try store.inspect({
                    try CircleTables.replaced(numbered: number, at: time, $0)
                })
            else { throw SyncInterface.Refused(reason: .noVersion) }
            // What an app wrote just now has its record then, which is kept.
            try work(&circle)
            let row: ItemRow
            switch try prepare([(replaced.bytes, replaced.name)], keys).first {
            case .row(let prepared): row = prepared
            case .locked: throw SyncInterface.Refused(reason: .locked)
            case .unusable, nil: throw SyncInterface.Refused(reason: .noVersion)
            }
            try keep { writer in
                let database = writer.database
                let there = try writer.row(identityTag: row.identityTag)
                // An item of this device only has the name, or an app changed the item this moment.
                if let there,
                    try there.accessibility.isThisDeviceOnly
                        || CircleTables.isChanged(there.identifier.bytes, database)
                {
                    throw SyncInterface.Refused(reason: .busy)
                }
                if there != nil, let shown = try CircleTables.shown(replaced.name, database),
                    let bytes = try CircleTables.bytes(of: shown.member, shown.counter, database)
                {
                    try CircleTables.keepReplaced(replaced.name, bytes, at: time, database)
                }
                if let there { try writer.delete(there) }
                try writer.save(row)
            }
            try work(&circle)
        }
    }
}

extension [AttributeKey: AttributeValue] {
    fileprivate func text(_ key: AttributeKey) -> String? {
        guard case .string(let text)? = self[key], !text.isEmpty else { return nil }
        return text
    }
}
