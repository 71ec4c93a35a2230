import Crypto
import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// A backup that the owner agreed to, with the passcode.
///
/// Its key came sealed with the passcode, from the owner's program: who carries the wrapped keys cannot open them.
package struct BackupSession: Sendable {
    let direction: BackupDirection
    let key: SecretBytes
    /// When something was asked of it last.
    var lastUse: Double

    /// Seconds in which nothing is asked of it and after which it is over: whoever walked away from it has.
    static let longestIdle: Double = 600

    /// Bytes of its key.
    package static let keyBytes = 32
    package static let label = "io.touchstone backup session"

    /// Names the session; whoever knows the key knows it, and nobody else.
    var identifier: String {
        let label = Data(Self.label.utf8)
        return HMAC<SHA256>.authenticationCode(for: label, using: key.symmetricKey)
            .map { String(format: "%02x", $0) }.joined()
    }
}

extension Enclave {
    /// Takes the owner's passcode for a backup, and the backup's key with it (KC-26).
    package mutating func authorizeBackup(
        _ direction: BackupDirection, _ sealed: SealedPasscode, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        let opened = try openSetting(sealed, for: .backup(direction), connection: connection)
        let secrets = try Self.passcodes(in: opened, count: 2)
        guard secrets[1].count == BackupSession.keyBytes else { throw .init(.unreadablePasscode) }
        guard isPasscodeSet else { throw .init(.passcodeNotSet) }
        guard !isLocked else { throw .init(.locked) }
        let session = BackupSession(direction: direction, key: secrets[1], lastUse: now)
        return PasscodeJob(purpose: .backup(session), current: try begin(secrets[0], now: now))
    }

    /// Ends the job that begins a backup.
    mutating func finishBackup(_ session: BackupSession, ticket: String, key: SecretBytes, now: Double)
        -> [EnclaveEvent]
    {
        guard finish(guess: key, now: now, asked: session.direction.rawValue) != nil else {
            return [rejected(ticket, now: now)]
        }
        // Locked while the passcode was derived.
        guard !isLocked else { return [.answered(ticket: ticket, .refused(.locked))] }
        backup = session
        backup?.lastUse = now
        note(LogFact(event: .backupAuthorized, asked: session.direction.rawValue, factors: [.passcode]))
        return [.answered(ticket: ticket, .done)]
    }

    package mutating func endBackup(_ identifier: String) {
        if backup?.identifier == identifier { backup = nil }
    }

    /// Wraps items' keys for the backup: KC-25, KC-26.
    package mutating func exportKeys(_ keys: [BackupKey], session identifier: String, now: Double)
        throws(NoSuchBackup) -> [RewrappedKey]
    {
        let session = try useBackup(identifier, .export, now: now)
        return exportKeys(keys, session)
    }

    private func exportKeys(_ keys: [BackupKey], _ session: BackupSession)
        -> [RewrappedKey]
    {
        keys.map { item in
            // What the blob says counts, not what the caller says of it: it is authenticated, and decides how far the key may go.
            guard let protection = Accessibility(wrappedKey: item.wrappedKey),
                protection == item.accessControl.protection
            else { return .gone }
            guard protection != .whenPasscodeSetThisDeviceOnly else { return .excluded }
            let opened = unwrap(.init(wrappedKey: item.wrappedKey, binding: item.binding), app: "", context: nil)
            switch (opened.state, opened.key) {
            case (.open, let key?):
                guard !item.accessControl.isConstrained else { return .gone }
                let sealed = try? random.seal(
                    SecretBytes(key), under: backupKey(for: protection, session), context: Self.context(item))
                return sealed.map { .wrapped($0) } ?? .gone
            case (.authenticationNeeded, _), (.altered, _): return .excluded
            case (.locked, _): return .locked
            default: return .gone
            }
        }
    }

    /// Wraps keys out of a backup for this device, each as it was.
    package mutating func importKeys(_ keys: [BackupKey], session identifier: String, now: Double)
        throws(NoSuchBackup) -> [RewrappedKey]
    {
        let session = try useBackup(identifier, .import, now: now)
        return importKeys(keys, session, now: now)
    }

    private func importKeys(_ items: [BackupKey], _ session: BackupSession, now: Double)
        -> [RewrappedKey]
    {
        items.map { item in
            let control = item.accessControl
            guard !control.isConstrained, control.protection != .whenPasscodeSetThisDeviceOnly else {
                return .excluded
            }
            guard keys[control.protection] != nil else { return .locked }
            guard
                let key = backupKey(for: control.protection, session).open(
                    item.wrappedKey, context: Self.context(item)),
                let wrapped = try? wrap(
                    .init(
                        accessControl: control, binding: item.binding, key: key.unprotectedCopy, app: "", context: nil),
                    now: now)
            else { return .gone }
            return .wrapped(wrapped)
        }
    }

    private mutating func useBackup(_ identifier: String, _ direction: BackupDirection, now: Double)
        throws(NoSuchBackup) -> BackupSession
    {
        if let lastUse = backup?.lastUse, now - lastUse > BackupSession.longestIdle { backup = nil }
        guard let backup, backup.direction == direction, backup.identifier == identifier, !isLocked else {
            throw .init()
        }
        self.backup?.lastUse = now
        return backup
    }

    /// The backup's own for what may move house, one of the root of trust for what may not.
    private func backupKey(for protection: Accessibility, _ session: BackupSession) -> SecretBytes {
        protection.isThisDeviceOnly ? deviceKey.derive("backup") : session.key
    }

    private static func context(_ item: BackupKey) -> Data {
        let group = Data(item.binding.accessGroup.utf8)
        let control = item.accessControl
        return Data(
            "io.touchstone backup key 1 \(control.protection.rawValue) \(control.flags.rawValue) \(group.count) ".utf8)
            + group + item.binding.item
    }
}
