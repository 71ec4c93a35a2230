import Foundation
import Glibc
import Testing

@testable import BridgeProcesses

@Suite struct StartedProgramTests {
    private static func shell(
        _ script: String, environment: [String] = [], _ descriptors: [(ours: Int32, its: Int32)] = [],
        _ signals: StartedProgram.Signals = .fresh
    ) throws -> StartedProgram {
        try StartedProgram(
            "/bin/sh", ["sh", "-c", script], environment: environment, descriptors: descriptors, signals: signals)
    }

    @Test(
        "its end is a status as a shell counts it", arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)])
    func endings(script: String, status: Int32) throws {
        #expect(try Self.shell(script).wait() == status)
    }

    @Test("what cannot be started says why, and starts nothing") func nothingThere() {
        #expect(throws: StartedProgram.Failure(code: ENOENT)) {
            _ = try StartedProgram("/nonexistent", ["x"], environment: [], descriptors: [], signals: .fresh)
        }
    }

    @Test("it has the variables and the descriptors that it is given") func descriptors() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let program = try Self.shell("printf %s \"$WORD\" >&5", environment: ["WORD=a b"], [(ends[1], 5)])
        close(ends[1])
        let said = try FileHandle(fileDescriptor: ends[0], closeOnDealloc: true).readToEnd()
        #expect(said == Data("a b".utf8))
        #expect(program.wait() == 0)
    }

    @Test("it blocks the signals that it is told to, or none") func signals() throws {
        var blocked = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGUSR1)
        // A blocked signal ends nothing.
        #expect(try Self.shell("kill -USR1 $$; exit 3", environment: [], [], .blocked(blocked)).wait() == 3)
        #expect(try Self.shell("kill -USR1 $$; exit 3").wait() == 128 + SIGUSR1)
    }
}
