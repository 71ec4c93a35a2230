import Foundation
import Glibc
import Testing

@testable import TouchstoneSensors

/// What is made of a helper that says anything at all, or nothing.
@Suite struct PAMLookTests {
    private func result(of script: String, deadline: Double = 20, isAwaited: Bool = true) throws -> (
        result: PAMLook.Result, retries: Int
    ) {
        let look = try #require(PAMLook(program: "/bin/sh", arguments: ["-c", script]))
        var retries = 0
        let result = look.result(
            before: MonotonicClock.now + deadline, wakeup: Wakeup(), isAwaited: { isAwaited }, retry: { retries += 1 })
        return (result, retries)
    }

    @Test(
        "only a whole line with the code of success recognises anybody",
        arguments: [
            ("echo result 0 >&3", PAMLook.Result.match), ("echo result 7 >&3", .noMatch),
            ("echo result 10 >&3", .noMatch),
            ("echo result 11 >&3", .noMatch), ("echo result 9 >&3", .nothing), ("echo result 19 >&3", .nothing),
            ("printf 'result 0' >&3", .nothing), ("echo result >&3", .nothing), ("echo result 0x0 >&3", .nothing),
            ("echo 0 >&3", .nothing), ("printf '\\nresult 0\\n' >&3", .nothing),
            ("echo result 7 >&3; echo result 0 >&3", .noMatch),
            ("exit 0", .nothing), ("kill -9 $$", .nothing), ("echo result 0; echo result 0 >&2", .nothing),
            ("head -c 100000 /dev/zero >&3", .nothing), ("while :; do echo retry; done >&3", .nothing),
        ])
    func results(script: String, expected: PAMLook.Result) throws {
        #expect(try result(of: script).result == expected)
    }

    @Test("messages are told, each of them")
    func retries() throws {
        let (result, retries) = try result(of: "echo retry >&3; echo retry >&3; echo result 0 >&3")
        #expect(result == .match && retries == 2)
    }

    @Test("a hang ends with the deadline, or with nobody's waiting, and nothing of it is left")
    func hangs() throws {
        let pids = FileManager.default.temporaryDirectory.appendingPathComponent("look-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: pids) }
        let script = "sleep 600 & echo $$ $! >\(pids.path).new; mv \(pids.path).new \(pids.path); echo retry >&3; wait"
        let began = MonotonicClock.now
        var (found, retries) = try result(of: script, deadline: 2)
        // A busy machine may not have come that far in two seconds.
        if retries == 0 { (found, retries) = try result(of: script, deadline: 60) }
        #expect(found == .nothing && retries == 1 && MonotonicClock.now - began < 500)
        for pid in try String(contentsOf: pids, encoding: .utf8).split(whereSeparator: \.isWhitespace).compactMap({
            Int32($0)
        }) {
            // The child of the child is its new parent's to reap.
            let limit = MonotonicClock.now + 120
            var isAlive: Bool {
                let state = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8))?.split(separator: ")")
                    .last
                return state.map { !$0.hasPrefix(" Z") } ?? false
            }
            while isAlive, MonotonicClock.now < limit { usleep(1000) }
            #expect(!isAlive, "\(pid) is alive")
        }
        #expect(try self.result(of: "sleep 600", isAwaited: false).result == .abandoned)
    }

    @Test("it inherits nothing but its socket, and an environment that says nothing")
    func inheritance() throws {
        setenv("TOUCHSTONE_LEAK", "1", 1)
        defer { unsetenv("TOUCHSTONE_LEAK") }
        let open = Glibc.open("/dev/null", O_RDONLY)
        defer { close(open) }
        // Each by its number: what lists them has descriptors of its own.
        let script = """
            [ -z "$TOUCHSTONE_LEAK" ] || exit 1
            number=4
            while [ $number -lt 256 ]; do
                [ ! -e /proc/$$/fd/$number ] || exit 1
                number=$((number + 1))
            done
            echo result 0 >&3
            """
        #expect(try result(of: script).result == .match)
    }

    @Test("a program that is not there is no look")
    func absent() { #expect(PAMLook(program: "/nowhere/touchstone-pam-verify", arguments: []) == nil) }
}
