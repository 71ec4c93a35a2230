import Foundation
import Testing
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave

/// KC-25, KC-26 where they are decided: whoever carries the keys of a backup may say what they like.
@Suite(.timeLimit(.minutes(10))) final class BackupKeyTests {
    private var enclave: Enclave
    private let backupKey = "the key of a backup, of 32 bytes"
    private let binding = Enclave.ItemBinding(accessGroup: "group", item: Data("item".utf8))
    private let itemKey = Data(repeating: 9, count: 32)

    init() throws { enclave = try .device() }

    private func control(_ protection: Accessibility, _ flags: AccessControl.Flags = []) throws -> AccessControl {
        try AccessControl(protection: protection, flags: flags)
    }

    private func wrapped(_ control: AccessControl) throws -> Data {
        try enclave.wrap(.init(accessControl: control, binding: binding, key: itemKey, app: "", context: nil), now: 0)
    }

    /// - Returns: The session, or nil for a wrong passcode.
    private func authorize(_ direction: BackupDirection, passcode: String = "1234") throws -> String? {
        let sealed = try seal(
            passcode, backupKey, to: enclave.passcodePublicKey(), nonce: enclave.freshNonce(), for: .backup(direction))
        let job = try enclave.authorizeBackup(direction, sealed, now: 0)
        guard case .backup(let session) = job.purpose else { return nil }
        let events = try enclave.finishBackup(session, ticket: "t", key: #require(job.current).run(), now: 0)
        return events.last?.outcome == .succeeded ? session.identifier : nil
    }

    private func begin(_ direction: BackupDirection) throws -> String { try #require(try authorize(direction)) }

    private func export(
        _ wrappedKey: Data, as control: AccessControl, binding other: Enclave.ItemBinding? = nil,
        session: String
    ) throws -> Enclave.RewrappedKey {
        let key = Enclave.BackupKey(
            wrappedKey: wrappedKey, binding: other ?? binding, accessControl: control)
        return try #require(try enclave.exportKeys([key], session: session, now: 0).first)
    }

    private func `import`(
        _ wrappedKey: Data, as control: AccessControl, binding other: Enclave.ItemBinding? = nil,
        session: String
    ) throws -> Enclave.RewrappedKey {
        let key = Enclave.BackupKey(
            wrappedKey: wrappedKey, binding: other ?? binding, accessControl: control)
        return try #require(try enclave.importKeys([key], session: session, now: 0).first)
    }

    private func opened(_ wrappedKey: Data) -> Data? {
        enclave.unwrap(.init(wrappedKey: wrappedKey, binding: binding), app: "group", context: nil).key
    }

    @Test("KC-26: a key goes out under the backup's key and comes back under the class's") func roundTrip() throws {
        for protection in Accessibility.allCases where protection != .whenPasscodeSetThisDeviceOnly {
            let control = try control(protection)
            let out = try begin(.export)
            let exported = try export(wrapped(control), as: control, session: out)
            #expect(exported.wrappedKey != nil)
            let blob = try #require(exported.wrappedKey)
            #expect(opened(blob) == nil)
            // Whoever knows the backup's key has what may move, and no more.
            let context = Data("io.touchstone backup key 1 \(protection.rawValue) 0 5 groupitem".utf8)
            let plain = SecretBytes(backupKey.utf8).open(blob, context: context)
            #expect((plain == nil) == protection.isThisDeviceOnly, "\(protection)")
            let back = try begin(.import)
            let imported = try `import`(blob, as: control, session: back)
            #expect(opened(try #require(imported.wrappedKey)) == itemKey)
        }
    }

    @Test("KC-25: a key of this device only does not go out by calling it another's") func lies() throws {
        let session = try begin(.export)
        for (real, said) in [
            (Accessibility.whenUnlockedThisDeviceOnly, Accessibility.whenUnlocked),
            (.alwaysThisDeviceOnly, .always), (.whenPasscodeSetThisDeviceOnly, .whenUnlocked),
        ] {
            let blob = try wrapped(control(real))
            #expect(try export(blob, as: control(said), session: session) == .gone)
            // Nor by changing what it says of itself.
            var changed = blob
            changed[1] = try wrapped(control(said))[1]
            #expect(try export(changed, as: control(said), session: session) == .gone)
        }
    }

    @Test("KC-26: what wants the owner, or a passcode to be set, goes nowhere, proven or not") func excluded() throws {
        let session = try begin(.export)
        let passcodeSet = try control(.whenPasscodeSetThisDeviceOnly)
        #expect(try export(wrapped(passcodeSet), as: passcodeSet, session: session) == .excluded)
        for flags in [AccessControl.Flags.userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode] {
            let protected = try control(.whenUnlocked, flags)
            let blob = try wrapped(protected)
            _ = try enclave.proven(.biometrics, app: "group")
            for said in [protected, try control(.whenUnlocked)] {
                #expect(try export(blob, as: said, session: session) == .excluded)
            }
        }
        let free = try export(wrapped(control(.always)), as: control(.always), session: session)
        let blob = try #require(free.wrappedKey)
        let again = try begin(.import)
        for said in [try control(.whenPasscodeSetThisDeviceOnly), try control(.always, .userPresence)] {
            #expect(try `import`(blob, as: said, session: again) == .excluded)
        }
    }

    @Test("A key comes back for its own item, group, class and flags only") func bound() throws {
        let always = try control(.always)
        let exported = try export(wrapped(always), as: always, session: begin(.export))
        let blob = try #require(exported.wrappedKey)
        let session = try begin(.import)
        let others = [
            Enclave.ItemBinding(accessGroup: "other", item: binding.item),
            Enclave.ItemBinding(accessGroup: "group", item: Data("other".utf8)),
            Enclave.ItemBinding(accessGroup: "groupi", item: Data("tem".utf8)),
        ]
        for other in others {
            #expect(try `import`(blob, as: always, binding: other, session: session) == .gone)
        }
        #expect(try `import`(blob, as: control(.whenUnlocked), session: session) == .gone)
        #expect(try `import`(blob, as: control(.alwaysThisDeviceOnly), session: session) == .gone)
        #expect(try `import`(blob, as: control(.always, .or), session: session) == .gone)
        #expect(try `import`(Data(), as: always, session: session) == .gone)
        #expect(try `import`(blob, as: always, session: session).wrappedKey != nil)
    }

    @Test("KC-25: what is bound to this root of trust opens after its state was lost, and on no other root")
    func sameRoot() throws {
        let here = try control(.alwaysThisDeviceOnly)
        let exported = try export(wrapped(here), as: here, session: begin(.export))
        let blob = try #require(exported.wrappedKey)
        enclave = try .device()
        var session = try begin(.import)
        let imported = try `import`(blob, as: here, session: session)
        #expect(opened(try #require(imported.wrappedKey)) == itemKey)
        enclave = try .device(root: TestRoot(2))
        session = try begin(.import)
        #expect(try `import`(blob, as: here, session: session) == .gone)
    }

    @Test("A session of which nothing is asked for ten minutes is over; one that is used is not") func idleSession()
        throws
    {
        let session = try begin(.export)
        for minute in [9, 18, 28] {
            #expect(try enclave.exportKeys([], session: session, now: Double(minute) * 60).isEmpty)
        }
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.exportKeys([], session: session, now: 38 * 60 + 1)
        }
        #expect(enclave.backup == nil)
        let back = try begin(.import)
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.importKeys([], session: back, now: 601)
        }
    }

    @Test("A session wants the right passcode, counts a wrong one, and ends with the lock") func session() throws {
        #expect(try authorize(.export, passcode: "9999") == nil)
        #expect(enclave.state.passcodeFailures == 1 && enclave.backup == nil)
        let session = try begin(.export)
        #expect(enclave.state.passcodeFailures == 0)
        #expect(try enclave.exportKeys([], session: session, now: 0).isEmpty)
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.exportKeys([], session: "", now: 0)
        }
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.importKeys([], session: session, now: 0)
        }
        _ = enclave.lock(now: 0)
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.exportKeys([], session: session, now: 0)
        }
        try enclave.unlock("1234")
        #expect(throws: Enclave.NoSuchBackup.self) {
            try enclave.exportKeys([], session: session, now: 0)
        }
        _ = enclave.lock(now: 0)
        let refused = #expect(throws: Enclave.Refused.self) { try self.authorize(.export) }
        #expect(refused?.reason == .locked)
    }
}
