import Crypto
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneTesting

/// What `touchstone keychain export` and `import` do, without the file.
struct OwnersBackup {
    /// 32 characters: the key goes where a passcode does.
    var key = "the key of a backup, of 32 bytes"
    var passcode = "1234"

    var session: String {
        HMAC<SHA256>.authenticationCode(
            for: Data(BackupInterface.sessionLabel.utf8), using: SymmetricKey(data: Data(key.utf8))
        ).map { String(format: "%02x", $0) }.joined()
    }

    func authorize(_ direction: BackupDirection, on device: BootedDevice) throws {
        let nonce = try device.owner.call(DeviceInterface.GetNonce.self, Empty()).nonce
        let sealed = try device.seal([passcode, key], for: .backup(direction), nonce: nonce)
        _ = try device.owner.call(DeviceInterface.AuthorizeBackup.self, .init(direction: direction, passcode: sealed))
    }

    /// All pages.
    func export(from device: BootedDevice) throws -> (records: Data, counts: BackupInterface.ExportCounts) {
        try authorize(.export, on: device)
        var records = Data()
        var counts = BackupInterface.ExportCounts()
        var after: Int64?
        repeat {
            let page = try device.owner.call(BackupInterface.Export.self, .init(session: session, after: after))
            records += page.records
            counts.exported += page.counts.exported
            counts.thisDeviceOnly += page.counts.thisDeviceOnly
            counts.excluded += page.counts.excluded
            counts.damaged += page.counts.damaged
            after = page.next
        } while after != nil
        _ = try device.owner.call(BackupInterface.End.self, .init(session: session))
        return (records, counts)
    }

    /// Whether `isKilled`, the session is not ended.
    func `import`(
        _ records: Data, into device: BootedDevice, replaces: Bool = false, pieces: Int = .max, isKilled: Bool = false
    ) throws -> BackupInterface.ImportCounts {
        try authorize(.import, on: device)
        var counts = BackupInterface.ImportCounts()
        var rest = records[...]
        repeat {
            let reply = try device.owner.call(
                BackupInterface.Import.self,
                .init(
                    session: session, offset: records.count - rest.count, records: Data(rest.prefix(pieces)),
                    replaces: replaces))
            rest = rest.dropFirst(pieces)
            counts.added += reply.counts.added
            counts.replaced += reply.counts.replaced
            counts.kept += reply.counts.kept
            counts.foreign += reply.counts.foreign
            counts.damaged += reply.counts.damaged
        } while !rest.isEmpty
        if !isKilled { _ = try device.owner.call(BackupInterface.End.self, .init(session: session)) }
        return counts
    }
}

extension SimulatedDevice {
    func backup(_ backup: OwnersBackup = OwnersBackup()) throws
        -> (records: Data, counts: BackupInterface.ExportCounts)
    {
        try backup.export(from: booted.withLock { $0 })
    }

    func restore(
        _ records: Data, _ backup: OwnersBackup = OwnersBackup(), replaces: Bool = false, pieces: Int = .max,
        isKilled: Bool = false
    ) throws -> BackupInterface.ImportCounts {
        try backup.import(records, into: booted.withLock { $0 }, replaces: replaces, pieces: pieces, isKilled: isKilled)
    }
}

/// The error that `body` is answered with.
func refusal<E: VarlinkError, R>(_ type: E.Type, _ body: () throws -> R) -> E? {
    do {
        _ = try body()
        return nil
    } catch let error as RemoteError {
        return error.as(E.self)
    } catch {
        return nil
    }
}
