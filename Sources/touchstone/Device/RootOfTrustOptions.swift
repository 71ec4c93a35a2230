import ArgumentParser

/// What binds a new device to this machine.
struct RootOfTrustOptions: ParsableArguments {
    enum Kind: String, ExpressibleByArgument, CaseIterable { case software, tpm2 }

    @Option(help: "What binds it to this machine: a key file in your directory, or a TPM 2.0.")
    var rootOfTrust = Kind.software
    @Option(
        help: ArgumentHelp(
            "tpm2: the address of the TPM, device:PATH or swtpm:path=SOCKET. (default: \(defaultAddress))",
            valueName: "tcti")
    )
    var tcti: String?
    @Option(
        help: ArgumentHelp(
            "Where the P-256 keys of apps are made and used: software (in the enclave), or tpm (in the TPM; they are lost with it).",
            valueName: "where"))
    var keys = Keys.software

    enum Keys: String, ExpressibleByArgument, CaseIterable { case software, tpm }

    func validate() throws {
        guard rootOfTrust == .tpm2 || tcti == nil else {
            throw ValidationError("--tcti needs --root-of-trust tpm2")
        }
        guard rootOfTrust == .tpm2 || keys == .software else {
            throw ValidationError("--keys tpm needs --root-of-trust tpm2")
        }
    }

    /// For `touchstone-enclave create`.
    var arguments: [String] {
        guard rootOfTrust == .tpm2 else { return [] }
        return ["--tpm", tcti ?? Self.defaultAddress] + (keys == .tpm ? ["--keys", "tpm"] : [])
    }

    /// The kernel's resource manager: programs share the TPM through it.
    static let defaultAddress = "device:/dev/tpmrm0"
}
