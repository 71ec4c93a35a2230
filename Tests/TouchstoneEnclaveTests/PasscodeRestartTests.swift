import Foundation
import Testing
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// Guesses, restarts, clocks that are moved and disks that fail, in any order: the count goes down for the right passcode alone, and no
/// delay is ever shortened (PC-01, PC-02, PC-03).
@Suite(.timeLimit(.minutes(10))) struct PasscodeRestartTests {
    @Test(
        "PC-01, PC-02, PC-03: over restarts, crashes and failing disks the count only grows, and delays only begin anew",
        arguments: 0..<150)
    func invariants(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let erasesData = Bool.random(using: &random)
        let enclave = try RunningEnclave(erasesData: erasesData)
        let deviceKey = enclave.host.read { now, _ in now.keys[.always]?.unprotectedCopy }
        var wrong = 0
        for _ in 0..<40 {
            let (before, deadline) = (enclave.failures, enclave.retryAfter.map { enclave.clock.now + $0 })
            let isRefused = enclave.retryAfter != nil || enclave.facts.isPasscodeDisabled
            var wasRight = false
            var isNewClock = false
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1, 2, 3:
                // Mostly as soon as it is looked at, or nobody would come far.
                if Int.random(in: 0..<4, using: &random) > 0 { enclave.clock.advance(by: enclave.retryAfter ?? 0) }
                let isTooSoon = enclave.retryAfter != nil || enclave.facts.isPasscodeDisabled
                // Another one, or the same again.
                if Bool.random(using: &random) { wrong += 1 }
                let verdict = try enclave.unlock("wrong \(wrong)")
                #expect(verdict != .right)
                // What is in memory may be one ahead of the disk, which is what counts.
                if verdict == .refused(.notKept) { try enclave.reboot() }
                if isTooSoon, case .wrong = verdict { Issue.record("looked at too soon") }
            case 4:
                let verdict = try enclave.unlock("1234")
                if isRefused { #expect(verdict != .right, "nor is the right one looked at") }
                // Where it was right and the disk failed nobody was told, and the disk may have it.
                wasRight = verdict == .right || (verdict == .refused(.notKept) && !isRefused)
                if verdict == .right { #expect(enclave.failures == 0) }
                // Where only the disk knows of it, it shows at the next boot.
                if verdict == .refused(.notKept) { try enclave.reboot() }
            case 5:
                try enclave.unlockAndEnd("wrong \(wrong + 1000)")
            case 6: try enclave.reboot()
            case 7:
                enclave.clock.restart()
                isNewClock = true
                try enclave.reboot()
            case 8: enclave.clock.advance(by: .random(in: 0..<20_000, using: &random))
            default:
                let count = Int.random(in: 1...3, using: &random)
                enclave.storage.plan(
                    (0..<count).map { _ in
                        UnreliableStorage.Outcome.allCases.randomElement(using: &random) ?? .kept
                    })
            }
            if enclave.facts.wasErased {
                #expect(erasesData && before >= 9, "ten in a row, and not without the option")
                #expect(enclave.host.read { now, _ in now.keys[.always]?.unprotectedCopy } != deviceKey)
                return
            }
            #expect(enclave.host.read { now, _ in now.keys[.always]?.unprotectedCopy } == deviceKey)
            if wasRight { continue }
            #expect(enclave.failures >= before)
            let delay = PasscodePolicy().delay(afterFailures: enclave.failures)
            if isNewClock, delay > 0 {
                #expect(enclave.retryAfter == delay, "PC-03: in full")
            } else if let deadline, !isNewClock, enclave.clock.now < deadline {
                #expect((enclave.retryAfter ?? 0) + enclave.clock.now >= deadline - 0.001)
            }
        }
    }

    @Test("PC-02: over a restart the same wrong passcode is counted again: nothing of it is kept")
    func sameWrongOneAfterARestart() throws {
        let enclave = try RunningEnclave()
        for _ in 0..<3 { #expect(try enclave.unlock("9999") == .wrong(retryAfter: nil)) }
        #expect(enclave.failures == 1)
        let size = try #require(enclave.storage.versions.last).count
        try enclave.reboot()
        #expect(try enclave.unlock("9999") == .wrong(retryAfter: nil))
        #expect(enclave.failures == 2)
        #expect(
            try #require(enclave.storage.versions.last).count == size,
            "the file has a count, and nothing to test guesses on")
    }

    @Test(
        "A passcode change over a disk that fails leaves the old one or the new one, never neither, and every class key",
        arguments: UnreliableStorage.Outcome.allCases, [0, 1])
    func changeOverABadDisk(outcome: UnreliableStorage.Outcome, after count: Int) throws {
        let enclave = try RunningEnclave(kind: .numeric)
        #expect(try enclave.unlock("1234") == .right)
        let keys = enclave.host.read { now, _ in now.keys }
        let generation = enclave.host.read { now, _ in now.generation }
        enclave.storage.plan(Array(repeating: .kept, count: count) + [outcome])
        let verdict = try enclave.change(from: "1234", to: "5678", kind: .fourDigit)
        #expect(verdict == (outcome == .kept ? .right : .refused(.notKept)))
        enclave.storage.plan([])
        try enclave.reboot()
        let isNew = try enclave.unlock("5678") == .right
        #expect(isNew == (outcome == .kept), "what was told")
        if !isNew { #expect(try enclave.unlock("1234") == .right) }
        #expect(enclave.facts.passcodeKind == (isNew ? .fourDigit : .numeric))
        enclave.host.read { now, _ in
            for protection in Accessibility.allCases {
                let kept = now.classKey(of: protection, generation: generation).map { SecretBytes($0) }
                #expect(kept?.unprotectedCopy == keys[protection]?.unprotectedCopy, "\(protection)")
                #expect((now.keys[protection]?.unprotectedCopy != keys[protection]?.unprotectedCopy) == isNew, "KC-14")
            }
        }
    }
}
