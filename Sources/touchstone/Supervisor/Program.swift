import Foundation
import Glibc
import TouchstoneCore

/// One of the programs that this one starts.
struct Program: Hashable {
    let name: String
    /// Where it comes from, if it is of another package.
    private var advice = ""

    static let daemon = Program(name: "touchstoned")
    static let enclave = Program(name: "touchstone-enclave")
    static let simulator = Program(name: "touchstone-simulator", advice: " ('make simulator' builds and starts it)")
    static let agent = Program(
        name: "touchstone-agent", advice: " (it is in the package touchstone-desktop, and 'make desktop' builds it)")
    static let gitHelper = ofBridges("git-credential-touchstone")
    static let dockerHelper = ofBridges("docker-credential-touchstone")
    static let run = ofBridges("touchstone-run")

    static let ofSync = Program(
        name: "touchstone-sync", advice: " (it is in the package touchstone-sync, and 'make sync' builds it)")

    /// One of the package touchstone-bridges.
    static func ofBridges(_ name: String) -> Program {
        Program(name: name, advice: " (it is in the package touchstone-bridges, and 'make bridges' builds it)")
    }

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
        if let found = Self.find(name, in: [own, own + "/../libexec/touchstone"]) ?? Self.onPath(name) {
            return found
        }
        throw Failure(
            .internalError,
            "\(name) is not installed\(advice): put it beside touchstone (\(own)), into ../libexec/touchstone or into PATH"
        )
    }

    /// Executes a program in this process's place: the signals and the exit status are its own.
    static func become(_ path: String, _ arguments: [String]) throws -> Never {
        // Ignored by this command, and a program inherits that.
        signal(SIGPIPE, SIG_DFL)
        let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        unsafe execv(path, words)
        throw Failure.system("\(path) cannot be started")
    }

    /// A program that a shell would find.
    static func onPath(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // An empty or relative part of PATH would mean the current directory.
        return find(name, in: path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") })
    }

    private static func find(_ name: String, in places: [String]) -> String? {
        places.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }

    /// As `locate`, by the path with which the kernel names a process that executes it.
    func realPath() throws -> String {
        let found = try locate()
        guard let path = unsafe realpath(found, nil) else { throw Failure.system(found) }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
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
