import Foundation

/// Programs that do whatever their caller wants, so that they say nothing about who asks (BR-13).
///
/// The list is data: a name, or the beginning of one, and the reason for which it is here.
public enum Multiplexers {
    struct Row {
        /// The last part of the path; with a star, what it begins with.
        var name: String
        var reason: String
    }

    static let rows: [Row] = [
        Row(name: "sh", reason: "a shell runs what it is told to"),
        Row(name: "bash", reason: "a shell"),
        Row(name: "dash", reason: "a shell"),
        Row(name: "zsh*", reason: "a shell"),
        Row(name: "fish", reason: "a shell"),
        Row(name: "ksh*", reason: "a shell"),
        Row(name: "mksh", reason: "a shell"),
        Row(name: "tcsh", reason: "a shell"),
        Row(name: "nu", reason: "a shell"),
        Row(name: "busybox*", reason: "a shell, and much else"),
        Row(name: "python*", reason: "an interpreter: all of its scripts are one program (BR-14)"),
        Row(name: "perl*", reason: "an interpreter"),
        Row(name: "ruby*", reason: "an interpreter"),
        Row(name: "node*", reason: "an interpreter"),
        Row(name: "java", reason: "an interpreter"),
        Row(name: "php*", reason: "an interpreter"),
        Row(name: "lua*", reason: "an interpreter"),
        Row(name: "make", reason: "runs what a file says"),
        Row(name: "env", reason: "runs its arguments"),
        Row(name: "ld-linux*", reason: "runs its arguments"),
        Row(name: "nohup", reason: "runs its arguments"),
        Row(name: "stdbuf", reason: "runs its arguments"),
        Row(name: "ionice", reason: "runs its arguments"),
        Row(name: "taskset", reason: "runs its arguments"),
        Row(name: "chrt", reason: "runs its arguments"),
        Row(name: "unshare", reason: "runs its arguments"),
        Row(name: "nsenter", reason: "runs its arguments"),
        Row(name: "systemd-run", reason: "runs its arguments"),
        Row(name: "strace", reason: "runs its arguments, and changes what they do"),
        Row(name: "ltrace", reason: "runs its arguments"),
        Row(name: "gdb", reason: "runs its arguments, and changes what they do"),
        Row(name: "find", reason: "runs what it is told to"),
        Row(name: "parallel", reason: "runs what it is told to"),
        Row(name: "watch", reason: "runs its arguments"),
        Row(name: "script", reason: "runs a shell"),
        Row(name: "tmux*", reason: "runs shells"),
        Row(name: "screen*", reason: "runs shells"),
        Row(name: "vim*", reason: "runs what it is told to"),
        Row(name: "nvim", reason: "runs what it is told to"),
        Row(name: "emacs*", reason: "runs what it is told to"),
        Row(name: "awk", reason: "an interpreter"),
        Row(name: "gawk*", reason: "an interpreter"),
        Row(name: "mawk", reason: "an interpreter"),
        Row(name: "deno", reason: "an interpreter"),
        Row(name: "bun", reason: "an interpreter"),
        Row(name: "tclsh*", reason: "an interpreter"),
        Row(name: "wish*", reason: "an interpreter"),
        Row(name: "guile*", reason: "an interpreter"),
        Row(name: "nice", reason: "runs its arguments"),
        Row(name: "setsid", reason: "runs its arguments"),
        Row(name: "timeout", reason: "runs its arguments"),
        Row(name: "xargs", reason: "runs its arguments"),
        Row(name: "sudo*", reason: "runs its arguments"),
        Row(name: "flatpak-spawn", reason: "runs its arguments"),
        Row(name: "git", reason: "runs programs, hooks and aliases of its configuration"),
        Row(name: "git-*", reason: "git's own programs, started by git"),
        Row(name: "ssh", reason: "carries the requests of another machine, and of whoever starts it"),
        Row(name: "ssh-*", reason: "asks for whoever starts it"),
        Row(name: "scp", reason: "starts ssh"),
        Row(name: "sftp", reason: "starts ssh"),
        Row(name: "rsync", reason: "starts ssh"),
        Row(name: "docker-credential-*", reason: "asks for whoever starts it"),
        Row(name: "secret-tool", reason: "asks for whoever starts it"),
        Row(name: "busctl", reason: "sends what it is told to"),
        Row(name: "gdbus", reason: "sends what it is told to"),
        Row(name: "dbus-send", reason: "sends what it is told to"),
        Row(name: "security", reason: "asks for whoever starts it"),
        Row(name: "touchstone*", reason: "asks for whoever starts it"),
        Row(name: "age", reason: "asks for whoever starts it"),
        Row(name: "age-plugin-*", reason: "asks for whoever starts it"),
    ]

    /// Service managers start anything, and take over whatever lost its parent.
    static let serviceManagers: Set<String> = ["systemd", "init", "openrc", "runit", "s6-svscan"]

    /// Whether the program of this path is one of them; one of which nobody can tell the path is.
    public static func contain(_ executable: String?) -> Bool {
        guard let name = lastPart(executable) else { return true }
        return rows.contains { row in
            row.name.hasSuffix("*") ? name.hasPrefix(row.name.dropLast()) : name == row.name
        }
    }

    static func isServiceManager(_ executable: String?) -> Bool {
        lastPart(executable).map { serviceManagers.contains(String($0)) } ?? false
    }

    private static func lastPart(_ path: String?) -> Substring? {
        // The kernel's word for a file that an update replaced.
        path?.split(separator: "/").last.map { $0.hasSuffix(" (deleted)") ? $0.dropLast(10) : $0 }
    }
}

extension ClientProcess {
    /// The nearest ancestor that is no multiplexer, on whose behalf it asks; nil if it hangs from a service manager (BR-10, BR-13).
    public var starter: ClientProcess? {
        var found: ClientProcess?
        climb { process, executable in
            guard !Multiplexers.isServiceManager(executable) else { return false }
            guard Multiplexers.contain(executable) else {
                found = process
                return false
            }
            return true
        }
        return found
    }

    /// What an approval may be good for, beyond this process (BR-13): its program, in its session, started from the same place.
    public var clientSession: ClientSession? {
        guard let (executable, status) = look else { return nil }
        return ClientSession(
            executable: executable, session: status.session, terminal: status.terminal, anchor: anchor(status))
    }

    /// The starter; of one that nobody knows, the outermost process that a service manager started.
    private func anchor(_ status: ProcessStatus) -> ClientProcess {
        var outermost = self
        climb(from: status) { process, executable in
            guard !Multiplexers.isServiceManager(executable) else { return false }
            outermost = process
            return Multiplexers.contain(executable)
        }
        return outermost
    }
}

/// Processes of one program in one session of a terminal, started from the same place.
public struct ClientSession: Hashable, Sendable {
    /// The path of the program.
    public let executable: String
    /// The number of the session.
    public let session: Int32
    /// The number of the terminal's device.
    public let terminal: Int32?
    /// The nearest ancestor that is no multiplexer: with it the session ends.
    public let anchor: ClientProcess
}
