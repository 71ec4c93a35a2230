import Foundation
import Glibc
import TouchstoneCore

/// One of the programs that this one starts.
enum Program: String {
    case daemon = "touchstoned"
    case enclave = "touchstone-enclave"
    case simulator = "touchstone-simulator"
    case run = "touchstone-run"

    /// Looks beside this program, in `../libexec/touchstone`, then along `PATH`; for the simulator first at `TOUCHSTONE_SIMULATOR`.
    func locate() throws -> String {
        if self == .simulator, let named = ProcessInfo.processInfo.environment["TOUCHSTONE_SIMULATOR"] {
            guard unsafe named.hasPrefix("/") && access(named, X_OK) == 0 else {
                throw Failure(
                    .usage, "TOUCHSTONE_SIMULATOR is not the absolute path of a program: \(PlainText.line(named))")
            }
            return named
        }
        let own = try Self.ownDirectory()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // An empty or relative part of PATH would mean the current directory.
        let places =
            [own, own + "/../libexec/touchstone"]
            + path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        for place in places {
            let candidate = place + "/" + rawValue
            if unsafe access(candidate, X_OK) == 0 { return candidate }
        }
        throw Failure(
            .internalError,
            "\(rawValue) is not installed\(advice): put it beside touchstone (\(own)), into ../libexec/touchstone or into PATH"
        )
    }

    /// Where a program of another package comes from.
    private var advice: String {
        switch self {
        case .daemon, .enclave: ""
        case .simulator: " ('make simulator' builds and starts it)"
        case .run: " (it is in the package touchstone-bridges, and 'make bridges' builds it)"
        }
    }

    /// Executes a program in this process's place: the signals and the exit status are its own.
    static func become(_ path: String, _ arguments: [String]) throws -> Never {
        // Ignored by this command, and a program inherits that.
        signal(SIGPIPE, SIG_DFL)
        let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        unsafe execv(path, words)
        throw Failure.system("\(path) cannot be started")
    }

    /// This program's own file.
    static func ownPath() throws -> String {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            throw Failure(.internalError, "/proc/self/exe cannot be read: is /proc mounted?")
        }
        return path
    }

    private static func ownDirectory() throws -> String {
        URL(fileURLWithPath: try ownPath()).deletingLastPathComponent().path
    }
}
