import Testing
import TouchstoneCore
import TouchstoneEnclaveHost
import TouchstoneInterfaces

@testable import TouchstoneEnclave

/// No program locks the owner out by locking again and again; the session's own lock is never held up.
@Suite struct LockLimitTests {
    /// A device whose fingers are real, unlocked.
    private func device(isSimulated: Bool = false) throws -> Enclave {
        let root = TestRoot()
        let file = try Enclave.create(isSimulated: isSimulated, biometryType: .none, root: root)
        var enclave = try Enclave(stateFile: file, root: root, now: 0)
        try enclave.changePasscode(from: nil, to: "1234")
        return enclave
    }

    private func lock(_ enclave: inout Enclave, requiresPasscode: Bool = false, now: Double) -> Enclave
        .RefusalReason?
    {
        let (result, _) = enclave.lockForProgram(requiresPasscode: requiresPasscode, by: "/usr/bin/app", now: now)
        if case .failure(let refused) = result { return refused.reason }
        return nil
    }

    @Test("PC-20, KC-20: locked in a loop, the fourth unlock lasts for five minutes", arguments: [true, false])
    func loop(requiresPasscode: Bool) throws {
        var enclave = try device()
        var lasted = 0
        for second in 0..<10 {
            try enclave.unlock("1234", now: Double(second))
            let refusal = lock(&enclave, requiresPasscode: requiresPasscode, now: Double(second))
            #expect(refusal == (second < 3 ? nil : .lockedTooOften))
            if !enclave.isLocked { lasted += 1 }
        }
        #expect(lasted == 7)
        #expect(lock(&enclave, now: 301.9) == .lockedTooOften)
        #expect(lock(&enclave, now: 302) == nil)
        #expect(enclave.isLocked)
    }

    @Test("EV-33: the session's lock and sleep lock as ever") func session() throws {
        var enclave = try device()
        for second in 0..<4 {
            try enclave.unlock("1234", now: Double(second))
            _ = lock(&enclave, now: Double(second))
        }
        #expect(!enclave.isLocked)
        _ = enclave.lock(now: 5)
        #expect(enclave.isLocked)
    }

    @Test("A lock that changes nothing counts for nothing, nor does one now and then") func harmless() throws {
        var enclave = try device()
        for second in 0..<20 { #expect(lock(&enclave, now: Double(second) / 10) == nil) }
        for minute in 1..<10 {
            try enclave.unlock("1234", now: Double(minute) * 61)
            #expect(lock(&enclave, now: Double(minute) * 61) == nil)
        }
    }

    @Test("A device whose fingers are simulated is its developer's to lock") func simulated() throws {
        var enclave = try device(isSimulated: true)
        for second in 0..<10 {
            try enclave.unlock("1234", now: Double(second))
            #expect(lock(&enclave, now: Double(second)) == nil)
        }
    }
}
