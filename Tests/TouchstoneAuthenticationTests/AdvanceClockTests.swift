import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog

@testable import TouchstoneTesting

/// The clock that a device's owner moves: the device's own, under which the test's stands still.
@Suite(.timeLimit(.minutes(10))) struct AdvanceClockTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    private func advance(_ seconds: Double) throws {
        try device.call(DeviceInterface.AdvanceClock.self, .init(seconds: seconds))
    }

    @Test("PC-01: the delay after wrong passcodes goes by, and not before its end")
    func passcodeDelay() throws {
        try device.lock()
        for wrong in ["wrong 1", "wrong 2", "wrong 3", "wrong 4"] {
            #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: wrong) }
        }
        #expect(try device.status.passcodeRetryAfterSeconds == 60)
        try advance(59)
        #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "1234") }
        try advance(1)
        try device.unlock(passcode: "1234")
    }

    @Test("PC-01: a prompt shows what is left of the delay")
    func promptDuringDelay() async throws {
        try await device.run {
            try device.setSensorConnected(false)
            for wrong in ["wrong 1", "wrong 2", "wrong 3", "wrong 4"] { device.present(.passcode(wrong)) }
            let replies = Replies()
            let context = LAContext()
            replies.collect(deviceOwner, on: context)
            try await eventually { try device.status.passcodeRetryAfterSeconds != nil }
            // Another agent, which is shown the prompt when the first one goes.
            let shown = Mutex<[Double?]>([])
            let isReady = Mutex(false)
            let agent = try device.booted.withLock { try $0.client() }
            Thread.detachNewThread {
                try? agent.stream(AgentInterface.Subscribe.self, .init(version: 1)) { reply in
                    if reply.event == .ready { isReady.withLock { $0 = true } }
                    if reply.event == .show { shown.withLock { $0.append(reply.prompt?.retryAfterSeconds) } }
                    return true
                }
            }
            await eventually { isReady.withLock { $0 } }
            device.setAttended(false)
            // A prompt is shown anew with each change.
            await eventually { shown.withLock { $0.last == 60 } }
            try advance(20)
            await eventually { shown.withLock { $0.last == 40 } }
            try advance(40)
            await eventually { shown.withLock { $0.last == .some(nil) } }
            context.invalidate()
            #expect(await replies.only() == .appCancel)
            agent.close()
        }
    }

    @Test("EV-40, EV-42: the window of a biometric unlock closes")
    func reuse() async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            func isReused() async -> Bool {
                let context = LAContext()
                context.touchIDAuthenticationAllowableReuseDuration = 300
                context.interactionNotAllowed = true
                return await evaluate(biometrics, on: context) == nil
            }
            try advance(300)
            #expect(await isReused())
            try advance(1)
            #expect(await !isReused())
        }
    }

    @Test("PC-20, CE-19: after 48 hours without an unlock only the passcode helps, and who watches hears of it")
    func passcodeRequired() throws {
        try device.run {
            try advance(48 * 3600)
            #expect(canEvaluate(biometrics) == nil)
            try advance(1)
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.lockAndUnlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("PC-20, PC-21: 156 hours without the passcode, of which a finger had opened it every day")
    func longWithoutPasscode() throws {
        try device.run {
            for _ in 0..<7 {
                try advance(22 * 3600)
                try device.lockAndUnlock(finger: 1)
            }
            try advance(3 * 3600)
            #expect(canEvaluate(biometrics) == nil)
            try advance(1.5 * 3600)
            #expect(canEvaluate(biometrics) == .biometryLockout)
        }
    }

    @Test("Both daemons go by it: the dates of items and of the log are later")
    func dates() throws {
        try device.run {
            func creationDate(_ account: String) throws -> Date {
                let item = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] as [CFString: Any]
                var result: CFTypeRef?
                let status = SecItemAdd(item.merging([kSecReturnAttributes: true]) { $1 } as CFDictionary, &result)
                #expect(status == errSecSuccess)
                return try #require((result as? [CFString: Any])?[kSecAttrCreationDate] as? Date)
            }
            let before = try creationDate("a")
            try advance(86400)
            #expect(try creationDate("b").timeIntervalSince(before) == 86400)
            try device.lock()
            _ = try device.call(DeviceInterface.GetLogHead.self, Empty())
            let times = device.log.lines.compactMap(LogEntry.init(line:)).map(\.time)
            #expect(times.first?.prefix(10) != times.last?.prefix(10))
        }
    }

    @Test("Only forward, and not for ever: another duration is refused, and changes nothing")
    func bounds() throws {
        let maximum = DeviceInterface.AdvanceClock.maximum
        for seconds in [0, -1, -.infinity, .infinity, .nan, maximum * 1.001] {
            #expect(throws: (any Error).self) { try advance(seconds) }
        }
        try device.lock()
        try device.unlock(finger: 1)
        for _ in 0..<10 { try advance(maximum) }
        #expect(throws: SimulatedDeviceError.self) { try advance(1) }
    }

    @Test("PC-03: a boot sets the clock back to the machine's, and starts the delay again")
    func reboot() throws {
        try device.lock()
        for wrong in ["wrong 1", "wrong 2", "wrong 3", "wrong 4"] {
            #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: wrong) }
        }
        try advance(59)
        #expect(try device.status.passcodeRetryAfterSeconds == 1)
        device.reboot()
        #expect(try device.status.passcodeRetryAfterSeconds == 60)
        // All of what can be gone forward is there again.
        for _ in 0..<10 { try advance(DeviceInterface.AdvanceClock.maximum) }
        try device.unlock(passcode: "1234")
    }
}
