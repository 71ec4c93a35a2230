import BridgeProcesses
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// A command whose two streams go through a mask (EX-3).
struct MaskedCommand {
    private let path: String
    private let arguments: [String]
    private let environment: [String]
    private let mask: OutputMask

    init(_ path: String, _ arguments: [String], _ environment: [String], _ mask: OutputMask) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.mask = mask
    }

    /// Runs it, and ends with its status; 128 and the signal's number if a signal ended it.
    func run() throws -> Never {
        var forwarded = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&forwarded)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGWINCH] { unsafe sigaddset(&forwarded, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &forwarded, &before)
        let output = try pipe()
        let errors = try pipe()
        let program = try start(output.write, errors.write, before)
        close(output.write)
        close(errors.write)
        forward(forwarded, to: program.processID)
        let threads = [(output.read, Int32(1)), (errors.read, 2)].map { source, target in
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [mask] in
                Self.copy(source, target, mask)
                done.signal()
            }
            return done
        }
        for thread in threads { thread.wait() }
        Glibc.exit(program.wait())
    }

    private func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw CommandFailure("no pipe is left", status: 1) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private func start(_ output: Int32, _ errors: Int32, _ signals: sigset_t) throws -> StartedProgram {
        do throws(StartedProgram.Failure) {
            return try StartedProgram(
                path, arguments, environment: environment, descriptors: [(output, 1), (errors, 2)],
                signals: .blocked(signals))
        } catch {
            throw CommandFailure("\(path): \(unsafe String(cString: strerror(error.code)))", status: 126)
        }
    }

    /// Sends on what somebody sent to this process alone.
    ///
    /// What a terminal sends reaches the command by itself.
    private func forward(_ signals: sigset_t, to child: pid_t) {
        Thread.detachNewThread {
            var signals = signals
            while true {
                var information = unsafe siginfo_t()
                let signal = unsafe sigwaitinfo(&signals, &information)
                if signal > 0, unsafe information.si_code <= 0 { kill(child, signal) }
            }
        }
    }

    private static func copy(_ source: Int32, _ target: Int32, _ mask: OutputMask) {
        var mask = mask
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            HelperProcess.write(mask.masking(chunk[..<count]), to: target)
        }
        HelperProcess.write(mask.finish(), to: target)
    }
}
