import Foundation
import Glibc
package import TouchstoneCore

extension ProcessOrigin {
    private enum Limits {
        static let ancestors = 16
        static let fileBytes = 16 << 10
    }

    /// Servers that give somebody elsewhere a session here, by the names of their processes, which have at most 15 bytes.
    private static let remoteServers: Set<String> = [
        "sshd", "sshd-session", "sshd-auth", "dropbear", "mosh-server", "etserver", "etterminal", "telnetd",
        "in.telnetd",
        "tailscaled", "xrdp", "xrdp-sesman", "ttyd", "teleport",
    ]

    /// Reads how a process came to run; nil where it is gone.
    ///
    /// - Parameters:
    ///   - process: Its directory in `/proc`.
    ///   - user: Whose process it is.
    ///   - proc: `/proc`, for its ancestors.
    ///   - sessions: Where the login service keeps what it knows of sessions, in files that only root writes.
    package init?(
        process: String, user: UInt32, proc: String = "/proc", sessions: String = "/run/systemd/sessions"
    ) {
        guard let own = ProcessStatus(directory: process) else { return nil }
        var ancestors: [Ancestor] = []
        var child = own
        while ancestors.count < Limits.ancestors, child.parent > 1,
            let parent = ProcessStatus(directory: "\(proc)/\(child.parent)"),
            // One that began later got its number after the parent had ended.
            parent.started <= child.started
        {
            let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(proc)/\(child.parent)/exe")
            ancestors.append(Ancestor(processID: child.parent, executable: executable, name: parent.name))
            child = parent
        }
        let session = Self.session(ofControlGroup: Self.text("\(process)/cgroup") ?? "", user: user)
        let login = session.flatMap { Self.login("\(sessions)/\($0)") }
        let server = ancestors.lazy.compactMap(Self.remoteServer).first
        let isRemote = server != nil || login?["REMOTE"] == "1"
        self.init(
            ancestors: ancestors, terminal: own.terminal, session: session,
            place: isRemote ? .remote : login?["REMOTE"] == "0" ? .local : .unknown,
            remote: isRemote ? login?["REMOTE_HOST"] ?? server : nil)
    }

    /// A program that calls itself such a server without being one does its user no favour.
    private static func remoteServer(_ ancestor: Ancestor) -> String? {
        [ancestor.name, ancestor.executable.map { URL(fileURLWithPath: $0).lastPathComponent }].compactMap { $0 }
            .first(where: remoteServers.contains)
    }

    /// The session whose control group `/user.slice/user-1000.slice/session-3.scope` this is, or lies in.
    ///
    /// Only the login service makes groups there. Groups of that name elsewhere, as below the user's service manager, any program can make.
    static func session(ofControlGroup lines: String, user: UInt32) -> String? {
        guard let line = lines.split(separator: "\n").first(where: { $0.hasPrefix("0::") }) else { return nil }
        let parts = line.dropFirst("0::".count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].isEmpty, parts[1] == "user.slice", parts[2] == "user-\(user).slice",
            parts[3].hasPrefix("session-"), parts[3].hasSuffix(".scope")
        else { return nil }
        let name = parts[3].dropFirst("session-".count).dropLast(".scope".count)
        guard !name.isEmpty, name.utf8.count <= 64,
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        return String(name)
    }

    /// The lines `KEY=value` of a session's file.
    private static func login(_ path: String) -> [String: String]? {
        guard let text = text(path) else { return nil }
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        return values
    }

    fileprivate static func text(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return (try? file.read(upToCount: Limits.fileBytes)).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// One line of `/proc/PID/stat`.
struct ProcessStatus: Equatable {
    var name: String
    var parent: Int32
    var terminal: String?
    /// Ticks since the system was booted.
    var started: UInt64

    init?(directory: String) {
        guard let line = ProcessOrigin.text("\(directory)/stat") else { return nil }
        self.init(line)
    }

    /// - Parameter line: The name is in parentheses, and may hold spaces and parentheses.
    init?(_ line: String) {
        guard let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")"), open < close else { return nil }
        let fields = line[line.index(after: close)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > Field.started, let parent = Int32(fields[Field.parent]),
            let device = Int32(fields[Field.terminal]), let started = UInt64(fields[Field.started])
        else { return nil }
        name = String(line[line.index(after: open)..<close])
        self.parent = parent
        self.started = started
        terminal = Self.terminal(UInt32(bitPattern: device))
    }

    /// Places behind the name (proc(5), fields 4, 7 and 22).
    private enum Field {
        static let parent = 1
        static let terminal = 4
        static let started = 19
    }

    /// The second number behind `Uid:` of `/proc/PID/status`; the owner of the directory is root's where a process is not dumpable.
    static func effectiveUserID(directory: String) -> UInt32? {
        ProcessOrigin.text("\(directory)/status")?.split(separator: "\n").first { $0.hasPrefix("Uid:") }.flatMap {
            line in
            let fields = line.split(whereSeparator: \.isWhitespace)
            return fields.count == 5 ? UInt32(fields[2]) : nil
        }
    }

    /// The name in `/dev` of a terminal's device number.
    static func terminal(_ device: UInt32) -> String? {
        let major = device >> 8 & 0xFFF
        let minor = device & 0xFF | device >> 12 & 0xFFF00
        return switch major {
        case 0: nil
        case 136...143: "pts/\((major - 136) * 256 + minor)"
        case 4 where minor < 64: "tty\(minor)"
        case 4: "ttyS\(minor - 64)"
        default: "\(major):\(minor)"
        }
    }
}
