/// What is wrong with the TPM, and what to do about it.
///
/// Never says anything that was kept in it.
package struct TPMError: Error, Hashable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case badAddress
        /// There is no such device or socket, or this user may not open it.
        case missing(reason: String)
        /// Another program has it, or it asks again and again to be asked later.
        case busy
        /// It stopped answering, or answered too late.
        case lost
        /// Its owner hierarchy has other keys now, and its endorsement hierarchy the same.
        case cleared
        /// Another TPM, or somebody between it and us.
        case replaced
        /// Too many wrong passcodes, of this device or of others: none is looked at for so long.
        case lockedOut(seconds: UInt32)
        /// Its owner hierarchy has a password.
        case ownerPassword
        case counterGone
        /// What a passcode opens is not there.
        case gateGone
        /// The object comes from another TPM, or from this one before it was cleared.
        case foreign
        /// No room for another NV index.
        case full
        /// An answer was changed on its way.
        case tampered
        /// What is kept beside the state is not ours.
        case badFile(reason: String)
        /// Any other code of the TPM or of tpm2-tss.
        case refused(UInt32)
    }

    package let code: Code
    package let address: String

    package var description: String {
        let recover = "run 'touchstone device recover' with the recovery key that was shown when the device was created"
        return switch code {
        case .badAddress: "\(address) is not the address of a TPM; use device:/dev/tpmrm0 or swtpm:path=SOCKET"
        case .missing(let reason):
            "the TPM at \(address) cannot be opened: \(reason). Is there a TPM, is it enabled in the firmware's settings, and may this "
                + "user open it (group tss)?"
        case .busy:
            "the TPM at \(address) is busy with another program; try again, or use /dev/tpmrm0, which programs share"
        case .lost: "the TPM at \(address) stopped answering; if it does not come back, restart the machine"
        case .cleared:
            "the TPM at \(address) was cleared after this device was created, and what it kept is gone; \(recover)"
        case .replaced:
            "the TPM at \(address) is not the one with which this device was created, or something on the way to it cannot be "
                + "trusted. Put the old one back. If it was replaced on purpose, \(recover)"
        case .lockedOut(let seconds):
            "the TPM at \(address) accepts no passcode now, because this device or another program sent it wrong ones; it forgets "
                + "one of them every \(seconds) s"
        case .ownerPassword: "the TPM at \(address) has an owner password, which Touchstone does not support; remove it"
        case .counterGone:
            "the TPM at \(address) has lost this device's counter, so an old copy of its state could not be recognised; \(recover)"
        case .gateGone:
            "the TPM at \(address) has lost what this device's passcode opens, or this is an old copy of the state, of another "
                + "passcode: \(recover)"
        case .foreign:
            "the TPM at \(address) did not make this, or was cleared since then; keys in a TPM are lost with it"
        case .full:
            "the TPM at \(address) has no space left; 'tpm2_getcap handles-nv-index' lists what programs keep in it"
        case .tampered: "what the TPM at \(address) answered was changed on its way, or belongs to another session"
        case .badFile(let reason): "root.tpm \(reason)"
        case .refused(let number): "the TPM at \(address) refused: code 0x\(String(number, radix: 16))"
        }
    }
}

/// A response code, as tpm2-tss gives it: the layer that it is of in the upper half.
struct TPMResponse: Hashable {
    let number: UInt32

    init(_ number: UInt32) { self.number = number }

    var isSuccess: Bool { number == 0 }

    /// Of the TPM itself, or of a resource manager that speaks for it; nil: of tpm2-tss.
    private var ofTPM: UInt32? { [0, 11, 12].contains(number >> 16) ? number & 0xFFFF : nil }

    /// Without the number of the parameter, handle or session that it is about.
    private var kind: UInt32? { ofTPM.map { $0 & 0x80 == 0 ? $0 : $0 & 0xBF } }

    /// RETRY, YIELDED, TESTING, NV_RATE, NV_UNAVAILABLE, and no room for objects or sessions, which others hold for a moment.
    var isLater: Bool {
        [0x922, 0x908, 0x90A, 0x920, 0x923, 0x902, 0x903, 0x904, 0x905, 0x906].contains(kind)
    }

    /// AUTH_FAIL: the authorization value was wrong, and that was counted.
    var isWrongValue: Bool { kind == 0x8E }

    /// BAD_AUTH: the authorization value was wrong, and that was not counted.
    var isBadAuthorization: Bool { kind == 0xA2 }

    /// HANDLE: there is no such thing.
    var isAbsent: Bool { kind == 0x8B }

    /// INTEGRITY: another parent closed it.
    var isForeign: Bool { kind == 0x9F }

    /// NV_DEFINED: there is such a thing.
    var isTaken: Bool { kind == 0x14C }

    var code: TPMError.Code {
        // NV_SPACE.
        if kind == 0x14B { return .full }
        return switch (number >> 16, kind) {
        case (10, _): .lost
        // MALFORMED_RESPONSE, INSUFFICIENT_RESPONSE, RSP_AUTH_FAILED.
        case (7...9, _) where [17, 19, 27].contains(number & 0xFFFF): .tampered
        case (_, 0x921): .lockedOut(seconds: 0)
        default: isBadAuthorization ? .ownerPassword : isLater ? .busy : .refused(number)
        }
    }
}
