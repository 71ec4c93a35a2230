import Foundation
import Glibc
import TouchstoneDevice

/// The clipboard of the session, over the programs that everybody has for it.
struct Clipboard {
    /// Longest time for one of the programs.
    private static let patience = 10.0

    /// A program and what it takes.
    struct Tool: Equatable {
        var program: String
        var arguments: [String]
    }

    /// How a kind of session does it.
    struct Tools: Equatable {
        var copy: Tool
        var paste: Tool
        var clear: Tool
        /// The package that has them.
        var package: String

        static let wayland = Tools(
            copy: Tool(program: "wl-copy", arguments: []),
            paste: Tool(program: "wl-paste", arguments: ["--no-newline"]),
            clear: Tool(program: "wl-copy", arguments: ["--clear"]), package: "wl-clipboard")
        // Nothing is pasted after it: xclip then owns an empty clipboard.
        static let x11 = Tools(
            copy: Tool(program: "xclip", arguments: ["-selection", "clipboard", "-in"]),
            paste: Tool(program: "xclip", arguments: ["-selection", "clipboard", "-out"]),
            clear: Tool(program: "xclip", arguments: ["-selection", "clipboard", "-in"]), package: "xclip")

        /// Those of a session; nil where there is no display.
        static func of(_ environment: [String: String]) -> Tools? {
            if environment["WAYLAND_DISPLAY"]?.isEmpty == false { return .wayland }
            return environment["DISPLAY"]?.isEmpty == false ? .x11 : nil
        }
    }

    private let tools: Tools
    private let paths: [String: String]

    /// Looks for the programs.
    ///
    /// - Throws: `Failure` that says what to install, or that there is no display.
    init() throws {
        let environment = ProcessInfo.processInfo.environment
        guard let tools = Tools.of(environment) else {
            throw Failure(
                .unavailable,
                "there is no clipboard, because neither WAYLAND_DISPLAY nor DISPLAY is set; use 'touchstone item show'")
        }
        self.tools = tools
        var paths: [String: String] = [:]
        // A relative part of PATH would mean the current directory.
        let places = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        for program in [tools.copy.program, tools.paste.program] {
            guard let path = places.first(where: { unsafe access("\($0)/\(program)", X_OK) == 0 }) else {
                throw Failure(
                    .unavailable, "\(program) is not installed; install the package \(tools.package), then try again")
            }
            paths[program] = "\(path)/\(program)"
        }
        self.paths = paths
    }

    /// Puts the secret there, over the program's standard input.
    func write(_ secret: SecretBuffer) throws { _ = try run(tools.copy, input: secret) }

    /// Clears it if it has the secret.
    ///
    /// - Returns: Whether it was cleared.
    func clear(ifItIs secret: SecretBuffer) throws -> Bool {
        // One byte more than the secret: what is longer is something else.
        guard let found = try? run(tools.paste, longest: secret.count + 1), found.equals(secret) else { return false }
        _ = try run(tools.clear)
        return true
    }

    /// Runs a program to its end, in a process group of its own, which Ctrl-C does not reach.
    ///
    /// - Parameters:
    ///   - tool: The program.
    ///   - input: What it reads; nil: nothing.
    ///   - longest: Most bytes of its output that are read.
    /// - Returns: Its output.
    /// - Throws: `Failure` if it cannot be started, or fails.
    private func run(_ tool: Tool, input: SecretBuffer? = nil, longest: Int = 0) throws -> SecretBuffer {
        guard let path = paths[tool.program] else {
            throw Failure(.internalError, "\(tool.program) was not looked for")
        }
        let (inputReading, inputWriting) = try Child.pipe()
        let (outputReading, outputWriting) = try Child.pipe()
        defer { close(outputReading) }
        let child: Child
        do {
            defer {
                close(inputReading)
                close(outputWriting)
            }
            // What stays behind to serve the clipboard must hold no descriptor that somebody waits for.
            child = try Child.start(
                path, tool.arguments,
                inheriting: [
                    (STDIN_FILENO, .descriptor(inputReading)),
                    (
                        STDOUT_FILENO,
                        longest > 0 ? .descriptor(outputWriting) : .file("/dev/null", flags: O_WRONLY)
                    ), (STDERR_FILENO, .file("/dev/null", flags: O_WRONLY)),
                ], flags: Int32(POSIX_SPAWN_SETPGROUP))
        } catch {
            close(inputWriting)
            throw error
        }
        // Whoever owns the clipboard may never answer.
        let end = DispatchWorkItem { [pid = child.pid] in kill(-pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience, execute: end)
        defer { end.cancel() }
        do {
            defer { close(inputWriting) }
            try unsafe input?.withUnsafeBytes { try unsafe Descriptor.write($0, to: inputWriting, tool.program) }
        }
        var count = 0
        let room = unsafe SecretBuffer(count: max(1, longest)) { bytes in
            while count < longest {
                let got = unsafe read(outputReading, bytes.baseAddress! + count, longest - count)  // it is not empty
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { break }
                count += got
            }
        }
        let ending = wait(for: child)
        guard ending == .exited(0) else {
            throw Failure(.unavailable, "\(tool.program) \(ending); can it reach your display?")
        }
        return unsafe room.withUnsafeBytes { unsafe SecretBuffer($0.prefix(count)) }
    }

    private func wait(for child: Child) -> Child.Ending {
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        while ContinuousClock.now < deadline {
            if let ending = child.poll() { return ending }
            Pause.sleep(Pause.connect)
        }
        child.send(SIGKILL)
        return child.wait()
    }
}
