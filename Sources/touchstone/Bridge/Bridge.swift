import ArgumentParser

/// What `touchstone bridge` can enable.
enum Bridge: String, CaseIterable, Codable, ExpressibleByArgument {
    case ssh, credentials, git, docker, fido
    case secretService = "secret-service"
    case pkcs11

    /// All that differs from bridge to bridge, but for what is changed to enable it (`BridgePlan`).
    private struct Row {
        var resident: Resident
        var topic: Finding.Topic
        var asker: String
        var purpose: String
        var next: String
    }

    private var row: Row {
        switch self {
        case .ssh:
            Row(
                resident: .sshAgent, topic: .sshBridge, asker: "ssh", purpose: "ssh keys that ask for your finger",
                next: "make a key with 'touchstone-ssh create NAME'")
        case .credentials:
            Row(
                resident: .credentials, topic: .credentialsBridge, asker: "touchstone run",
                purpose: "passwords for 'touchstone run', git and docker",
                next: "keep a password with 'touchstone item add SERVICE ACCOUNT'")
        case .git:
            Row(
                resident: .credentials, topic: .gitBridge, asker: "git", purpose: "git's passwords in Touchstone",
                next: "git asks for each password once more, and Touchstone keeps it")
        case .docker:
            Row(
                resident: .credentials, topic: .dockerBridge, asker: "docker",
                purpose: "docker's passwords in Touchstone", next: "'docker login' keeps its password in Touchstone")
        case .fido:
            Row(
                resident: .fido, topic: .fidoBridge, asker: "root",
                purpose: "passkeys for browsers, ssh-keygen and pam_u2f",
                next: "where a website asks for a security key or a passkey, choose a USB security key")
        case .secretService:
            Row(
                resident: .secretService, topic: .secretServiceBridge, asker: "the session's bus",
                purpose: "passwords of desktop programs in Touchstone",
                next: "each program asks you once for a password that it did not store itself")
        case .pkcs11:
            Row(
                resident: .pkcs11, topic: .pkcs11Bridge, asker: "p11-kit",
                purpose: "keys for TLS, certificates and ssh by PKCS#11",
                next: "make a key with 'touchstone-pkcs11 create NAME'")
        }
    }

    /// The program that has to run for it.
    var resident: Resident { row.resident }
    /// For the doctor.
    var topic: Finding.Topic { row.topic }
    /// Who has to be told of it.
    var asker: String { row.asker }
    /// What it gives to whom.
    var purpose: String { row.purpose }
    /// What to do next.
    var next: String { row.next }

    /// All of them with their purposes, as a part of a sentence.
    static let list = allCases.map { "\($0.rawValue) (\($0.purpose))" }.joined(separator: ", ")
}
