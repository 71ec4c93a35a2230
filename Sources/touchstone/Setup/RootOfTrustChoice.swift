import Glibc

/// What a new device can be bound to.
enum RootOfTrustChoice: Equatable {
    case software
    /// A TPM 2.0, and where it is.
    case tpm2(tcti: String)

    /// What can be had here.
    ///
    /// - Parameter tcti: Where a TPM is said to be; nil: where the kernel has it.
    /// - Returns: Best first; the last is a key file.
    static func available(tcti: String?) -> [RootOfTrustChoice] {
        let found = tcti ?? (isUsable ? RootOfTrustOptions.defaultAddress : nil)
        return (found.map { [.tpm2(tcti: $0)] } ?? []) + [.software]
    }

    /// Whether there is a TPM that others may use and this user may not.
    static var isForOthers: Bool { unsafe access(device, F_OK) == 0 && !isUsable }

    private static let device = "/dev/tpmrm0"
    private static var isUsable: Bool { unsafe access(device, R_OK | W_OK) == 0 }

    /// For people.
    var title: String {
        switch self {
        case .software: "a key file"
        case .tpm2: "the TPM"
        }
    }

    /// What it is worth.
    var worth: String {
        switch self {
        case .software:
            "Somebody who copies the device's directory can guess its passcode on another machine, without a limit. Choose a long one."
        case .tpm2:
            "A copied directory opens on no other machine. The passcode can be guessed only here, at the TPM's pace."
        }
    }

    /// Of `touchstone-enclave create`.
    var arguments: [String] {
        switch self {
        case .software: []
        case .tpm2(let tcti): ["--tpm", tcti]
        }
    }
}
