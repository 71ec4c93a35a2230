import CTouchstoneSystem
import Foundation
import Glibc
import PAMChallenge

/// What the helper reads of the machine.
enum Machine {
    /// PM-4: from the file alone.
    ///
    /// No module of a name service runs here.
    static func userID(of name: String) -> UInt32? {
        contents(of: "/etc/passwd", atMost: UserEntries.largestFile).flatMap { UserEntries.userID(of: name, in: $0) }
    }

    static func userName(of userID: UInt32) -> String? {
        contents(of: "/etc/passwd", atMost: UserEntries.largestFile).flatMap { UserEntries.name(of: userID, in: $0) }
    }

    /// This machine's own name; empty if it has none.
    static var name: String { text(of: "/proc/sys/kernel/hostname") }

    static var bootID: String { text(of: "/proc/sys/kernel/random/boot_id") }

    static var isLidClosed: Bool {
        let lids = "/proc/acpi/button/lid"
        return ((try? FileManager.default.contentsOfDirectory(atPath: lids)) ?? []).contains {
            Surroundings.isClosed(lidState: text(of: "\(lids)/\($0)/state"))
        }
    }

    /// Whether a process was started with the variable that sshd sets (PM-10).
    ///
    /// sudo has thrown it away by the time that a module asks for it.
    static func isOverSSH(_ processID: Int32) -> Bool {
        let variables = contents(of: "/proc/\(processID)/environ", atMost: largestEnvironment) ?? Data()
        return variables.split(separator: 0).contains { $0.starts(with: Array("SSH_CONNECTION=".utf8)) }
    }

    private static let largestEnvironment = 4 << 20

    /// From the kernel.
    static func random(_ count: Int) -> Data {
        var bytes = Data(count: count)
        let code = unsafe bytes.withUnsafeMutableBytes { unsafe touchstone_random($0.baseAddress!, $0.count) }
        // Without it there is no challenge.
        guard code == 0 else { _exit(1) }
        return bytes
    }

    private static func text(of path: String) -> String {
        contents(of: path, atMost: 256).map { String(decoding: $0, as: UTF8.self) }?
            .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }

    private static func contents(of path: String, atMost count: Int) -> Data? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return (try? file.read(upToCount: count + 1)).flatMap { $0.count <= count ? $0 : nil }
    }
}
