import Foundation
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveInterface
import TouchstoneLog
import TouchstoneTransport

extension EnclaveHost {
    /// Takes an application password; it is stretched on a queue that no passcode waits for, one app's after the other's.
    ///
    /// - Returns: The ticket; nil where it was done at once.
    func setCredential(_ sealed: SealedPasscode?, context: String, app: AppIdentifier) throws -> String? {
        let job = try change { enclave, now in
            (try enclave.setCredential(sealed, context: context, app: app, now: now), [])
        }
        guard let job else { return nil }
        credentialTurns.take(for: .init(app: job.app)) { [self] turn in
            credentials.async { [self] in
                let key = try? job.run()
                // Nothing of it is kept on the disk, so that nothing can fail to be.
                try? change { enclave, _ in ((), enclave.finishCredential(job, key: key)) }
                turn.end()
            }
        }
        return job.ticket
    }

    /// Wraps an item's key, or logs why not; with `spares`, keys for what is still to be written with the same access control.
    func wrap(
        _ request: Enclave.ItemKey, spares: [Enclave.ItemKey] = []
    ) throws -> (wrappedKey: Data, generation: UInt32, spares: [Data]) {
        do {
            // What an item is bound to is as of its writing: only what is bound to nothing is wrapped before.
            guard spares.isEmpty || request.accessControl.flags.isEmpty, spares.count <= Self.maximumSpares else {
                throw Enclave.NotWrapped(.param)
            }
            let wrapped = try read { enclave, now in
                (
                    wrappedKey: try enclave.wrap(request, now: now), generation: enclave.generation,
                    spares: try spares.map { try enclave.wrap($0, now: now) }
                )
            }
            if request.accessControl.isConstrained { changeInMemory { $0.itemWrapped(request.binding) } }
            return wrapped
        } catch let error as Enclave.NotWrapped {
            noteRefusal(of: request.app, in: request.context, error.cause, request.accessControl)
            throw error
        }
    }

    /// Keys beside an item's own that are wrapped at once: all apps' calls wait meanwhile.
    private static var maximumSpares: Int { EnclaveInterface.spareKeysPerMessage }

    /// Opens items' keys; drops an application password that was wrong for one of them (AC-46).
    func unwrap(_ items: [Enclave.WrappedItem], app: AppIdentifier, context: String?) throws -> [Enclave.Opened] {
        let opened = read { enclave, _ in items.map { enclave.unwrap($0, app: app, context: context) } }
        if let context {
            try passwordTried(
                context, app: app, isRight: opened.contains { $0.isPasswordRight },
                isWrong: opened.contains { $0.isPasswordWrong })
        }
        note(opened.compactMap(\.use))
        return opened
    }

    /// Drops an application password that was wrong for something, and counts it where it was right for nothing.
    func passwordTried(_ context: String, app: AppIdentifier, isRight: Bool, isWrong: Bool) throws {
        guard isWrong || (isRight && read { enclave, _ in enclave.hasGuessedPasswords(app: app) }) else { return }
        try change { enclave, now in
            if isWrong { enclave.forgetCredential(of: context) }
            if isRight { enclave.passwordWorked(app: app) } else { enclave.passwordFailed(app: app, now: now) }
            return ((), [])
        }
    }

    // MARK: recorded items

    func compareItems(
        _ items: Data, isFirst: Bool, isLast: Bool, takes: Bool = false, isPartial: Bool = false
    ) throws -> Enclave.ItemsLook {
        // What a look settles is written with the next change: until then the file's state allows for both.
        guard takes else {
            return try changeInMemory {
                try $0.compareItems(items, isFirst: isFirst, isLast: isLast, isPartial: isPartial)
            }
        }
        return try change { enclave, _ in
            (
                try enclave.compareItems(
                    items, isFirst: isFirst, isLast: isLast, takes: true, isPartial: isPartial), []
            )
        }
    }

    /// On the disk when it returns.
    ///
    /// - Returns: Whether it is recorded.
    func recordItems(_ change: Enclave.ItemsChange) throws -> Bool {
        // An app writes items as fast as it likes, and a TPM counts slowly. So these writes count once in a while.
        try self.change(
            usesReserve: change.isDeletion, leaving: RecordedItems.sparesForPasscodes,
            counted: { $0.isItemsRevisionDue(now: $1) }
        ) { enclave, now in
            let isRecorded = try enclave.recordItems(change)
            if change.isLast { enclave.itemsRecorded(now: now) }
            return (isRecorded, [])
        }
    }

    func settleItems() { changeInMemory { $0.settleItems() } }
}
