import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// A supervisor that stays when the command that started it returns: this program once more, in its own session.
enum DetachedSupervisor {
    /// Returns when the device answers.
    ///
    /// - Throws: `Failure` with the supervisor's status, after showing what it wrote to its log.
    static func start(_ paths: DevicePaths, wait: Double, silence: Double) throws {
        let log = paths.state.appendingPathComponent("supervisor.log").path
        let logEnd = try prepare(log: log)
        let (reading, writing) = try Child.pipe()
        defer { close(reading) }
        let child: Child
        do {
            defer { close(writing) }
            child = try Child.start(
                try Program.ownPath(),
                [
                    "device", "boot", "--foreground", "--wait", "\(wait)", "--silence", "\(silence)",
                    "--ready-descriptor", "\(readyDescriptor)", paths.name,
                ],
                inheriting: [
                    (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)),
                    (STDOUT_FILENO, .file(log, flags: O_WRONLY | O_APPEND | O_CREAT)),
                    (STDERR_FILENO, .file(log, flags: O_WRONLY | O_APPEND | O_CREAT)),
                    (readyDescriptor, .descriptor(writing)),
                ], flags: touchstone_spawn_flag_new_session())
        }
        // The supervisor keeps the deadline; it closes its end when it gives up.
        var byte: UInt8 = 0
        var count = unsafe read(reading, &byte, 1)
        while count < 0, errno == EINTR { count = unsafe read(reading, &byte, 1) }
        guard count != 1 else { return }
        let ending = child.wait()
        show(log, from: logEnd)
        guard case .exited(let number) = ending, let status = ExitStatus(rawValue: number), status != .success else {
            throw Failure(.internalError, "\(paths.name) was not booted: its supervisor \(ending)")
        }
        throw Failure(status, "\(paths.name) was not booted")
    }

    /// Begins a new log where the old one has grown large.
    ///
    /// Returns where this start's part begins.
    private static func prepare(log: String) throws -> UInt64 {
        var status = stat()
        let size = unsafe lstat(log, &status) == 0 ? UInt64(max(0, status.st_size)) : 0
        guard size > maximumLogBytes else { return size }
        guard unsafe truncate(log, 0) == 0 else { throw Failure.system(log) }
        return 0
    }

    private static func show(_ log: String, from offset: UInt64) {
        guard let file = FileHandle(forReadingAtPath: log) else { return }
        defer { try? file.close() }
        guard (try? file.seek(toOffset: offset)) != nil, let text = try? file.read(upToCount: maximumLogBytes) else {
            return
        }
        try? FileHandle.standardError.write(contentsOf: text)
    }

    private static let readyDescriptor: Int32 = 3
    private static let maximumLogBytes = 1 << 20
}
