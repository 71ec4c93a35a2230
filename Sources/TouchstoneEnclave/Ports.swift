package import Foundation
import TouchstoneCore
package import TouchstoneMemory

/// Where the enclave's one file lies.
///
/// `replace` returns once the new bytes would survive a power cut, and takes no more of them than `load` reads back.
package protocol EnclaveStorage: Sendable {
    func load() throws -> Data?
    func replace(_ bytes: Data) throws
    /// As `replace`; if the disk is full, in space that is reserved for this, as long as so many `spares` are left.
    func replaceWithReserve(_ bytes: Data, leaving spares: Int) throws
}

extension EnclaveStorage {
    package func replaceWithReserve(_ bytes: Data, leaving spares: Int) throws { try replace(bytes) }
}

/// Remembers how far the enclave's state has come, where a copy of the state's file that is put back does not bring it back (PC-34).
package protocol RevisionCounter: Sendable {
    /// The highest revision so far; nil where nothing is remembered.
    func read() throws -> UInt64?
    /// Returns once `revision`, which is at least as high as any before, is remembered.
    func advance(to revision: UInt64) throws
}

/// What binds a device to this machine: a TPM, or a key file.
///
/// Anything derived from it can be derived nowhere else.
package protocol RootOfTrust: Sendable {
    /// `software`, `tpm2`, or `swtpm` for a TPM that is a program: reported as it is.
    var kind: String { get }
    /// 32 bytes, the same for the same label and input, for as long as the device lives.
    func derive(_ label: String, _ input: Data) throws -> SecretBytes
    /// What else stands between a passcode and its key; nil: nothing but the derivation.
    var passcodeGuard: (any PasscodeGuard)? { get }
    /// Hardware that has private keys of its own; nil: there is none.
    var keyHolder: (any KeyHolder)? { get }
}

extension RootOfTrust {
    package var passcodeGuard: (any PasscodeGuard)? { nil }
    package var keyHolder: (any KeyHolder)? { nil }
}

/// Hardware in which P-256 keys are made and used, and which no private key leaves.
///
/// `key` is what the hardware gives out of a key: it loads there alone, and is of use only with `value`, 32 bytes. Each call may take as
/// long as the hardware does.
package protocol KeyHolder: Sendable {
    /// A new key, and its point, uncompressed (X9.63, 65 bytes).
    func makeKey(under value: SecretBytes) throws(KeyHolderError) -> (key: Data, publicKey: Data)
    /// r and s, 32 bytes each, for a digest of 32 bytes.
    func signature(of digest: Data, by key: Data, with value: SecretBytes) throws(KeyHolderError) -> Data
    /// The coordinate x of ECDH, 32 bytes, with a point of the curve like `makeKey`'s.
    func sharedSecret(of key: Data, and point: Data, with value: SecretBytes) throws(KeyHolderError) -> SecretBytes
}

/// The hardware did not use a key.
package struct KeyHolderError: Error, Hashable, CustomStringConvertible {
    /// What is wrong and what to do, for the daemon's own log.
    package let description: String
    /// The hardware will never take this key again.
    package let isKeyLost: Bool

    package init(_ description: String, isKeyLost: Bool = false) {
        self.description = description
        self.isKeyLost = isKeyLost
    }
}

/// Hardware that gives a secret away only for the right passcode, and counts the wrong ones itself.
///
/// It never sees the passcode: `value` is derived from it, 32 bytes.
package protocol PasscodeGuard: Sendable {
    /// Closes `secret`, 32 bytes: what comes back opens with `value`, and only here.
    func close(_ secret: SecretBytes, with value: SecretBytes) throws(PasscodeGuardError) -> Data
    /// The secret; nil where `value` is wrong.
    func open(_ closed: Data, with value: SecretBytes) throws(PasscodeGuardError) -> SecretBytes?
    /// Destroys all that was closed but `closed`, which the state on the disk has; nil: everything.
    func keep(_ closed: Data?) throws(PasscodeGuardError)
}

/// The hardware did not say whether a passcode is right.
package struct PasscodeGuardError: Error, Hashable, CustomStringConvertible {
    /// What is wrong and what to do, for the daemon's own log.
    package let description: String
    /// It may have heard of the passcode, and somebody its answer: the guess stays counted.
    package let wasAsked: Bool
    /// It takes no passcode now, after wrong ones.
    package let isLockedOut: Bool

    package init(_ description: String, wasAsked: Bool, isLockedOut: Bool = false) {
        self.description = description
        self.wasAsked = wasAsked
        self.isLockedOut = isLockedOut
    }
}

/// Bytes that nobody can foresee.
///
/// All that the enclave draws, secret or not, comes from here, but for what the cryptographic library draws inside of a signature and
/// for HPKE's one-time key (DEC-201).
package protocol RandomSource: Sendable {
    /// Overwrites all of `bytes`; a source that cannot ends the process.
    func fill(_ bytes: UnsafeMutableRawBufferPointer)
}

/// Seconds that only go forward, also while the machine sleeps; the zero is arbitrary.
package protocol TimeSource: Sendable {
    var now: Double { get }
    /// The wall clock, for the log alone: nothing is decided by it.
    var date: Date { get }
}

extension TimeSource {
    package var date: Date { Date() }
}

/// What a simulated sensor saw of one touch: bytes that are equal for the same finger.
package struct Sample: Hashable, Sendable {
    package let bytes: Data
    package init(_ bytes: Data) { self.bytes = bytes }
}
