internal import CTSS
internal import CTouchstoneTCTI
import Crypto
import Foundation
import Glibc
import TouchstoneMemory

/// One connection to a TPM, with our primary key and a session in it.
///
/// The session is salted with the primary key, whose Name the caller compares, so that nobody between us and the TPM knows its key: what
/// goes either way is encrypted where it is secret, and authenticated. Every wait ends. For one thread at a time.
///
/// > Concurrency: Unchecked, as ESYS's context is a pointer: its owner keeps it under a lock, and uses it under that alone.
@safe final class TPMConnection: @unchecked Sendable {
    // Unchecked: its owner uses it only under a lock.
    private enum Limits {
        /// For one command, in milliseconds.
        static let command: Int32 = 4000
        /// Pauses before a command is given again, in microseconds: 0.6 s in all.
        static let pauses: [UInt32] = [10_000, 30_000, 60_000, 100_000, 200_000, 200_000]
        static let handles: UInt32 = 16
    }

    /// Of the primary keys.
    struct Names: Hashable {
        var name: Data
        /// nil: not known.
        var endorsementName: Data?
    }

    /// A loaded object or an NV index, until it is let go.
    typealias Handle = ESYS_TR

    let address: TPMAddress
    let context: OpaquePointer
    private let tcti: OpaquePointer
    private(set) var primary: Handle = ESYS_TR_NONE
    /// Of the primary key: its hash algorithm and the hash of its public area.
    private(set) var name = Data()
    private(set) var session: Handle = ESYS_TR_NONE
    /// Something went wrong on the way: not to be used any more.
    private(set) var isBroken = false

    /// Connects, and makes the primary key and the session.
    ///
    /// `pinned` are the Names it must have, nil: any; they are compared before anything depends on them.
    init(_ address: TPMAddress, pinned: Names?) throws(TPMError) {
        _ = Self.isQuiet
        self.address = address
        guard let opened = unsafe touchstone_tcti_open(address.path, address.isSocket, Limits.command) else {
            let code = errno
            let reason = unsafe String(cString: strerror(code))
            throw TPMError(code: code == EBUSY ? .busy : .missing(reason: reason), address: address.text)
        }
        unsafe tcti = opened
        var made: OpaquePointer?
        let result = unsafe Esys_Initialize(&made, opened, nil)
        guard result == 0, let context = unsafe made else {
            unsafe touchstone_tcti_close(opened)
            throw TPMError(code: TPMResponse(result).code, address: address.text)
        }
        unsafe self.context = context
        if !address.isShared { try flushLeftovers() }
        (primary, name) = try makePrimary(ESYS_TR_RH_OWNER)
        if let pinned, pinned.name != name {
            throw fail(
                pinned.endorsementName != nil && pinned.endorsementName == endorsementName() ? .cleared : .replaced)
        }
        var cipher = TOUCHSTONE_SESSION_CIPHER
        try command {
            unsafe Esys_StartAuthSession(
                context, primary, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, TPM2_SE(TPM2_SE_HMAC),
                &cipher,
                TPM2_ALG_SHA256, &session)
        }
    }

    deinit {
        if !isBroken {
            for handle in [session, primary] where handle != ESYS_TR_NONE { unsafe Esys_FlushContext(context, handle) }
        }
        var ended: OpaquePointer? = unsafe context
        unsafe Esys_Finalize(&ended)
        unsafe touchstone_tcti_close(tcti)
    }

    /// Which way the first parameter of the next command with the session is encrypted: those that have one there.
    func encrypt(command: Bool, answer: Bool) throws(TPMError) {
        let attributes =
            TPMA_SESSION(TPMA_SESSION_CONTINUESESSION) | (command ? TPMA_SESSION(TPMA_SESSION_DECRYPT) : 0)
            | (answer ? TPMA_SESSION(TPMA_SESSION_ENCRYPT) : 0)
        try self.command { unsafe Esys_TRSess_SetAttributes(context, session, attributes, 0xFF) }
    }

    /// Gives a command, and again after a pause for as long as the TPM asks to be asked later.
    func command(_ body: () -> TSS2_RC) throws(TPMError) {
        let response = tried(body)
        guard response.isSuccess else { throw fail(response.code) }
    }

