import Foundation
import Glibc
import TouchstoneDevice

/// A pinentry program that shows one dialog, from its start to its end.
@safe final class PinentryProcess {
    /// What came of the dialog.
    enum Outcome {
        case confirmed, notConfirmed, canceled
        case entered(PasscodeBuffer)
        /// It ended, or sent something that is not an answer.
        case failed(String)
    }

    /// Readable when the program has said something, or has ended.
    let descriptor: Int32
    private let child: Child
    private let isEntry: Bool
    /// What is still to be sent, each after the answer to the one before it.
    private var commands: [Data]
    /// A line as far as it has come; wiped, since it may hold what was typed.
    private let line: UnsafeMutableRawBufferPointer
    private var count = 0
    private let entered = PasscodeBuffer()
    private var outcome: Outcome?

    /// Starts `program` and has it show the dialog.
    ///
    /// - Throws: `Failure` if it cannot be started.
    init(_ program: String, _ dialog: PinentryDialog) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure.system("a socket pair") }
        defer { close(ends[1]) }
        do {
            // In our own process group: in another it might not read from the terminal.
            child = try Child.start(
                program, [],
                inheriting: [
                    (STDIN_FILENO, .descriptor(ends[1])), (STDOUT_FILENO, .descriptor(ends[1])),
                    (STDERR_FILENO, .file("/dev/null", flags: O_WRONLY)),
                ], flags: 0)
        } catch {
            close(ends[0])
            throw error
        }
        descriptor = ends[0]
        isEntry = dialog.isEntry
        commands = Self.options + dialog.commands
        unsafe line = .allocate(byteCount: AssuanLine.maximumBytes + 1, alignment: 16)
        _ = unsafe mlock(line.baseAddress!, line.count)
        _ = unsafe madvise(line.baseAddress!, line.count, MADV_DONTDUMP)
    }

    deinit {
        unsafe explicit_bzero(line.baseAddress!, line.count)
        _ = unsafe munlock(line.baseAddress!, line.count)
        unsafe line.deallocate()
        close(descriptor)
    }

    /// Where it may show its dialog; gpg-agent sends the same options.
    private static var options: [Data] {
        let environment = ProcessInfo.processInfo.environment
        let locale = environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"]
        let values = [
            ("ttyname", environment["GPG_TTY"] ?? Terminal.name), ("ttytype", environment["TERM"]),
            ("display", environment["DISPLAY"]), ("lc-ctype", locale), ("lc-messages", locale),
        ]
        return values.compactMap { name, value in
            value.flatMap { $0.isEmpty ? nil : AssuanLine.command("OPTION", "\(name)=\($0)") }
        }
    }

    /// Takes what the program has said.
    ///
    /// - Returns: The outcome, once it is there.
    func read() -> Outcome? {
        // One byte at a time, so that nothing typed is in any other memory.
        var byte: UInt8 = 0
        defer { unsafe explicit_bzero(&byte, 1) }
        while outcome == nil {
            let got = unsafe recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            if got < 0, errno == EINTR { continue }
            if got < 0, errno == EAGAIN || errno == EWOULDBLOCK { return nil }
            guard got > 0 else { return .failed("ended without an answer") }
            if byte == UInt8(ascii: "\n") {
                take()
            } else if count <= AssuanLine.maximumBytes {
                unsafe line[count] = byte
                count += 1
            }
        }
        return outcome
    }

    private func take() {
        defer {
            unsafe explicit_bzero(line.baseAddress!, line.count)
            count = 0
        }
        let reply = unsafe AssuanLine.read(UnsafeRawBufferPointer(rebasing: line.prefix(count)), data: entered)
        let isLast = commands.isEmpty
        switch reply {
        case .remark, .data: break
        case .malformed, .inquiry: outcome = .failed("sent something that is not an answer")
        case .error(AssuanLine.canceled, _) where isLast: outcome = .canceled
        case .error(AssuanLine.notConfirmed, _) where isLast: outcome = .notConfirmed
        case .error(_, let text) where isLast: outcome = .failed("cannot show its dialog: \(text)")
        case .ok where isLast: outcome = isEntry ? .entered(entered) : .confirmed
        // If it does not know an option, the option is not needed.
        case .ok, .error: send(commands.removeFirst())
        }
    }

    private func send(_ command: Data) {
        let bytes = [UInt8](command) + [UInt8(ascii: "\n")]
        var sent = 0
        while sent < bytes.count {
            let got = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.send(
                    descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return outcome = .failed("ended without an answer") }
            sent += got
        }
    }

    /// Takes the dialog down, if it is still up, and waits until the program has ended.
    func end() {
        entered.wipe()
        shutdown(descriptor, Int32(SHUT_RDWR))
        for number in [SIGTERM, SIGKILL] {
            child.send(number)
            let deadline = ContinuousClock.now + Self.patience
            while ContinuousClock.now < deadline {
                if child.poll() != nil { return }
                Pause.sleep(Pause.connect)
            }
        }
        _ = child.wait()
    }

    /// How long a program may take to put its terminal in order.
    private static let patience = Duration.seconds(1)
}
