internal import Foundation
import Glibc

/// One process, and never another of the same number: its number, and when it began (ND-1).
///
/// What it says of the process it reads when it is asked, from `/proc`. A process that is gone says nothing.
public struct ClientProcess: Hashable, Sendable, Codable {
    /// Its number.
    public let processID: Int32
    /// When it began, in ticks since the system was booted: field 22 of `/proc/PID/stat`.
    public let startTicks: UInt64

    /// The process that has this number now; nil if no process has it.
    ///
    /// - Parameter processID: Its number.
    public init?(processID: Int32) {
        guard let status = Status(processID) else { return nil }
        self.init(processID, status)
    }

    private init(_ processID: Int32, _ status: Status) {
        self.processID = processID
        startTicks = status.started
    }

    /// Whether it still runs.
    public var isThere: Bool { status.map { !$0.isOver } ?? false }

    /// The path of the file that it executes; nil if the kernel does not show it, as of a process that is not dumpable.
    public var executable: String? {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
        // Looked at afterwards, so that the path is not that of the next process with this number.
        return isThere ? path : nil
    }

    /// The file that it executes, however its path is called.
    var executedFile: ExecutedFile? {
        var file = stat()
        guard unsafe stat("/proc/\(processID)/exe", &file) == 0, isThere else { return nil }
        return ExecutedFile(device: file.st_dev, inode: file.st_ino)
    }

    /// What it calls itself.
    public var name: String? { status?.name }

    /// The number of its terminal's device; nil if it has no terminal.
    public var terminal: Int32? { status.flatMap { $0.terminal == 0 ? nil : $0.terminal } }

    /// The number of its session: of a shell in a terminal, all that is started there.
    public var session: Int32? { status?.session }

    /// The process that started it, or that took it over; nil for the first one, and behind it.
    public var parent: ClientProcess? {
        guard let status, status.parent > 1, let parent = Status(status.parent),
            // One that began later got its number after the parent had ended.
            parent.started <= status.started
        else { return nil }
        return ClientProcess(status.parent, parent)
    }

    /// Those that started it, the nearest first, without the first process of the system; 16 at most.
    public var ancestors: [ClientProcess] {
        var found: [ClientProcess] = []
        var next = parent
        while let process = next, found.count < Self.mostAncestors {
            found.append(process)
            next = process.parent
        }
        return found
    }

    private static let mostAncestors = 16

    /// Whether it is in a sandbox of Flatpak's or snap's, whose programs get no bridge that is not meant for them (BR-7).
    public var isSandboxed: Bool {
        let result = unsafe access("/proc/\(processID)/root/.flatpak-info", F_OK)
        return Self.isSandboxed(
            flatpak: result == 0 ? 0 : errno, isRoots: isRoots,
            groups: (try? String(contentsOfFile: "/proc/\(processID)/cgroup", encoding: .utf8)) ?? "")
    }

    /// What follows from the evidence.
    ///
    /// - Parameters:
    ///   - flatpak: 0 where Flatpak's file is in the process's root directory, else why it cannot be seen. Only ENOENT says that it is not
    ///     there: nobody looks into the root directory of a process that is not dumpable.
    ///   - isRoots: Whether the process is root's. Those are never in such a sandbox, and nobody else looks into them.
    ///   - groups: Its control groups.
    /// - Returns: Whether it counts as sandboxed.
    static func isSandboxed(flatpak: Int32, isRoots: Bool, groups: String) -> Bool {
        flatpak == 0 || (flatpak != ENOENT && !isRoots)
            || groups.split(whereSeparator: { $0 == "/" || $0 == "\n" }).contains {
                $0.hasPrefix("snap.") || $0.hasPrefix("app-flatpak-")
            }
    }

    /// Whether all its user ids are root's, as the kernel shows them here.
    private var isRoots: Bool {
        let lines = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8))?.split(separator: "\n")
        guard let ids = lines?.first(where: { $0.hasPrefix("Uid:") })?.split(whereSeparator: \.isWhitespace).dropFirst()
        else { return false }
        return ids.count == 4 && ids.allSatisfy { $0 == "0" }
    }

    private var status: Status? {
        guard let status = Status(processID), status.started == startTicks else { return nil }
        return status
    }
}

/// Tells one executed file from another of the same path.
struct ExecutedFile: Hashable, Sendable {
    var device: UInt
    var inode: UInt
}

/// One line of `/proc/PID/stat`.
private struct Status {
    var name: String
    var isOver: Bool
    var parent: Int32
    var session: Int32
    var terminal: Int32
    var started: UInt64

    init?(_ processID: Int32) {
        guard let line = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
            // The name is in parentheses, and may hold spaces and parentheses.
            let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")"), open < close
        else { return nil }
        // From field 3 on.
        let fields = line[line.index(after: close)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > 19, let parent = Int32(fields[1]), let session = Int32(fields[3]),
            let terminal = Int32(fields[4]), let started = UInt64(fields[19])
        else { return nil }
        name = String(line[line.index(after: open)..<close])
        isOver = fields[0] == "Z" || fields[0] == "X"
        self.parent = parent
        self.session = session
        self.terminal = terminal
        self.started = started
    }
}
