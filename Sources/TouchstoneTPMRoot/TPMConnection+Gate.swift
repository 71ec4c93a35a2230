internal import CTSS
import Foundation
import TouchstoneMemory

extension TPMConnection {
    /// Keeps `secret`, 32 bytes, at `index`, where `value` opens it and wrong values count in the TPM's dictionary-attack counter.
    ///
    /// Returns false if the index is taken.
    func defineGate(_ index: UInt32, _ secret: SecretBytes, value: SecretBytes, mark: Data) throws(TPMError) -> Bool {
        guard
            let handle = try define(
                index, TOUCHSTONE_GATE_ATTRIBUTES, bytes: UInt16(secret.count), value: value, mark: mark)
        else { return false }
        defer { forget(handle) }
        var buffer = TPM2B_MAX_NV_BUFFER()
        defer { unsafe withUnsafeMutableBytes(of: &buffer) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        buffer.size = UInt16(secret.count)
        unsafe secret.withUnsafeBytes { source in
            unsafe withUnsafeMutableBytes(of: &buffer.buffer) { unsafe $0.copyMemory(from: source) }
        }
        try encrypt(command: true, answer: false)
        try command {
            unsafe Esys_NV_Write(context, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &buffer, 0)
        }
        return true
    }

    /// What is kept at `index`; nil if `value` is wrong, which then was counted.
    ///
    /// `asking` is called right before the TPM hears of the value.
    func openGate(_ index: UInt32, value: SecretBytes, asking: () -> Void) throws(TPMError) -> SecretBytes? {
        guard let handle = try find(index) else { throw fail(.gateGone) }
        defer { forget(handle) }
        try authorize(handle, value)
        var read: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        defer {
            if let read = unsafe read { unsafe explicit_bzero(read, MemoryLayout<TPM2B_MAX_NV_BUFFER>.size) }
            unsafe Esys_Free(read)
        }
        try encrypt(command: false, answer: true)
        asking()
        let response = tried {
            unsafe Esys_NV_Read(
                context, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, Self.gateBytes, 0, &read)
        }
        if response.isWrongValue { return nil }
        guard response.isSuccess else { throw fail(response.isBadAuthorization ? .gateGone : response.code) }
        guard unsafe read!.pointee.size == Self.gateBytes else { throw fail(.tampered) }
        return unsafe SecretBytes(count: Int(Self.gateBytes)) { target in
            unsafe withUnsafeBytes(of: &read!.pointee.buffer) {
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(Int(Self.gateBytes))))
            }
        }
    }

    private static let gateBytes: UInt16 = 32
}
