import ArgumentParser

/// What `touchstone bridge` can enable.
enum Bridge: String, CaseIterable, Codable, ExpressibleByArgument {
    case ssh, credentials, git, docker, fido
    case secretService = "secret-service"
    case pkcs11

    /// The program that has to run for it.
    var resident: Resident {
        switch self {
        case .ssh: .sshAgent
        case .credentials, .git, .docker: .credentials
        case .secretService: .secretService
        case .pkcs11: .pkcs11
        case .fido: .fido
        }
    }

    /// What it gives to whom.
    var purpose: String {
        switch self {
        case .ssh: "ssh keys that ask for your finger"
        case .credentials: "passwords for 'touchstone run', git and docker"
        case .git: "git's passwords in Touchstone"
        case .docker: "docker's passwords in Touchstone"
        case .secretService: "passwords of desktop programs in Touchstone"
        case .pkcs11: "keys for TLS, certificates and ssh by PKCS#11"
        case .fido: "passkeys for browsers, ssh-keygen and pam_u2f"
        }
    }

    /// What to do next.
    var next: String {
        switch self {
        case .ssh: "make a key with 'touchstone-ssh create NAME'"
        case .credentials: "keep a password with 'touchstone item add SERVICE ACCOUNT'"
        case .git: "git asks for each password once more, and Touchstone keeps it"
        case .docker: "'docker login' keeps its password in Touchstone"
        case .secretService: "each program asks you once for a password that it did not store itself"
        case .pkcs11: "make a key with 'touchstone-pkcs11 create NAME'"
        case .fido: "where a website asks for a security key or a passkey, choose a USB security key"
        }
    }
}
