import Crypto
package import Foundation
import Synchronization
package import TouchstoneEnclave
package import TouchstoneMemory

/// The root of trust of a machine with a TPM 2.0: 32 random bytes, sealed in it; a gate for passcodes; and a counter.
///
/// Its primary key is made anew from the TPM's own seed for each connection, and its Name is kept beside the state: a cleared TPM,
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

    /// Makes the root of a new device; takes the TPM that answers for the one it says it is.
    ///
    /// What is kept is written before the TPM's counter is made: whatever is cut off there can be forgotten by it.
    ///
    /// - Throws: `TPMError`, and what the storage throws.
    package static func create(_ storage: any EnclaveStorage, address: String, recoveryKey: RecoveryKey) throws
        -> TPMRoot
    {
        guard try storage.load() == nil else {
            throw TPMError(code: .badFile(reason: "exists already"), address: address)
        }
        return try make(.random(count: length), storage, address: address, recoveryKey: recoveryKey)
    }

    /// Moves a device to the TPM at `address`, which may be the old one, cleared.
    ///
    /// The storage is as it was until `prepared` returns, which gets the new root and its counter's value.
    package static func recover(
        _ storage: any EnclaveStorage, address: String?, recoveryKey: RecoveryKey,
        prepared: (TPMRoot, () throws -> UInt64) throws -> Void
    ) throws {
        let old = try TPMRootFile(storage)
        let address = address ?? old.address
        guard let secret = try? Sealed.open(old.recovery, with: recoveryKey.privateKey, Self.recoveryPurpose) else {
            throw TPMError(code: .badFile(reason: "is of another recovery key"), address: address)
        }
        let later = LaterStorage()
        let root = try make(secret, later, address: address, recoveryKey: recoveryKey)
        do {
            try prepared(root) { try root.value() }
            try storage.replace(later.load() ?? Data())
        } catch {
            try? root.forget()
            throw error
        }
        _ = try? TPMRootFile.forget(old)
    }

    private static func make(
        _ secret: SecretBytes, _ storage: any EnclaveStorage, address: String, recoveryKey: RecoveryKey
    ) throws -> TPMRoot {
        let connection = try TPMConnection(TPMAddress(address), pinned: nil)
        var file = TPMRootFile(
            address: address, name: connection.name, endorsementName: connection.endorsementName(),
            root: try connection.seal(secret, under: nil, countsWrongValues: false), counter: TPMRootFile.someIndex(),
            recovery: try Sealed.seal(secret, to: recoveryKey.privateKey.publicKey, recoveryPurpose))
        for _ in 0..<indexTries {
            try storage.replace(file.encoded())
            if try connection.defineCounter(file.counter, value: counterValue(secret)) {
                return try TPMRoot(secret: secret, file: file, connection: connection)
            }
            file.counter = TPMRootFile.someIndex()
        }
        throw TPMError(code: .busy, address: address)
    }

    package func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("io.touchstone root \(label.utf8.count) \(label)".utf8))
        code.update(data: input)
        return unsafe code.finalize().withUnsafeBytes { unsafe SecretBytes($0) }
    }

    package var passcodeGuard: (any PasscodeGuard)? { self }

    /// Takes away what this device has in the TPM: its counter.
    package func forget() throws { try use { _ = try $0.undefineCounter(self.file.counter) } }

    /// As `forget`, for what a creation that was cut off left, and for a device that does not open.
    package static func forget(_ storage: any EnclaveStorage) throws {
        guard try storage.load() != nil else { return }
        try TPMRootFile.forget(TPMRootFile(storage))
    }

    /// How the TPM's own counter of wrong values stands.
    func attempts() throws -> TPMConnection.Attempts { try use { try $0.attempts() } }

    /// Gives the TPM to `body`; connects again where the connection that is there does not hold any more.
    ///
    /// What `body` does may be done twice, where `again` allows it.
    private func use<Result: Sendable>(
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

/// PC-34: an older state is told from the newest for as long as the TPM lives, whoever may write to which file.
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

/// A passcode's secret in an object of the TPM's, which opens with a value that is derived from the passcode (PC-04).
///
/// Wrong values count in the TPM's dictionary-attack counter, which all programs share: its last try is never ours.
extension TPMRoot: PasscodeGuard {
    package func close(_ secret: SecretBytes, with value: SecretBytes) throws(PasscodeGuardError) -> Data {
        do {
            return try use { connection in
                try JSONEncoder().encode(connection.seal(secret, under: value, countsWrongValues: true))
            }
        } catch {
            throw PasscodeGuardError("\(error)", wasAsked: false)
        }
    }

    package func open(_ closed: Data, with value: SecretBytes) throws(PasscodeGuardError) -> SecretBytes? {
        var wasAsked = false
        do {
            let object = try JSONDecoder().decode(SealedObject.self, from: closed)
            // A guess is asked for once: each time may count in the TPM.
            return try use(again: { !wasAsked }) { connection in
                let attempts = try connection.attempts()
                guard
                    attempts.wrong == 0
                        || attempts.maximum > attempts.wrong && attempts.maximum - attempts.wrong > 1
                else {
                    throw TPMError(code: .lockedOut(seconds: attempts.seconds), address: self.file.address)
                }
                return try connection.unseal(object, with: value) { wasAsked = true }
            }
        } catch let error as TPMError {
            guard case .lockedOut = error.code else { throw PasscodeGuardError("\(error)", wasAsked: wasAsked) }
            throw PasscodeGuardError("\(error)", wasAsked: wasAsked, isLockedOut: true)
        } catch {
            throw PasscodeGuardError("the state holds no object of a TPM", wasAsked: wasAsked)
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

/// Keeps what is to be kept until it is sure.
private final class LaterStorage: EnclaveStorage {
    private let bytes = Mutex<Data?>(nil)
    func load() throws -> Data? { bytes.withLock { $0 } }
    func replace(_ new: Data) throws { bytes.withLock { $0 = new } }
}
