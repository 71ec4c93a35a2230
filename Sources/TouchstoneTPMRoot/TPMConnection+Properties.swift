internal import CTSS

extension TPMConnection {
    /// How the dictionary-attack logic, which all programs share, stands.
    struct Attempts: Hashable {
        var wrong: UInt32
        var maximum: UInt32
        /// So long it takes until it forgets one, in seconds.
        var seconds: UInt32
    }

    func attempts() throws(TPMError) -> Attempts {
        let found = try properties(from: TOUCHSTONE_PT_LOCKOUT_COUNTER, count: 3)
        guard let wrong = found[TOUCHSTONE_PT_LOCKOUT_COUNTER], let maximum = found[TOUCHSTONE_PT_MAX_AUTH_FAIL],
            let seconds = found[TOUCHSTONE_PT_LOCKOUT_INTERVAL]
        else { throw fail(.tampered) }
        return Attempts(wrong: wrong, maximum: maximum, seconds: seconds)
    }

    /// Whether it names itself as a program: the vendor strings of libtpms, which virtual machines have too.
    func isEmulated() throws(TPMError) -> Bool {
        let found = try properties(from: TOUCHSTONE_PT_MANUFACTURER, count: 5)
        let text = (1...4).reduce("") { text, step in
            let number = found[TOUCHSTONE_PT_MANUFACTURER + UInt32(step)] ?? 0
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
            return text + String(decoding: bytes.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
        }
        return text.hasPrefix("SW")
    }

    private func properties(from first: UInt32, count: UInt32) throws(TPMError) -> [UInt32: UInt32] {
        var more = TPMI_YES_NO()
        var found: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        defer { unsafe Esys_Free(found) }
        try command {
            unsafe Esys_GetCapability(
                context, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP(TPM2_CAP_TPM_PROPERTIES), first, count,
                &more, &found)
        }
        var list = unsafe found!.pointee.data.tpmProperties
        let known = Int(min(list.count, count))
        return unsafe withUnsafeBytes(of: &list.tpmProperty) { bytes in
            unsafe Dictionary(
                bytes.bindMemory(to: TPMS_TAGGED_PROPERTY.self).prefix(known).map { ($0.property, $0.value) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
