internal import CTSS
import Foundation
import TouchstoneMemory

/// What is ours among the TPM's NV indices.
extension TPMConnection {
    private enum Limits {
        /// Of all programs, that are looked through.
        static let indices: UInt32 = 254
    }

    /// Defines `index`, which `value` opens, with `mark` to know it by; nil if it is taken.
    ///
    /// The mark is its policy, of which nobody can know a condition that meets it.
    func define(_ index: UInt32, _ attributes: TPMA_NV, bytes: UInt16, value: SecretBytes, mark: Data)
        throws(TPMError) -> Handle?
    {
        var authorization = Self.authorization(value)
        defer { unsafe withUnsafeMutableBytes(of: &authorization) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = index
        area.nvPublic.nameAlg = TPM2_ALG_SHA256
        area.nvPublic.attributes = attributes
        area.nvPublic.dataSize = bytes
        area.nvPublic.authPolicy.size = UInt16(mark.count)
        unsafe withUnsafeMutableBytes(of: &area.nvPublic.authPolicy.buffer) { unsafe $0.copyBytes(from: mark) }
        var handle: Handle = ESYS_TR_NONE
        try encrypt(command: true, answer: false)
        let response = tried {
            unsafe Esys_NV_DefineSpace(
                context, ESYS_TR_RH_OWNER, session, ESYS_TR_NONE, ESYS_TR_NONE, &authorization, &area, &handle)
        }
        if response.isTaken { return nil }
        guard response.isSuccess else { throw fail(response.code) }
        try authorize(handle, value)
        return handle
    }

    /// The index, where there is one.
    func find(_ index: UInt32) throws(TPMError) -> Handle? {
        var handle: Handle = ESYS_TR_NONE
        let response = tried {
            unsafe Esys_TR_FromTPMPublic(context, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &handle)
        }
        if response.isAbsent { return nil }
        guard response.isSuccess else { throw fail(response.code) }
        return handle
    }

    /// Takes an index away; whether there was one.
    @discardableResult
    func undefine(_ index: UInt32) throws(TPMError) -> Bool {
        guard let handle = try find(index) else { return false }
        try encrypt(command: false, answer: false)
        try command {
            unsafe Esys_NV_UndefineSpace(context, ESYS_TR_RH_OWNER, handle, session, ESYS_TR_NONE, ESYS_TR_NONE)
        }
        return true
    }

    /// Removes every index in `range` that has its mark and is not in `kept`.
    func tidy(_ range: ClosedRange<UInt32>, keeping kept: Set<UInt32>, mark: (UInt32) -> Data) throws(TPMError) {
        for index in try indices(in: range) where !kept.contains(index) {
            guard let handle = try find(index) else { continue }
            var area: UnsafeMutablePointer<TPM2B_NV_PUBLIC>?
            defer { unsafe Esys_Free(area) }
            let response = tried {
                unsafe Esys_NV_ReadPublic(context, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &area, nil)
            }
            forget(handle)
            guard response.isSuccess else { throw fail(response.code) }
            var policy = unsafe area!.pointee.nvPublic.authPolicy
            let count = min(Int(policy.size), MemoryLayout.size(ofValue: policy.buffer))
            let found = unsafe withUnsafeBytes(of: &policy.buffer) { unsafe Data($0.prefix(count)) }
            if found == mark(index) { try undefine(index) }
        }
    }

    private func indices(in range: ClosedRange<UInt32>) throws(TPMError) -> [UInt32] {
        var more = TPMI_YES_NO()
        var found: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        defer { unsafe Esys_Free(found) }
        try command {
            unsafe Esys_GetCapability(
                context, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP(TPM2_CAP_HANDLES), range.lowerBound,
                Limits.indices, &more, &found)
        }
        var handles = unsafe found!.pointee.data.handles
        return unsafe withUnsafeBytes(of: &handles.handle) { list in
            (0..<Int(min(handles.count, Limits.indices))).map { index in
                unsafe list.loadUnaligned(
                    fromByteOffset: index * MemoryLayout<TPM2_HANDLE>.size, as: TPM2_HANDLE.self)
            }
        }.filter(range.contains)
    }

    /// Lets our side of a handle go; the index stays.
    func forget(_ handle: Handle) {
        var ended = handle
        _ = unsafe Esys_TR_Close(context, &ended)
    }
}
