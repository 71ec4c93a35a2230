import ArgumentParser
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// What a cloud's own command starts when it wants credentials (CP-1, CP-2).
struct CredentialProcess: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential-process",
        abstract: "Give a secret to the commands of AWS or Kubernetes, in their own form.",
        discussion: """
            The owner is asked each time, and reads which command it is for.

            In ~/.aws/config: credential_process = touchstone credential-process aws aws/work
            """,
        subcommands: [AWS.self, Kubernetes.self])

    struct AWS: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "aws", abstract: "What credential_process in ~/.aws/config expects.",
            discussion: """
                The secret is a JSON object with AccessKeyId and SecretAccessKey, and SessionToken and Expiration if there are. With \
                --access-key-id it is the secret access key alone.
                """)

        @Argument(help: "touchstone://SERVICE/ACCOUNT")
        var reference: SecretReference

        @Option(help: ArgumentHelp("The key's id, which is not secret, if the secret has none.", valueName: "id"))
        var accessKeyId: String?

        @Flag(help: "Also if standard output is a terminal.")
        var reveal = false

        func run() throws {
            try write(reference, "AWS", reveal) { secret throws(ProcessCredentialError) in
                try ProcessCredential.aws(secret, accessKeyID: accessKeyId, now: Date())
            }
        }
    }

    struct Kubernetes: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "kubernetes", abstract: "What an exec plugin in a kubeconfig file answers.",
            discussion: """
                The secret is a token, or a JSON object with token, or with clientCertificateData and clientKeyData, and \
                expirationTimestamp if there is one.
                """)

        @Argument(help: "touchstone://SERVICE/ACCOUNT")
        var reference: SecretReference

        @Flag(help: "Also if standard output is a terminal.")
        var reveal = false

        func run() throws {
            let request = Array((ProcessInfo.processInfo.environment["KUBERNETES_EXEC_INFO"] ?? "").utf8)
            // Before anybody is asked.
            do { _ = try ProcessCredential.kubernetesVersion(request) } catch { throw CommandFailure("\(error)") }
            try write(reference, "Kubernetes", reveal) { secret throws(ProcessCredentialError) in
                try ProcessCredential.kubernetes(secret, request: request, now: Date())
            }
        }
    }

    private static func write(
        _ reference: SecretReference, _ name: String, _ reveal: Bool,
        _ make: ([UInt8]) throws(ProcessCredentialError) -> [UInt8]
    ) throws {
        try refuseTerminal(reveal)
        let secret = try OpenedSecrets([reference], names: ["\(name) credentials"], command: asker).value(reference)
        do throws(ProcessCredentialError) {
            HelperProcess.write(try make(secret) + [0x0A])
        } catch {
            throw CommandFailure("\(reference): \(error)")
        }
    }

    private static let shells: Set<String> = ["sh", "dash", "bash"]

    /// The command that started this one, but for a shell between them: its words before the first option, which the prompt quotes (CP-4).
    private static var asker: String {
        var process = getppid()
        var words = words(process)
        if let shell = words.first, shells.contains((shell as NSString).lastPathComponent), let above = parent(process)
        {
            process = above
            let other = Self.words(process)
            if !other.isEmpty { words = other }
        }
        // An option may have a secret.
        let shown = words.prefix(1) + words.dropFirst().prefix { !$0.hasPrefix("-") }
        return shown.isEmpty ? "a program that could not be identified" : shown.joined(separator: " ")
    }

    private static func words(_ process: pid_t) -> [String] {
        let line = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/cmdline"))) ?? Data()
        return line.prefix(4096).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func parent(_ process: pid_t) -> pid_t? {
        let lines = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8))?.split(separator: "\n")
        return lines?.first { $0.hasPrefix("PPid:") }.flatMap { $0.split(separator: "\t").last }.flatMap { pid_t($0) }
    }
}
