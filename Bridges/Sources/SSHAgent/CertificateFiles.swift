internal import Foundation
internal import Glibc
internal import SSHAgentProtocol

/// Certificates beside the public halves of keys: `NAME-cert.pub`, where `ssh-keygen -s` writes them (SA-5).
enum CertificateFiles {
    /// The directory in which `touchstone-ssh` writes public halves.
    private static let directory: String = {
        let environment = ProcessInfo.processInfo.environment
        let own = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (own ?? "\(environment["HOME"] ?? NSHomeDirectory())/.config") + "/touchstone/ssh"
    }()

    /// Reads the certificate of a key.
    ///
    /// - Parameters:
    ///   - name: Of the key, which is no path.
    ///   - key: Its blob. A certificate of another key is not returned.
    /// - Returns: The certificate; nil if there is no certificate that is good now.
    static func certificate(_ name: String, _ key: [UInt8]) -> UserCertificate? {
        guard !name.contains("/"), let file = regularFile("\(directory)/\(name)-cert.pub"),
            let bytes = try? file.read(upToCount: UserCertificate.maximumFileCount + 1),
            let found = UserCertificate(file: Array(bytes)), found.key == key,
            found.isValid(at: UInt64(max(0, Date().timeIntervalSince1970)))
        else { return nil }
        return found
    }

    /// Opens a file to read; nil if it cannot be opened, or is not a regular file.
    ///
    /// A FIFO or a device never makes the agent wait.
    private static func regularFile(_ path: String) -> FileHandle? {
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return file
    }
}
