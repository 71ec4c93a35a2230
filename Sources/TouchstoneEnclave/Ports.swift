package import Foundation
import TouchstoneCore
package import TouchstoneMemory

/// Where the enclave's one file lies.
///
/// `replace` returns once the new bytes would survive a power cut, and takes no more of them than `load` reads back.
package protocol EnclaveStorage: Sendable {
    func load() throws -> Data?
    func replace(_ bytes: Data) throws
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
    /// `software` or `tpm2`: reported as it is.
    var kind: String { get }
    /// 32 bytes, the same for the same label and input, for as long as the device lives.
    func derive(_ label: String, _ input: Data) throws -> SecretBytes
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
