internal import CTSS
import Foundation
import TouchstoneMemory

extension TPMConnection {
    /// Makes the counter at `index` and counts once, so that it can be read.
    ///
    /// Returns false where the index is taken.
    func defineCounter(_ index: UInt32, value: SecretBytes) throws(TPMError) -> Bool {
        var authorization = Self.authorization(value)
        defer { unsafe withUnsafeMutableBytes(of: &authorization) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = index
        area.nvPublic.nameAlg = TPM2_ALG_SHA256
        area.nvPublic.attributes = TOUCHSTONE_COUNTER_ATTRIBUTES
        area.nvPublic.dataSize = 8
        var handle: Handle = ESYS_TR_NONE
        try encrypt(command: true, answer: false)
        let response = tried {
            unsafe Esys_NV_DefineSpace(
                context, ESYS_TR_RH_OWNER, session, ESYS_TR_NONE, ESYS_TR_NONE, &authorization, &area, &handle)
        }
        if response.isTaken { return false }
        guard response.isSuccess else { throw fail(response.code) }
        defer { forget(handle) }
        try authorize(handle, value)
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

    /// Takes the counter away; whether there was one.
    func undefineCounter(_ index: UInt32) throws(TPMError) -> Bool {
        let handle: Handle
        do {
            handle = try counter(index)
        } catch  where error.code == .counterGone {
            return false
        }
        try encrypt(command: false, answer: false)
        try command {
            unsafe Esys_NV_UndefineSpace(context, ESYS_TR_RH_OWNER, handle, session, ESYS_TR_NONE, ESYS_TR_NONE)
        }
        return true
    }

    private func counter(_ index: UInt32) throws(TPMError) -> Handle {
        var handle: Handle = ESYS_TR_NONE
        let response = tried {
            unsafe Esys_TR_FromTPMPublic(context, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &handle)
        }
        guard response.isSuccess else { throw fail(response.isAbsent ? .counterGone : response.code) }
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

    /// Lets our side of a handle go; the index stays.
    private func forget(_ handle: Handle) {
        var ended = handle
        _ = unsafe Esys_TR_Close(context, &ended)
    }
}
