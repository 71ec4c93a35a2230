import Crypto
package import Foundation
import Synchronization
package import TouchstoneEnclave
package import TouchstoneMemory

/// The root of trust of a machine with a TPM 2.0: 32 random bytes, sealed in it; a gate for passcodes; and a counter.
///
/// Its primary key is made again from the TPM's own seed for each connection, and its Name is kept beside the state: a cleared TPM,
/// another one and a go-between are told by it. There is no policy on PCRs: what boots this machine may change without notice.
///
/// > Concurrency: one command at a time; each ends within seconds.
package final class TPMRoot: RootOfTrust {
    package let kind: String
    private let secret: SecretBytes
    private let file: TPMRootFile
    private let connection: Mutex<TPMConnection?>

    /// Opens the root of an existing device.
    ///
    /// - Throws: `TPMError`, and what the storage throws.
    package convenience init(_ storage: any EnclaveStorage) throws {
        let file = try TPMRootFile(storage)
        let connection = try file.connect()
        let secret = try connection.unseal(file.root, with: nil)
        guard let secret, secret.count == Self.length else {
            throw TPMError(code: .badFile(reason: "holds no key of \(Self.length) bytes"), address: file.address)
        }
        try self.init(secret: secret, file: file, connection: connection)
    }

    private init(secret: SecretBytes, file: TPMRootFile, connection: TPMConnection) throws {
        // Whoever answers at a socket may say anything of itself.
        kind = try connection.address.isSocket || connection.isEmulated() ? "swtpm" : "tpm2"
        self.secret = secret
        self.file = file
        self.connection = Mutex(connection)
    }

    /// Makes the root of a new device, and believes the TPM that answers.
    ///
    /// The file is written before the TPM's counter is made, so that an interrupted creation can be cleaned up with it.
    ///
    /// - Throws: `TPMError`, and what the storage throws.
    package static func create(_ storage: any EnclaveStorage, address: String, recoveryKey: RecoveryKey) throws
        -> TPMRoot
    {
        guard try storage.load() == nil else {
            throw TPMError(code: .badFile(reason: "already exists"), address: address)
        }
        let root = try make(.random(count: length), storage, address: address, recoveryKey: recoveryKey)
        try root.beginCounting()
        return root
    }

    /// Moves a device to the TPM at `address`, which may be the old one, cleared.
    ///
    /// The storage is as it was until `prepared` returns, which gets the new root and its counter's value. That counter is made when it
    /// is asked for, so a recovery that is given up earlier leaves nothing in the TPM. `recovering` keeps what is in the TPM before the device is
    /// there; what a recovery that was cut off kept in it is taken out first, and it is empty again at the end.
    package static func recover(
        _ storage: any EnclaveStorage, recovering: any EnclaveStorage, address: String?, recoveryKey: RecoveryKey,
        prepared: (TPMRoot, () throws -> UInt64) throws -> Void
    ) throws {
        let old = try TPMRootFile(storage)
        let address = address ?? old.address
        guard let secret = try? Sealed.open(old.recovery, with: recoveryKey.privateKey, Self.recoveryPurpose) else {
            throw TPMError(code: .badFile(reason: "belongs to another recovery key"), address: address)
        }
        try endRecovery(recovering, of: old)
        do {
            try storage.replace(
                prepare(secret, recovering, address: address, recoveryKey: recoveryKey, prepared).encoded())
        } catch {
            try? endRecovery(recovering, of: old)
            throw error
        }
        try recovering.replace(Data())
        let new = try TPMRootFile(storage)
        // In the same TPM the next boot knows which passcode's gate is the old one.
        _ = try? old.forget(isAll: old.name != new.name)
    }

    /// The new root is let go at the end, as another connection may follow.
    private static func prepare(
        _ secret: SecretBytes, _ recovering: any EnclaveStorage, address: String, recoveryKey: RecoveryKey,
        _ prepared: (TPMRoot, () throws -> UInt64) throws -> Void
    ) throws -> TPMRootFile {
        let root = try make(secret, recovering, address: address, recoveryKey: recoveryKey)
        try prepared(root) {
            try root.beginCounting()
            return try root.value()
        }
        return root.file
    }

    /// Takes out of a TPM what a recovery that was cut off left there.
    private static func endRecovery(_ recovering: any EnclaveStorage, of old: TPMRootFile) throws {
        guard let kept = try recovering.load(), !kept.isEmpty else { return }
        if let file = try? TPMRootFile(recovering) { try file.forget(isAll: file.name != old.name) }
        try recovering.replace(Data())
    }

    /// A root without its counter, of which nothing is in the TPM yet; the storage has where that will be.
    private static func make(
        _ secret: SecretBytes, _ storage: any EnclaveStorage, address: String, recoveryKey: RecoveryKey
    ) throws -> TPMRoot {
        let connection = try TPMConnection(TPMAddress(address), pinned: nil)
        let file = TPMRootFile(
            address: address, name: connection.name, endorsementName: connection.endorsementName(),
            root: try connection.seal(secret, under: nil, countsWrongValues: false),
            counter: try freeIndex(connection),
            recovery: try Sealed.seal(secret, to: recoveryKey.privateKey.publicKey, recoveryPurpose))
        try storage.replace(file.encoded())
        return try TPMRoot(secret: secret, file: file, connection: connection)
    }

    private func beginCounting() throws {
        // Once: of a second time nobody could tell whether the first made what is there.
        let isDefined = try use(again: { false }) { connection in
            try connection.defineCounter(
                self.file.counter, value: Self.counterValue(self.secret), mark: self.mark(self.file.counter))
        }
        guard isDefined else { throw TPMError(code: .busy, address: file.address) }
    }

    private static func freeIndex(_ connection: TPMConnection) throws -> UInt32 {
        for _ in 0..<indexTries {
            let index = TPMRootFile.someIndex()
            guard let handle = try connection.find(index) else { return index }
            connection.forget(handle)
        }
        throw TPMError(code: .busy, address: connection.address.text)
    }

    private func mark(_ index: UInt32) -> Data { TPMRootFile.mark(secret, index) }

    package func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("io.touchstone root \(label.utf8.count) \(label)".utf8))
        code.update(data: input)
        return unsafe code.finalize().withUnsafeBytes { unsafe SecretBytes($0) }
    }

    package var passcodeGuard: (any PasscodeGuard)? { self }

    /// Takes away what this device has in the TPM: its counter, and its passcode's gate.
    package func forget() throws {
        try use { connection in
            try connection.undefine(self.file.counter)
            try connection.tidy(TPMRootFile.indices, keeping: [], mark: self.mark)
        }
    }

    /// As `forget`, for what a creation that was cut off left, and for a device that does not open.
    package static func forget(_ storage: any EnclaveStorage) throws {
        guard let kept = try storage.load(), !kept.isEmpty else { return }
        try TPMRootFile(storage).forget()
    }

    /// How the TPM's own counter of wrong values stands.
    func attempts() throws -> TPMConnection.Attempts { try use { try $0.attempts() } }

    /// Gives the TPM to `body`; connects again if the connection is broken.
    ///
    /// What `body` does may be done twice, where `again` allows it.
    func use<Result: Sendable>(
        again: () -> Bool = { true }, _ body: (TPMConnection) throws -> Result
    ) throws -> Result {
        try connection.withLock { held in
            if let old = held, !old.isBroken {
                do {
                    return try body(old)
                } catch let error as TPMError where error.isOfConnection {
                    // The TPM or its machine restarted, or slept: nothing of the session is left.
                    held = nil
                    guard again() else { throw error }
                }
            }
            held = nil
            let fresh = try file.connect()
            held = fresh
            return try body(fresh)
        }
    }

    private static func counterValue(_ secret: SecretBytes) -> SecretBytes { secret.derive("tpm counter") }

    private static let length = 32
    private static let indexTries = 16
    private static let recoveryPurpose = "io.touchstone root recovery"
}

