internal import CTouchstoneSystem
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
        guard let status = ProcessStatus(processID) else { return nil }
        self.init(processID, status)
    }

    private init(_ processID: Int32, _ status: ProcessStatus) {
        self.processID = processID
        startTicks = status.started
    }

    /// Whether it still runs.
    public var isThere: Bool { status.map { !$0.isOver } ?? false }

    /// The path of the file that it executes; nil if the kernel does not show it, as of a process that is not dumpable.
    public var executable: String? { look?.executable }

    /// What it executes, and its status; nil if it is gone, or the kernel does not show what it executes.
    var look: (executable: String, status: ProcessStatus)? {
        let path = Self.path(executedBy: processID)
        // Looked at afterwards, so that the path is not that of the next process with this number.
        guard let path, let status, !status.isOver else { return nil }
        return (path, status)
    }

    /// The path of what the process executes that has this number now.
    private static func path(executedBy processID: Int32) -> String? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { room, count in
            count = unsafe room.withMemoryRebound(to: CChar.self) { room in
                unsafe max(0, readlink("/proc/\(processID)/exe", room.baseAddress!, room.count))
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// What it calls itself.
    public var name: String? { status?.name }

    /// The number of its terminal's device; nil if it has no terminal.
    public var terminal: Int32? { status?.terminal }

    /// The number of its session: of a shell in a terminal, all that is started there.
    public var session: Int32? { status?.session }

    /// The process that started it, or that took it over; nil for the first one, and behind it.
    public var parent: ClientProcess? {
        var found: ClientProcess?
        climb { parent, _ in
            found = parent
            return false
        }
        return found
    }

    /// Those that started it, the nearest first, without the first process of the system; 16 at most.
    public var ancestors: [ClientProcess] {
        var found: [ClientProcess] = []
        climb { process, _ in
            found.append(process)
            return true
        }
        return found
    }

    /// Goes through those that started it, in the order of ``ancestors``, until `body` returns false.
    ///
    /// - Parameter body: Takes a process, and the path of what it executes, as of ``executable``.
    func climb(_ body: (ClientProcess, String?) -> Bool) {
        if let status { climb(from: status, body) }
    }

    /// The same where its status was read just now.
    func climb(from status: ProcessStatus, _ body: (ClientProcess, String?) -> Bool) {
        var status = status
        for _ in 0..<Self.mostAncestors {
            guard status.parent > 1 else { return }
            let path = Self.path(executedBy: status.parent)
            guard let parent = ProcessStatus(status.parent),
                // One that began later got its number after the parent had ended. One that did not had it when its path was read.
                parent.started <= status.started,
                body(ClientProcess(status.parent, parent), parent.isOver ? nil : path)
            else { return }
            status = parent
        }
    }

    private static let mostAncestors = 16

    /// Whether it is in a sandbox of Flatpak's or snap's, whose programs get no bridge that is not meant for them (BR-7).
    public var isSandboxed: Bool {
        let result = unsafe access("/proc/\(processID)/root/.flatpak-info", F_OK)
        return Self.isSandboxed(
            flatpak: result == 0 ? 0 : errno, isRoots: isRoots,
            groups: try? String(contentsOfFile: "/proc/\(processID)/cgroup", encoding: .utf8))
    }

    /// What follows from the evidence.
    ///
    /// - Parameters:
    ///   - flatpak: 0 where Flatpak's file is in the process's root directory, else why it cannot be seen. Only ENOENT says that it is not
    ///     there: nobody looks into the root directory of a process that is not dumpable.
    ///   - isRoots: Whether the process is root's. Those are never in such a sandbox, and nobody else looks into them.
    ///   - groups: Its control groups; nil if they cannot be read, as while this process has no descriptor left.
    /// - Returns: Whether it counts as sandboxed.
    static func isSandboxed(flatpak: Int32, isRoots: Bool, groups: String?) -> Bool {
        if flatpak == 0 || (flatpak != ENOENT && !isRoots) { return true }
        guard let groups else { return !isRoots }
        return groups.split(whereSeparator: { $0 == "/" || $0 == "\n" }).contains {
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

    /// nil if it is gone.
    var status: ProcessStatus? {
        guard let status = ProcessStatus(processID), status.started == startTicks else { return nil }
        return status
    }
}

/// Tells one executed file from another of the same path.
///
/// An upgrade removes the path of a running program, and leaves its file.
public struct ExecutedFile: Hashable, Sendable {
    let device: UInt
    let inode: UInt

    /// What the process executes that has this number now; nil if the kernel does not show it.
    ///
    /// - Parameter processID: Its number.
    public init?(of processID: Int32) {
        let process = unsafe open("/proc/\(processID)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard process >= 0 else { return nil }
        defer { close(process) }
        self.init(in: process)
    }

    /// The same of the process whose directory is open, and of no later one with its number.
    fileprivate init?(in directory: Int32) {
        // Does not ask the file system, which may be the program's own and never answer (SS-65).
        var file = touchstone_executable()
        guard unsafe touchstone_executable_of(directory, &file) == 0 else { return nil }
        (device, inode) = (UInt(file.device), UInt(file.inode))
    }
}

/// A process that executes a file, for whoever looks again and again whether it still does (BR-11).
///
/// It keeps the process's directory in `/proc` open, which never becomes that of another process. So one look is enough.
public final class ExecutingProcess: Sendable {
    private let file: ExecutedFile
    private let directory: Int32

    /// Opens the directory; nil if the process does not execute that now, or this one has no descriptor left.
    ///
    /// - Parameters:
    ///   - process: Of the device's user.
    ///   - file: What it executed when it was seen first.
    public init?(_ process: ClientProcess, executing file: ExecutedFile) {
        self.file = file
        directory = unsafe open("/proc/\(process.processID)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // It is there now, so the directory that was opened before is its own.
        guard directory >= 0, process.isThere, isUnchanged else { return nil }
    }

    deinit { if directory >= 0 { close(directory) } }

    /// Whether it is there, and executes that file.
    public var isUnchanged: Bool { ExecutedFile(in: directory) == file }
}
