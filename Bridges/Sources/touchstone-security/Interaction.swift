import BridgeProcesses
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// `touchstone-security -i`: a command in each line of standard input (SC-8).
///
/// A process is known to `touchstone-credentials` for one call: after that it is closed. So each line has a process of its own, which is this
/// program with `-i` and that line alone. The line goes there over a pipe, where no other program sees it.
enum Interaction {
    /// Most bytes of standard input that are read before the first command runs, if it is no terminal.
    private static let maximumCount = 1 << 20

    /// Reads the commands, and ends with the status of the last one.
    ///
    /// - Parameter body: Runs one command in this process.
    static func run(_ body: (_ words: [[UInt8]]) -> Int32) -> Never {
        signal(SIGPIPE, SIG_IGN)
        guard isatty(0) == 0 else { talk() }
        let input = HelperProcess.input(maximumCount)
        guard input.count <= maximumCount else {
            HelperProcess.complain("touchstone-security: standard input has more than 1 MiB")
            exit(2)
        }
        let lines = input.split(separator: 0x0A).filter { !isBlank($0) }
        guard lines.count != 1 else { exit(one(lines[0], body)) }
        var status: Int32 = 0
        for line in lines {
            guard !isEnd(line) else { break }
            status = other(line)
        }
        exit(status)
    }

    private static func talk() -> Never {
        var status: Int32 = 0
        while true {
            HelperProcess.write(Array("security> ".utf8))
            guard let line = readLine().map({ Array($0.utf8)[...] }), !isEnd(line) else { exit(status) }
            if !isBlank(line) { status = other(line) }
        }
    }

    private static func isBlank(_ line: ArraySlice<UInt8>) -> Bool {
        line.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
    }

    private static func isEnd(_ line: ArraySlice<UInt8>) -> Bool {
        let words = try? SecurityLine.words(line)
        return words == [Array("quit".utf8)] || words == [Array("exit".utf8)]
    }

    private static func one(_ line: ArraySlice<UInt8>, _ body: (_ words: [[UInt8]]) -> Int32) -> Int32 {
        do throws(SecurityCommandError) {
            let words = try SecurityLine.words(line)
            return isEnd(line) ? 0 : body(words)
        } catch {
            HelperProcess.complain("touchstone-security: \(error)")
            return 2
        }
    }

    private static func other(_ line: ArraySlice<UInt8>) -> Int32 {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return 53 }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        // The path by which touchstone-credentials knows this program.
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let started = try? StartedProgram(
            path, ["touchstone-security", "-i"], environment: environment, descriptors: [(ends[0], 0)], signals: .fresh)
        close(ends[0])
        guard let started else {
            close(ends[1])
            HelperProcess.complain("touchstone-security: could not start the command of this line")
            return 53
        }
        // A pipe takes 64 KiB, and the program reads all of it.
        let rest = Array(line) + [0x0A]
        var sent = 0
        while sent < rest.count {
            let count = unsafe rest.withUnsafeBytes { all in
                unsafe write(ends[1], all.baseAddress! + sent, all.count - sent)  // it has a byte at `sent`
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            sent += count
        }
        close(ends[1])
        return started.wait()
    }
}