/// PC-34: an older state can be told from the newest for as long as the TPM lives, even by somebody who can write to the files.
extension TPMRoot: RevisionCounter {
    package func read() throws -> UInt64? { try value() }

    private func value() throws -> UInt64 {
        try use {
            try $0.withCounter(self.file.counter, value: Self.counterValue(self.secret)) { read, _ in try read() }
        }
    }

    /// Counts up to `revision`, which is one more than before but where the TPM was away meanwhile.
    package func advance(to revision: UInt64) throws {
        try use { connection in
            try connection.withCounter(self.file.counter, value: Self.counterValue(self.secret)) { read, increment in
                var value = try read()
                while value < revision {
                    try increment()
                    value += 1
                }
            }
        }
    }
}

/// A passcode's secret in an NV index of its own, which opens with a value that is derived from the passcode (PC-04).
///
/// Wrong values count in the TPM's dictionary-attack counter, which all programs share: its last try is never ours. The index goes with
/// the passcode, so that no copy of the state brings it back (DEC-060).
extension TPMRoot: PasscodeGuard {
    /// Where the secret is.
    ///
    /// Before there were these it was an object, of which each copy of the state has one.
    private struct Gate: Codable {
        var index: UInt32
    }

    package func close(_ secret: SecretBytes, with value: SecretBytes) throws(PasscodeGuardError) -> Data {
        do {
            return try use { connection in
                let index = try Self.freeIndex(connection)
                guard try connection.defineGate(index, secret, value: value, mark: self.mark(index)) else {
                    throw TPMError(code: .busy, address: self.file.address)
                }
                return try JSONEncoder().encode(Gate(index: index))
            }
        } catch {
            throw PasscodeGuardError("\(error)", wasAsked: false)
        }
    }

