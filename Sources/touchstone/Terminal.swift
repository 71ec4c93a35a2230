import Foundation
import Glibc
import Synchronization

/// The terminal this command was started at.
enum Terminal {
    static var isInput: Bool { isatty(STDIN_FILENO) == 1 }
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether the cursor can be moved on standard output.
    static var canRedraw: Bool {
        isOutput && !["", "dumb"].contains(ProcessInfo.processInfo.environment["TERM"] ?? "")
    }

    /// Whether colours are wanted, as no-color.org has it.
    static var hasColour: Bool {
        canRedraw && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    }

    static var columns: Int {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return defaultColumns }
        return Int(size.ws_col)
    }

    private static let defaultColumns = 80

    static var rows: Int {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return .max }
        return Int(size.ws_row)
    }

    /// Reads lines that do not show.
    ///
    /// Restores the terminal also when a signal ends the command.
    static func withoutEcho<Result>(_ body: () throws -> Result) throws -> Result {
        try change { attributes in attributes.c_lflag &= ~tcflag_t(ECHO) }
        defer { restore() }
        let before = fatalSignals.map { signal($0, restoreAndDie) }
        defer { for (number, handler) in zip(fatalSignals, before) { signal(number, handler) } }
        return try body()
    }

    /// Writes this to standard error where a signal ends the command from here on.
    static func sayWhenInterrupted(_ words: StaticString) {
        lastWords.withLock { $0 = words }
        for number in fatalSignals { signal(number, restoreAndDie) }
    }

    private static let lastWords = Mutex<StaticString>("")

    /// Hands over keys as they are pressed, without showing them.
    ///
    /// Ctrl-C stays a signal; Ctrl-Z does not stop the process, since it would leave the shell with such a terminal.
    static func readKeys() throws {
        try change { attributes in
            attributes.c_lflag &= ~tcflag_t(ECHO | ICANON)
            unsafe withUnsafeMutableBytes(of: &attributes.c_cc) { characters in
                unsafe characters[Int(VMIN)] = 1
                unsafe characters[Int(VTIME)] = 0
                unsafe characters[Int(VSUSP)] = 0
            }
        }
    }

    /// How a terminal treats what is typed.
    struct Settings {
        fileprivate var attributes: termios
    }

    /// As they are now; nil without a terminal.
    static var settings: Settings? {
        var attributes = termios()
        return unsafe tcgetattr(STDIN_FILENO, &attributes) == 0 ? Settings(attributes: attributes) : nil
    }

    static func restore(_ settings: Settings) {
        var attributes = settings.attributes
        _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &attributes)
    }

    /// The file of the terminal on standard input.
    static var name: String? { unsafe ttyname(STDIN_FILENO).map { unsafe String(cString: $0) } }

    /// Forgets what was typed before anything asked for it.
    static func dropInput() { tcflush(STDIN_FILENO, TCIFLUSH) }

    static func restore() {
        guard
            var attributes = saved.withLock({ saved in
                defer { saved = nil }
                return saved
            })
        else { return }
        _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &attributes)
    }

    private static func change(_ edit: (inout termios) -> Void) throws {
        var attributes = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &attributes) == 0 else { throw Failure.system("the terminal") }
        saved.withLock { [attributes] saved in saved = saved ?? attributes }
        edit(&attributes)
        guard unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &attributes) == 0 else { throw Failure.system("the terminal") }
    }

    /// How the terminal was before this command touched it.
    private static let saved = Mutex<termios?>(nil)
    private static let fatalSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Runs in a signal handler, while the only thread waits in `read`: no lock can be held.
    private static let restoreAndDie: @convention(c) (Int32) -> Void = { number in
        restore()
        let words = lastWords.withLock { $0 }
        _ = unsafe write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
        signal(number, SIG_DFL)
        raise(number)
    }
}
