internal import CTSS
import Foundation
import TouchstoneMemory

/// Data that the TPM has sealed, and that opens in no other TPM.
struct SealedObject: Codable, Hashable, Sendable {
    /// `TPM2B_PUBLIC` and `TPM2B_PRIVATE`, as the TPM spells them.
    var publicArea: Data
    var privateArea: Data
}

extension TPMConnection {
    /// Closes `secret`, at most 128 bytes; `value` opens it, or, where that is nil, being there does.
    ///
    /// With `countsWrongValues` wrong ones count in the TPM's dictionary-attack counter.
    func seal(_ secret: SecretBytes, under value: SecretBytes?, countsWrongValues: Bool) throws(TPMError)
        -> SealedObject
    {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { unsafe withUnsafeMutableBytes(of: &sensitive) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        sensitive.sensitive.data.size = UInt16(secret.count)
        unsafe secret.withUnsafeBytes { source in
            unsafe withUnsafeMutableBytes(of: &sensitive.sensitive.data.buffer) { unsafe $0.copyMemory(from: source) }
        }
        if let value { sensitive.sensitive.userAuth = Self.authorization(value) }
        var template = TOUCHSTONE_SEALED
        if !countsWrongValues { template.publicArea.objectAttributes |= TPMA_OBJECT(TPMA_OBJECT_NODA) }
        return try create(&template, &sensitive).object
    }

    /// Makes an object under the primary key.
    func create(_ template: inout TPM2B_PUBLIC, _ sensitive: inout TPM2B_SENSITIVE_CREATE) throws(TPMError) -> (
        object: SealedObject, area: TPMT_PUBLIC
    ) {
        var outside = TPM2B_DATA()
        var selection = TPML_PCR_SELECTION()
        var closed: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
        defer {
            unsafe Esys_Free(closed)
            unsafe Esys_Free(area)
        }
        try encrypt(command: true, answer: true)
        try command {
            unsafe Esys_Create(
                context, primary, session, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &template, &outside, &selection,
                &closed, &area,
                nil, nil, nil)
        }
        var bytes = [UInt8](repeating: 0, count: MemoryLayout<TPM2B_PUBLIC>.size)
        var count = 0
        guard unsafe Tss2_MU_TPM2B_PUBLIC_Marshal(area, &bytes, bytes.count, &count) == 0 else { throw fail(.tampered) }
        let publicArea = Data(bytes.prefix(count))
        bytes = [UInt8](repeating: 0, count: MemoryLayout<TPM2B_PRIVATE>.size)
        count = 0
        guard unsafe Tss2_MU_TPM2B_PRIVATE_Marshal(closed, &bytes, bytes.count, &count) == 0 else {
            throw fail(.tampered)
        }
        return unsafe (
            SealedObject(publicArea: publicArea, privateArea: Data(bytes.prefix(count))), area!.pointee.publicArea
        )
    }

    /// Loads an object that was made here; the caller flushes it.
    func load(_ object: SealedObject) throws(TPMError) -> Handle {
        var area = TPM2B_PUBLIC()
        var closed = TPM2B_PRIVATE()
        var offset = 0
        let isRead = unsafe Tss2_MU_TPM2B_PUBLIC_Unmarshal(
            [UInt8](object.publicArea), object.publicArea.count, &offset, &area)
        offset = 0
        guard isRead == 0,
            unsafe Tss2_MU_TPM2B_PRIVATE_Unmarshal(
                [UInt8](object.privateArea), object.privateArea.count, &offset, &closed) == 0
        else { throw fail(.badFile(reason: "or the state holds something that no TPM made")) }
        var handle: Handle = ESYS_TR_NONE
        try encrypt(command: true, answer: true)
        let response = tried {
            unsafe Esys_Load(context, primary, session, ESYS_TR_NONE, ESYS_TR_NONE, &closed, &area, &handle)
        }
        guard response.isSuccess else { throw fail(response.isForeign ? .foreign : response.code) }
        return handle
    }

    /// What `object` keeps; nil if `value` is wrong, which then was counted.
    ///
    /// `asking` is called right before the TPM hears of the value.
    func unseal(_ object: SealedObject, with value: SecretBytes?, asking: () -> Void = {}) throws(TPMError)
        -> SecretBytes?
    {
        let handle = try load(object)
        defer { flush(handle) }
        if let value { try authorize(handle, value) }
        var opened: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        defer {
            if let opened = unsafe opened { unsafe explicit_bzero(opened, MemoryLayout<TPM2B_SENSITIVE_DATA>.size) }
            unsafe Esys_Free(opened)
        }
        try encrypt(command: false, answer: true)
        asking()
        let response = tried { unsafe Esys_Unseal(context, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &opened) }
        if response.isWrongValue { return nil }
        guard response.isSuccess else { throw fail(response.code) }
        let count = unsafe Int(opened!.pointee.size)
        return unsafe SecretBytes(count: count) { target in
            unsafe withUnsafeBytes(of: &opened!.pointee.buffer) {
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
            }
        }
    }

    /// What the next commands on `handle` are authorized with: never sent, only mixed into what authenticates them.
    func authorize(_ handle: Handle, _ value: SecretBytes) throws(TPMError) {
        var authorization = Self.authorization(value)
        defer { unsafe withUnsafeMutableBytes(of: &authorization) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        try command { unsafe Esys_TR_SetAuth(context, handle, &authorization) }
    }

    static func authorization(_ value: SecretBytes) -> TPM2B_AUTH {
        var authorization = TPM2B_AUTH()
        authorization.size = UInt16(value.count)
        unsafe value.withUnsafeBytes { source in
            unsafe withUnsafeMutableBytes(of: &authorization.buffer) { unsafe $0.copyMemory(from: source) }
        }
        return authorization
    }
}