    package func open(_ closed: Data, with value: SecretBytes) throws(PasscodeGuardError) -> SecretBytes? {
        var wasAsked = false
        do {
            let gate = try? JSONDecoder().decode(Gate.self, from: closed)
            let object = gate == nil ? try JSONDecoder().decode(SealedObject.self, from: closed) : nil
            // A guess is asked for once: each time may count in the TPM.
            return try use(again: { !wasAsked }) { connection in
                let attempts = try connection.attempts()
                guard
                    attempts.wrong == 0
                        || attempts.maximum > attempts.wrong && attempts.maximum - attempts.wrong > 1
                else {
                    throw TPMError(code: .lockedOut(seconds: attempts.seconds), address: self.file.address)
                }
                guard let object else {
                    return try gate.flatMap { try connection.openGate($0.index, value: value) { wasAsked = true } }
                }
                return try connection.unseal(object, with: value) { wasAsked = true }
            }
        } catch let error as TPMError {
            guard case .lockedOut = error.code else { throw PasscodeGuardError("\(error)", wasAsked: wasAsked) }
            throw PasscodeGuardError("\(error)", wasAsked: wasAsked, isLockedOut: true)
        } catch {
            throw PasscodeGuardError("the state holds nothing of a TPM", wasAsked: wasAsked)
        }
    }

    package func keep(_ closed: Data?) throws(PasscodeGuardError) {
        let gate = closed.flatMap { try? JSONDecoder().decode(Gate.self, from: $0) }
        do {
            try use { connection in
                try connection.tidy(
                    TPMRootFile.indices, keeping: Set([self.file.counter, gate?.index].compactMap { $0 }),
                    mark: self.mark)
            }
        } catch {
            throw PasscodeGuardError("\(error)", wasAsked: false)
        }
    }
}

extension TPMError {
    /// Whether another connection may do better.
    fileprivate var isOfConnection: Bool {
        switch code {
        case .lost, .tampered, .refused: true
        default: false
        }
    }
}
