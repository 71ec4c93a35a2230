import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneTPMRoot

/// Guesses, and power that is cut amid a change.
extension TPMRootTests {
    // MARK: guesses

    @Test("PC-04: whoever has the root's secret and the whole disk still needs this TPM for every guess")
    func gate() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let passcode = try device.passcode
        let derivation = try PasscodeDerivation(
            passcode: SecretBytes("1234".utf8), salt: passcode.salt, cost: passcode.cost, root: device.root)
        // Without the gate, the right passcode opens nothing.
        #expect(ClassKeys(passcode.classKeys, under: try derivation.run()) == nil)
        var gated = derivation
        gated.gate = passcode.gate
        #expect(ClassKeys(passcode.classKeys, under: try gated.run()) != nil)
        // The gate of this TPM is not in another one.
        let otherTPM = try SoftwareTPM()
        let otherDirectory = try Directory()
        let other = try BoundDevice(in: otherDirectory.url, address: otherTPM.address)
        let object = try #require(passcode.gate).closed
        let value = SecretBytes(Data(count: 32))
        #expect { try other.root.passcodeGuard?.open(object, with: value) } throws: {
            ($0 as? PasscodeGuardError)?.description.contains("has lost") == true
        }
    }

    @Test("Ours come first: the TPM's last try is never used, and its counter counts no more than what was wrong")
    func budget() throws {
        try tpm.allow(tries: 3)
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        #expect(try device.unlock("0001") == .wrong)
        #expect(try device.unlock("0001") == .wrong)
        #expect(try device.unlock("0002") == .wrong)
        #expect(try device.unlock("1234") == .refused(.tpmLockedOut))
        #expect(try device.failures == 2)
        let root = try #require(device.root as? TPMRoot)
        #expect(try root.attempts() == .init(wrong: 2, maximum: 3, seconds: 600))
    }

    @Test("PC-01, PC-02: slow guesses without end come to the TPM's last try but one; it gives them back by itself")
    func slowGuesses() throws {
        try tpm.allow(tries: 14)
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        func wait() throws {
            if let seconds = try device.retryAfter { try #require(device.host).advanceClock(by: seconds) }
        }
        for guess in 0..<13 {
            #expect(try device.unlock("wrong \(guess)") == .wrong)
            try wait()
        }
        #expect(try device.failures == 13)
        for guess in 13..<16 { #expect(try device.unlock("wrong \(guess)") == .refused(.tpmLockedOut)) }
        #expect(try device.failures == 13 && device.retryAfter == nil, "not looked at, and not counted")
        device.turnOff()
        try tpm.allow(tries: 14, seconds: 1)
        try device.boot()
        #expect(try device.retryAfter == 28_800, "PC-03")
        try wait()
        // The TPM's own time.
        let limit = ContinuousClock.now + .seconds(300)
        var verdict = try device.unlock("1234")
        while verdict == .refused(.tpmLockedOut), ContinuousClock.now < limit {
            usleep(50_000)
            verdict = try device.unlock("1234")
        }
        #expect(verdict == .right)
        #expect(try device.failures == 0)
    }

    @Test("A line that is cut after the TPM heard the guess gives none back; one that is cut before does")
    func cutGuess() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let isGuess = try guesses()
        relay.treat { command, _ in isGuess(command) ? .cut : .passed }
        #expect(try device.unlock("0001") == .refused(.tpmUnavailable))
        #expect(try device.failures == 1, "nobody knows whether the TPM heard it")
        relay.treat { command, _ in command.code == Code.capability ? .cut : .passed }
        #expect(try device.unlock("0002") == .refused(.tpmUnavailable))
        #expect(try device.failures == 1)
        relay.treat { command, _ in isGuess(command) ? .cutAfter : .passed }
        #expect(try device.unlock("0001") == .refused(.tpmUnavailable))
        #expect(try device.failures == 2)
        #expect(relay.commands.filter(isGuess).count == 1, "one guess is asked for once")
        relay.treat { _, _ in .passed }
        #expect(try device.unlock("1234") == .right)
        #expect(device.reports.contains { $0.contains("stopped answering") })
    }

    @Test("A verdict that is exchanged for 'locked out' gives no guess back")
    func forgedLockout() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let isGuess = try guesses()
        relay.treat { command, _ in
            isGuess(command) ? .answered { _ in [0x80, 0x01, 0, 0, 0, 10, 0, 0, 0x09, 0x21] } : .passed
        }
        #expect(try device.unlock("0001") == .refused(.tpmLockedOut))
        #expect(relay.commands.contains(where: isGuess))
        #expect(try device.failures == 1)
    }

    @Test("A TPM that says it had as many wrong values as a number can hold is one that is locked")
    func forgedAttempts() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        relay.treat { command, _ in
            // TPM2_PT_LOCKOUT_COUNTER, whose value comes after its number.
            guard command.code == Code.capability, command.bytes[14..<18] == [0, 0, 0x02, 0x0E] else { return .passed }
            return .answered { Array($0[..<23] + [0xFF, 0xFF, 0xFF, 0xFF] + $0[27...]) }
        }
        #expect(try device.unlock("1234") == .refused(.tpmLockedOut))
        #expect(try !relay.commands.contains(where: guesses()))
        #expect(try device.failures == 0)
    }

    @Test("PC-01: a guess that stays counted without a verdict has its delay as any other")
    func delayWithoutVerdict() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let isGuess = try guesses()
        relay.treat { command, _ in isGuess(command) ? .cutAfter : .passed }
        for guess in 1...3 { #expect(try device.unlock("000\(guess)") == .refused(.tpmUnavailable)) }
        #expect(try device.retryAfter == nil)
        #expect(try device.unlock("0004") == .refused(.tpmUnavailable))
        #expect(try device.failures == 4)
        #expect(try device.retryAfter == 60)
        #expect(try device.unlock("1234") == .refused(.busy))
    }

    @Test("A change whose new passcode cannot be closed gives no guess back once the TPM judged the current one")
    func cutNewGate() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        relay.treat { command, _ in command.code == Code.define ? .cut : .passed }
        #expect(try device.change(from: "0001", to: "5678") == .refused(.tpmUnavailable))
        #expect(try relay.commands.contains(where: guesses()) && relay.codes.contains(Code.define))
        #expect(try device.failures == 1)
        relay.treat { _, _ in .passed }
        #expect(try device.unlock("1234") == .right)
    }

    @Test("PC-34: whoever keeps the counter from counting gets no guess for it")
    func counterCut() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        relay.treat { command, _ in command.code == Code.increment ? .cut : .passed }
        #expect(try device.unlock("0001") == .refused(.tpmUnavailable))
        #expect(try device.unlock("1234") == .refused(.tpmUnavailable))
        #expect(try device.failures == 0)
        #expect(try relay.codes.contains(Code.increment) && !relay.commands.contains(where: guesses()))
        relay.treat { _, _ in .passed }
        #expect(try device.unlock("1234") == .right)
    }

    @Test(
        "DEC-058: what does not need a TPM that says nothing does not wait for it; a guess does, and is told once it counted"
    )
    func silentForOthers() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let key = try device.createKey().key
        let host = try #require(device.host)
        let speaks = DispatchSemaphore(value: 0)
        // Ours alone is held: the guess after it finds the TPM as it was.
        relay.treat { command, number in
            command.code == Code.increment && number < 3 ? .held(speaks) : .passed
        }
        let took = try ContinuousClock().measure {
            try host.change { enclave, _ in (try enclave.enroll("thumb", sample: Sample(Data("thumb".utf8))), []) }
            for _ in 0..<10 { #expect(try device.signature(by: key).count == 64) }
            #expect(host.answers)
        }
        #expect(took < .seconds(2), "a command of the TPM's is waited for up to 4 s")
        let ticket = try device.beginUnlock("1234")
        let isGuess = try guesses()
        #expect(!relay.commands.contains(where: isGuess), "a guess that may not be remembered is not looked at")
        speaks.signal()
        #expect(try device.end(of: ticket) == .right)
        #expect(relay.commands.contains(where: isGuess))
        let kept = host.read { enclave, _ in enclave.state.revision }
        let counter = try #require(device.root as? TPMRoot)
        host.settle()
        #expect(try counter.read() == kept)
    }

    @Test("DEC-058: a passcode's verdict is told once the counter has it: the state from before is refused at once")
    func toldOnceCounted() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let old = try #require(try stateFile.load())
        #expect(try device.change(from: "1234", to: "5678") == .right)
        let kept = try #require(device.host).read { enclave, _ in enclave.state.revision }
        #expect(try (device.root as? TPMRoot)?.read() == kept)
        device.turnOff()
        try stateFile.replace(old)
        #expect(throws: EnclaveStateError.rolledBack) { try device.boot() }
    }

    @Test("A TPM that says nothing is given up on in time, and one that another program has is said to be busy")
    func silent() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        let clock = ContinuousClock()
        // swtpm serves the device; the second one waits behind it.
        let took = clock.measure { #expect(openError() == .busy) }
        #expect(took < .seconds(15))
    }

    @Test("A TPM that asks to be asked later is asked again; one that always does is busy")
    func later() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        try BoundDevice(in: directory.url, address: relay.address).turnOff()
        let retry: [UInt8] = [0x80, 0x01, 0, 0, 0, 10, 0, 0, 0x09, 0x22]
        let asked = Mutex(0)
        relay.treat { command, _ in
            guard command.code == Code.createPrimary else { return .passed }
            return asked.withLock { asked in
                asked += 1
                return asked <= 12 ? .refused(retry) : .passed
            }
        }
        #expect(openError() == nil, "it is asked often enough")
        relay.treat { command, _ in command.code == Code.createPrimary ? .refused(retry) : .passed }
        #expect(openError() == .busy)
    }

    // MARK: power

    @Test(
        "The power fails in any step of a passcode's change: the old one holds, or the new one",
        arguments: [false, true])
    func cutChange(isHeard: Bool) throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "0000") == .right)
        var current = 0
        var cuts = 0
        for step in 1..<60 {
            relay.treat { _, number in number < step ? .passed : isHeard ? .cutAfter : .cut }
            let verdict = try device.change(
                from: String(format: "%04d", current), to: String(format: "%04d", current + 1))
            let wasCut = relay.codes.count >= step
            relay.treat { _, _ in .passed }
            try device.boot()
            if try device.unlock(String(format: "%04d", current + 1)) == .right {
                current += 1
            } else {
                #expect(verdict != .right)
                #expect(try device.unlock(String(format: "%04d", current)) == .right, "step \(step): neither opens")
            }
            cuts += wasCut ? 1 : 0
            if !wasCut { break }
        }
        #expect(cuts > 3 && cuts < 59)
    }
}
