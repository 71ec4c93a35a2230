import Foundation
import Glibc

/// A process that runs, by what /proc tells everybody of it.
struct RunningProcess {
    let pid: pid_t
    /// Of its program, as it was started.
    let name: String
    let user: uid_t

    init?(_ pid: pid_t) {
        guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline"),
            let word = line.split(separator: 0, maxSplits: 1).first,
            let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let users = status.split(separator: "\n").first(where: { $0.hasPrefix("Uid:") }),
            let user = users.split(whereSeparator: \.isWhitespace).dropFirst(2).first.flatMap({ uid_t($0) })
        else { return nil }
        self.pid = pid
        name = URL(fileURLWithPath: String(decoding: word, as: UTF8.self)).lastPathComponent
        // The effective one.
        self.user = user
    }

    static func children(of parent: pid_t) -> [RunningProcess] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(parent)/task")) ?? []
        return tasks.flatMap { task in
            let children = (try? String(contentsOfFile: "/proc/\(parent)/task/\(task)/children", encoding: .utf8)) ?? ""
            return children.split(separator: " ").compactMap { pid_t($0) }.compactMap(RunningProcess.init)
        }
    }

    /// The soft limit of a resource, by its name in /proc/PID/limits; `max` for none, nil if it is unknown.
    func limit(_ resource: String) -> UInt64? {
        guard let limits = try? String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8),
            let line = limits.split(separator: "\n").first(where: { $0.hasPrefix(resource) }),
            let word = line.dropFirst(resource.count).split(separator: " ").first
        else { return nil }
        return word == "unlimited" ? .max : UInt64(word)
    }
}