    /// As `command`, where some refusals are an answer.
    func tried(_ body: () -> TSS2_RC) -> TPMResponse {
        guard !isBroken else { return TPMResponse(UInt32(10 << 16 | 10)) }
        var response = TPMResponse(body())
        for pause in Limits.pauses where response.isLater {
            usleep(pause)
            response = TPMResponse(body())
        }
        if [.lost, .tampered].contains(response.code) { isBroken = true }
        return response
    }

    /// The error of a response, or of what it holds.
    func fail(_ code: TPMError.Code) -> TPMError {
        let isLate = unsafe touchstone_tcti_timed_out(tcti)
        // swtpm serves one connection after another: a first answer that does not come is of somebody who is before us.
        return TPMError(code: code == .lost && isLate && session == ESYS_TR_NONE ? .busy : code, address: address.text)
    }

    /// The Name of the endorsement hierarchy's key like our primary: it outlives a clear; nil if it may not be asked for.
    func endorsementName() -> Data? {
        guard let (handle, name) = try? makePrimary(ESYS_TR_RH_ENDORSEMENT) else { return nil }
        flush(handle)
        return name
    }

    func flush(_ handle: Handle) {
        guard handle != ESYS_TR_NONE, !isBroken else { return }
        _ = tried { unsafe Esys_FlushContext(context, handle) }
    }

    private func makePrimary(_ hierarchy: Handle) throws(TPMError) -> (Handle, Data) {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var template = TOUCHSTONE_PRIMARY
        var outside = TPM2B_DATA()
        var selection = TPML_PCR_SELECTION()
        var handle: Handle = ESYS_TR_NONE
        var made: UnsafeMutablePointer<TPM2B_PUBLIC>?
        defer { unsafe Esys_Free(made) }
        try command {
            unsafe Esys_CreatePrimary(
                context, hierarchy, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &template, &outside,
                &selection,
                &handle, &made, nil, nil, nil)
        }
        // Computed here, because the Name in the answer is only a claim.
        var area = unsafe made!.pointee.publicArea
        var bytes = [UInt8](repeating: 0, count: MemoryLayout<TPM2B_PUBLIC>.size)
        var count = 0
        guard unsafe Tss2_MU_TPMT_PUBLIC_Marshal(&area, &bytes, bytes.count, &count) == 0 else { throw fail(.tampered) }
        return (handle, Data([0x00, 0x0B]) + SHA256.hash(data: bytes.prefix(count)))
    }

    /// Removes what an earlier process left in a TPM that is not shared, as after a crash: it has room for three objects and sessions.
    ///
    /// Nobody else is connected: swtpm serves one at a time, and /dev/tpm0 opens for one. What the kernel's manager has is not loaded.
    private func flushLeftovers() throws(TPMError) {
        var system: OpaquePointer?
        guard unsafe Esys_GetSysContext(context, &system) == 0 else { return }
        for first in [TOUCHSTONE_TRANSIENT_FIRST, TOUCHSTONE_LOADED_SESSION_FIRST] {
            var more = TPMI_YES_NO()
            var found: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
            defer { unsafe Esys_Free(found) }
            try command {
                unsafe Esys_GetCapability(
                    context, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP(TPM2_CAP_HANDLES), first,
                    Limits.handles, &more, &found)
            }
            var handles = unsafe found!.pointee.data.handles
            unsafe withUnsafeBytes(of: &handles.handle) { list in
                for index in 0..<Int(min(handles.count, Limits.handles)) {
                    let handle = unsafe list.loadUnaligned(
                        fromByteOffset: index * MemoryLayout<TPM2_HANDLE>.size, as: TPM2_HANDLE.self)
                    _ = tried { unsafe Tss2_Sys_FlushContext(system, handle) }
                }
            }
            if isBroken { throw fail(.lost) }
        }
    }

    /// tpm2-tss writes what it sends and receives to standard error if the environment tells it to.
    private static let isQuiet: Bool = unsafe setenv("TSS2_LOG", "all+none", 1) == 0
}
