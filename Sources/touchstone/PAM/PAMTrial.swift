import Foundation
import Glibc
import TouchstoneCore

/// One authentication of a PAM service, in a program of its own that answers no question.
struct PAMTrial {
    private static let verifier = "/usr/libexec/touchstone/touchstone-pam-verify"
    private static let resultDescriptor: Int32 = 3

    private let service: String
    /// Where the service's file is, if not where the system keeps them.
    private let directory: URL?

    /// - Parameter service: nil: the module alone.
    /// - Throws: `Failure` if there is no such service.
    init(_ service: String?) throws {
        guard PAMStacks.isInstalled else {
            throw Failure(.unavailable, "the module is not installed; the package libpam-touchstone has it")
        }
        guard let service else {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "touchstone-pam.\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            for name in ["touchstone-test", "other"] {
                try Data("auth required pam_touchstone.so\n".utf8).write(to: directory.appendingPathComponent(name))
            }
            (self.service, self.directory) = ("touchstone-test", directory)
            return
        }
        guard !service.contains("/"), unsafe access("/etc/pam.d/\(service)", R_OK) == 0 else {
            throw Failure(.unavailable, "there is no PAM service '\(PlainText.line(service))' in /etc/pam.d")
        }
        (self.service, directory) = (service, nil)
    }

    /// Runs it, for the user who calls, or who called sudo.
    ///
    /// - Returns: What pam_authenticate returned; -1 if the program ended without saying.
    func run() throws -> Int32 {
        defer { if let directory { try? FileManager.default.removeItem(at: directory) } }
        let caller = ProcessInfo.processInfo.environment["SUDO_UID"].flatMap(UInt32.init) ?? getuid()
        guard let entry = unsafe getpwuid(geteuid() == 0 ? caller : getuid()) else {
            throw Failure(.no, "you have no name on this machine")
        }
        let user = unsafe String(cString: entry.pointee.pw_name)
        let (reading, writing) = try Child.pipe()
        let handle = FileHandle(fileDescriptor: reading, closeOnDealloc: true)
        let child: Child
        do {
            defer { close(writing) }
            child = try Child.start(
                Self.verifier, [service, user] + (directory.map { [$0.path] } ?? []),
                inheriting: [
                    (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)),
                    (STDOUT_FILENO, .file("/dev/null", flags: O_WRONLY)),
                    (STDERR_FILENO, .descriptor(STDERR_FILENO)), (Self.resultDescriptor, .descriptor(writing)),
                ], flags: 0)
        }
        let said = String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self)
        _ = child.wait()
        return said.split(separator: "\n").last.flatMap { $0.hasPrefix("result ") ? Int32($0.dropFirst(7)) : nil } ?? -1
    }

    /// Linux-PAM's numbers.
    static func words(_ result: Int32) -> String {
        switch result {
        case 4: "PAM_SYSTEM_ERR: the enrolment or the device's answer cannot be trusted"
        case 7: "PAM_AUTH_ERR"
        case 9: "PAM_AUTHINFO_UNAVAIL"
        case 10: "PAM_USER_UNKNOWN: you are not enrolled, or have no device of the system"
        default: "result \(result)"
        }
    }
}
