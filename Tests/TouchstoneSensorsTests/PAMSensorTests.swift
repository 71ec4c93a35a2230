import Foundation
import Synchronization
import Testing
import TouchstoneEnclave

@testable import TouchstoneSensors

/// What a PAM service that gives no result is taken for, and for how long.
@Suite struct PAMSensorTests {
    /// Waits for one touch at a time, as the enclave does, and remembers what it was told.
    private final class Owner: SensorOwner {
        private let state = Mutex<(awaited: String?, reports: [SensorReport])>((nil, []))

        var awaitedTouch: String? { state.withLock { $0.awaited } }
        var reports: [SensorReport] { state.withLock { $0.reports } }
        func isLockScreen(_ awaited: String) -> Bool { false }
        var knownReader: SensorReader? { nil }
        func begin(_ evaluation: String) { state.withLock { $0.awaited = evaluation } }

        func hear(_ report: SensorReport) -> Bool {
            state.withLock { state in
                state.reports.append(report)
                switch report {
                case .unavailable, .touched: state.awaited = nil
                case .enrolled, .hint: break
                }
            }
            return true
        }

        func eventually(_ condition: (SensorReport) -> Bool) async throws {
            let limit = ContinuousClock.now + .seconds(300)
            var isTold = false
            while !isTold, .now < limit {
                isTold = reports.contains(where: condition)
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(isTold)
        }
    }

    @Test("a service without a result is no sensor until it gives one, or a while is over", arguments: [3600.0, 0])
    func notAnswering(memory: Double) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pam-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory.appendingPathComponent("camera"))
        let program = directory.appendingPathComponent("program")
        func install(_ script: String) throws {
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: program, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        }
        try install("exit 0")
        let owner = Owner()
        let sensor = PAMSensor(service: "camera", directory: directory.path, program: program.path, memory: memory)
        sensor.start(for: owner)
        func isEnrolled() throws -> Bool {
            sensor.refresh(within: 0)
            if case .enrolled = try #require(owner.reports.last) { return true }
            #expect(owner.reports.last == .unavailable(.notAnswering))
            return false
        }
        #expect(try isEnrolled())
        owner.begin("one")
        sensor.wake()
        try await owner.eventually { $0 == .unavailable(.notAnswering) }
        #expect(try isEnrolled() == (memory == 0))
        try install("echo result 7 >&3")
        owner.begin("two")
        sensor.wake()
        try await owner.eventually { $0 == .touched(isMatch: false, for: "two") }
        #expect(try isEnrolled())
    }
}
