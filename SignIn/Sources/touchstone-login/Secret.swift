import Foundation
import Synchronization

/// Asks for the account's password or a second factor: at a terminal without echo, else a line of standard input.
///
/// Never from the command line, which every program on the machine can read.
enum Secret {
    /// In bytes.
    static let maximumLength = 1024

    /// `name` is what the prompt calls it.
    static func read(_ name: String) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try line(name) }
        var attributes = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &attributes) == 0 else {
            throw Failure(status: .internalError, message: "the terminal cannot be told to hide what is typed")
        }
        saved.withLock { [attributes] in $0 = attributes }
        attributes.c_lflag &= ~tcflag_t(ECHO)
        guard unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &attributes) == 0 else {
            throw Failure(status: .internalError, message: "the terminal cannot be told to hide what is typed")
        }
        for number in fatalSignals { signal(number, restoreAndDie) }
        defer {
            restore()
            for number in fatalSignals { signal(number, SIG_DFL) }
            StandardError.write("\n")
        }
        StandardError.write("\(name.prefix(1).uppercased())\(name.dropFirst()): ")
        return try line(name)
    }

    private static func line(_ name: String) throws -> String {
        guard let line = readLine(strippingNewline: true), !line.isEmpty else {
            throw Failure(status: .cancelled, message: "no \(name) was entered: give it as a line of standard input")
        }
        guard line.utf8.count <= maximumLength else {
            throw Failure(status: .refused, message: "the \(name) is longer than \(maximumLength) bytes")
        }
        return line
    }

    /// How the terminal was before.
    private static let saved = Mutex<termios?>(nil)
    private static let fatalSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private static func restore() {
        guard var attributes = saved.withLock({ $0 }) else { return }
        _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &attributes)
    }

    /// Runs in a signal handler, while the only thread that takes the lock waits in `read`.
    private static let restoreAndDie: @convention(c) (Int32) -> Void = { number in
        restore()
        signal(number, SIG_DFL)
        raise(number)
    }
}
