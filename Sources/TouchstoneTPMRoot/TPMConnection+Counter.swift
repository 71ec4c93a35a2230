internal import CTSS
import Foundation
import TouchstoneMemory

extension TPMConnection {
    /// Makes the counter at `index` and counts once, so that it can be read.
    ///
    /// Returns false if the index is taken.
    func defineCounter(_ index: UInt32, value: SecretBytes, mark: Data) throws(TPMError) -> Bool {
        guard let handle = try define(index, TOUCHSTONE_COUNTER_ATTRIBUTES, bytes: 8, value: value, mark: mark) else {
            return false
        }
        defer { forget(handle) }
        try increment(handle)
        return true
    }

    /// Gives `body` what reads the counter at `index`, and what counts one.
    func withCounter<Result>(
        _ index: UInt32, value: SecretBytes,
        _ body: (_ read: () throws -> UInt64, _ increment: () throws -> Void) throws -> Result
    ) throws -> Result {
        let handle = try counter(index)
        defer { forget(handle) }
        try authorize(handle, value)
        return try body({ try self.read(handle) }, { try self.increment(handle) })
    }

    private func counter(_ index: UInt32) throws(TPMError) -> Handle {
        guard let handle = try find(index) else { throw fail(.counterGone) }
        return handle
    }

    private func increment(_ handle: Handle) throws(TPMError) {
        try encrypt(command: false, answer: false)
        try counting { unsafe Esys_NV_Increment(context, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE) }
    }

    private func read(_ handle: Handle) throws(TPMError) -> UInt64 {
        try encrypt(command: false, answer: true)
        var read: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        defer { unsafe Esys_Free(read) }
        try counting {
            unsafe Esys_NV_Read(context, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, 8, 0, &read)
        }
        guard unsafe read!.pointee.size == 8 else { throw fail(.tampered) }
        return unsafe withUnsafeBytes(of: &read!.pointee.buffer) { bytes in
            unsafe bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// As `command`, for one that our value for the counter authorizes: one with another value is not ours.
    private func counting(_ body: () -> TSS2_RC) throws(TPMError) {
        let response = tried(body)
        guard response.isSuccess else { throw fail(response.isBadAuthorization ? .counterGone : response.code) }
    }
}
