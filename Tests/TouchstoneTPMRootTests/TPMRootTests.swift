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

/// What a TPM, or somebody on the way to it, may do to a device.
@Suite(.timeLimit(.minutes(10))) struct TPMRootTests {
    private let directory: Directory
    private let tpm: SoftwareTPM

    init() throws {
        directory = try Directory()
        tpm = try SoftwareTPM()
    }

    private enum Code {
        static let createPrimary: UInt32 = 0x131
        static let startSession: UInt32 = 0x176
        static let define: UInt32 = 0x12A
        static let write: UInt32 = 0x137
        static let load: UInt32 = 0x157
        static let unseal: UInt32 = 0x15E
        static let increment: UInt32 = 0x134
        static let read: UInt32 = 0x14E
        static let capability: UInt32 = 0x17A
    }

    private var rootFile: PrivateFile { PrivateFile(EnclaveFiles(directory.url).rootTPM) }
    private var stateFile: PrivateFile { PrivateFile(EnclaveFiles(directory.url).state) }

    /// Tells the command that has the TPM look at a passcode: it reads an index that is not the counter.
    private func guesses() throws -> @Sendable (Relay.Command) -> Bool {
        let counter = try TPMRootFile(rootFile).counter
        return { $0.code == Code.read && $0.index != counter }
    }

    private func openError() -> TPMError.Code? {
        do {
            _ = try TPMRoot(rootFile)
            return nil
        } catch {
            return (error as? TPMError)?.code
        }
    }

    /// What the file says of the TPM's address, as when something else answers there now.
    private func move(to address: String) throws {
        var file = try TPMRootFile(rootFile)
        file.address = address
        try rootFile.replace(file.encoded())
    }

    // MARK: what is heard

    @Test("Neither the passcode, nor what is derived from it, nor the root's secret, nor a gate's, is ever on the line")
    func capture() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "correct horse") == .right)
        #expect(try device.unlock("battery staple") == .wrong)
        #expect(try device.unlock("correct horse") == .right)
        let heard = relay.heard
        for code in [
            Code.createPrimary, Code.startSession, Code.define, Code.write, Code.load, Code.unseal, Code.increment,
            Code.read,
        ] {
            #expect(relay.codes.contains(code), "\(String(code, radix: 16)) was not heard")
        }
        let root = try #require(device.root as? TPMRoot)
        let passcode = try device.passcode
        let file = try TPMRootFile(rootFile)
        let secret = try Sealed.open(file.recovery, with: device.recoveryKey.privateKey, "io.touchstone root recovery")
        #expect(try root.derive("a", Data()).bytes == Self.hmac(secret, "a"), "this is the root's secret")
        let gateSecret = try Sealed.open(
            try #require(passcode.gate?.recovery), with: device.recoveryKey.privateKey, PasscodeGate.recoveryPurpose)
        let stretched = try PasscodeDerivation.argon2id(
            SecretBytes("correct horse".utf8), salt: passcode.salt, cost: passcode.cost)
        let ungated = try stretched.joined(with: root.derive("passcode", passcode.salt)).derive("passcode key")
        let secrets = [
            Data("correct horse".utf8), Data("battery staple".utf8), secret.bytes, gateSecret.bytes, stretched.bytes,
            ungated.bytes,
            ungated.derive("passcode gate").bytes, secret.derive("tpm counter").bytes,
            try root.derive("device key", Data()).bytes, device.recoveryKey.text.bytes,
        ]
        for (number, secret) in secrets.enumerated() {
            #expect(heard.range(of: secret) == nil, "secret \(number) was on the line")
        }
        // And it would have been found: what is no secret is there.
        #expect(heard.range(of: file.root.publicArea.dropFirst(2)) != nil)
    }

    private static func hmac(_ secret: SecretBytes, _ label: String) -> Data {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("io.touchstone root \(label.utf8.count) \(label)".utf8))
        return Data(code.finalize())
    }

    // MARK: another TPM, or the same with other seeds

    @Test("A cleared TPM is told from another one, and from none")
    func identities() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        #expect(openError() == nil)
        try tpm.tool("tpm2_clear")
        #expect(openError() == .cleared)
        let other = try SoftwareTPM()
        try move(to: other.address)
        #expect(openError() == .replaced)
        try move(to: "swtpm:path=\(tpm.socket).none")
        guard case .missing = openError() else { return #expect(Bool(false), "a TPM that is not there") }
        for address in [
            "", "tabrmd:", "swtpm:path=relative", "device:", "swtpm:path=/\(String(repeating: "x", count: 107))",
        ] {
            try move(to: address)
            #expect(openError() == .badAddress, "\(address)")
        }
    }

    @Test(
        "A TPM whose owner has a password is refused; one whose endorsement has one serves, and a clear then looks like another TPM"
    )
    func passwords() throws {
        try tpm.tool("tpm2_changeauth", "-c", "endorsement", "secret")
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        #expect(openError() == nil)
        try tpm.tool("tpm2_changeauth", "-c", "owner", "secret")
        #expect(openError() == .ownerPassword)
        try tpm.tool("tpm2_clear")
        #expect(openError() == .replaced)
    }

    @Test("A primary key with another Name is refused before anything is sent that depends on it")
    func substitutedName() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        let attacker = try SoftwareTPM()
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        try move(to: relay.address)
        let socket = attacker.socket
        relay.treat { command, _ in
            guard command.code == Code.createPrimary else { return .passed }
            return .answered { _ in Relay.ask(socket, command.bytes) }
        }
        let error = openError()
        #expect(error == .replaced || error == .cleared)
        #expect(relay.codes.contains(Code.createPrimary) && !relay.codes.contains(Code.startSession))
        relay.treat { _, _ in .passed }
        #expect(openError() == nil)
        // One bit of the key alone, with the Name that belongs to the right one.
        relay.treat { command, _ in
            guard command.code == Code.createPrimary else { return .passed }
            return .answered { answer in
                var changed = answer
                changed[70] ^= 1
                return changed
            }
        }
        #expect(openError() != nil)
        #expect(!relay.codes.contains(Code.startSession))
    }

    @Test(
        "An answer that was changed, or is an old one, is not believed",
        arguments: [Code.load, Code.unseal, Code.read, Code.increment])
    func changedAnswers(code: UInt32) throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        let old = Mutex<[UInt8]?>(nil)
        for isOld in [false, true] {
            relay.treat { command, _ in
                guard command.code == code else { return .passed }
                return .answered { answer in
                    old.withLock { kept in
                        defer { kept = kept ?? answer }
                        if isOld, let kept { return kept }
                        var changed = answer
                        changed[changed.count - 1] ^= 1
                        return changed
                    }
                }
            }
            if code == Code.increment {
                // Looked at again over another session: it did count, whatever the answer was.
                let root = try TPMRoot(rootFile)
                let revision = try #require(try root.read())
                try root.advance(to: revision + 1)
                #expect(try root.read() == revision + 1)
            } else {
                #expect(throws: TPMError.self) { _ = try TPMRoot(rootFile).read() }
            }
            #expect(relay.codes.contains(code))
        }
        relay.treat { _, _ in .passed }
        _ = try TPMRoot(rootFile).read()
    }

    @Test("A TPM behind a socket is a program, whatever it says of itself")
    func vendor() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        try BoundDevice(in: directory.url, address: relay.address).turnOff()
        relay.treat { command, _ in
            // TPM2_PT_VENDOR_STRING_1 comes after TPM2_PT_MANUFACTURER.
            guard command.code == Code.capability, command.bytes[14..<18] == [0, 0, 0x01, 0x05] else { return .passed }
            return .answered { Array($0[..<31] + Array("SLB9".utf8) + $0[35...]) }
        }
        #expect(try TPMRoot(rootFile).kind == "swtpm")
    }

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
        let limit = ContinuousClock.now + .seconds(60)
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

    // MARK: the counter

    @Test("PC-34: an old state is refused, a newer one is not, and the number is not lost with the power")
    func rollback() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        let old = try #require(try stateFile.load())
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        let new = try #require(try stateFile.load())
        tpm.turnOff()
        try tpm.turnOn()
        try stateFile.replace(old)
        #expect(throws: EnclaveStateError.rolledBack) { try device.boot() }
        try stateFile.replace(new)
        try device.boot()
    }

    @Test("A counter that was taken away is missed; one that is put in its place without our value is not believed")
    func counterGone() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        let index = String(format: "0x%x", try TPMRootFile(rootFile).counter)
        try tpm.tool("tpm2_nvundefine", "-C", "o", index)
        do {
            let root = try TPMRoot(rootFile)
            #expect { try root.read() } throws: { ($0 as? TPMError)?.code == .counterGone }
        }
        try tpm.tool("tpm2_nvdefine", "-C", "o", "-a", "authread|authwrite|no_da|nt=counter", index)
        try tpm.tool("tpm2_nvincrement", index)
        let root = try TPMRoot(rootFile)
        for use in [{ _ = try root.read() }, { try root.advance(to: 9) }] {
            #expect { try use() } throws: { ($0 as? TPMError)?.code == .counterGone }
        }
    }

    // MARK: an earlier passcode

    /// The NV indices in the TPM; the device is off.
    private func indices() throws -> Set<String> {
        Set(try tpm.tool("tpm2_getcap", "handles-nv-index").split(whereSeparator: \.isWhitespace).map(String.init))
            .filter { ("0x1800000"..."0x1bfffff").contains($0.lowercased()) }
    }

    /// What an attacker with the disk, the root's secret and a passcode makes of a copy of the state.
    private func opens(_ state: Data, _ passcode: String, _ root: any RootOfTrust) throws -> Bool {
        let key = try root.derive("device key", Data()).derive("state")
        let kept = try #require(try EnclaveStateFile.decode(state, key: key).passcode)
        let derived = try? PasscodeDerivation(
            passcode: SecretBytes(passcode.utf8), salt: kept.salt, cost: kept.cost, root: root, gate: kept.gate
        ).run()
        return derived.flatMap { ClassKeys(kept.classKeys, under: $0) } != nil
    }

    @Test("DEC-060: once the passcode is another, a copy of the state from before opens with the old one nowhere")
    func earlierPasscode() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let old = try #require(try stateFile.load())
        #expect(try opens(old, "1234", device.root), "the twin: it would have opened")
        #expect(try device.change(from: "1234", to: "5678") == .right)
        #expect(try !opens(old, "1234", device.root))
        let new = try #require(try stateFile.load())
        #expect(try opens(new, "5678", device.root))
        #expect(try device.change(from: "5678", to: "") == .right)
        #expect(try !opens(new, "5678", device.root))
        device.turnOff()
        #expect(try indices().count == 1, "the counter alone")
    }

    @Test(
        "DEC-060: of a change that fails, and of a guess, nothing stays in the TPM, also where the process ends in between"
    )
    func leftoverGates() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        for _ in 1...3 { #expect(try device.change(from: "0001", to: "5678") == .wrong) }
        device.turnOff()
        #expect(try indices().count == 2, "the counter and the gate")
        try device.boot()
        // The TPM is away right after it made the new gate, for as long as the device is on.
        let isCut = Mutex(false)
        relay.treat { command, _ in
            isCut.withLock { isCut in
                defer { isCut = isCut || command.code == Code.write }
                return isCut ? .cut : .passed
            }
        }
        #expect(try device.change(from: "1234", to: "5678") != .wrong)
        device.turnOff()
        #expect(try indices().count == 3, "the twin: something is left")
        relay.treat { _, _ in .passed }
        try device.boot()
        #expect(try device.unlock("5678") == .right || device.unlock("1234") == .right)
        device.turnOff()
        #expect(try indices().count == 2)
    }

    @Test("Others' indices stay, and another device's, whatever is tidied")
    func othersIndices() throws {
        try tpm.tool("tpm2_nvdefine", "-C", "o", "-s", "32", "-a", "authread|authwrite", "0x1812345")
        let otherDirectory = try Directory()
        let other = try BoundDevice(in: otherDirectory.url, address: tpm.address)
        try other.boot()
        #expect(try other.change(from: "", to: "0000") == .right)
        other.turnOff()
        let before = try indices()
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        #expect(try device.change(from: "1234", to: "5678") == .right)
        device.turnOff()
        #expect(try indices().count == before.count + 2)
        try TPMRoot.forget(rootFile)
        #expect(try indices() == before)
        try other.boot()
        #expect(try other.unlock("0000") == .right)
    }

    @Test("A gate of before there were indices opens, and its passcode's change makes one of today's")
    func objectGate() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let passcode = try device.passcode
        let secret = try Sealed.open(
            try #require(passcode.gate?.recovery), with: device.recoveryKey.privateKey, PasscodeGate.recoveryPurpose)
        let value = try PasscodeDerivation(
            passcode: SecretBytes("1234".utf8), salt: passcode.salt, cost: passcode.cost, root: device.root
        ).run().derive("passcode gate")
        let key = try device.root.derive("device key", Data()).derive("state")
        device.turnOff()
        do {
            let object = try TPMConnection(TPMAddress(tpm.address), pinned: nil)
                .seal(secret, under: value, countsWrongValues: true)
            var state = try EnclaveStateFile.decode(try #require(try stateFile.load()), key: key)
            state.passcode?.gate?.closed = try JSONEncoder().encode(object)
            try stateFile.replace(EnclaveStateFile.encode(state, key: key))
        }
        try device.boot()
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.unlock("1234") == .right)
        #expect(try device.change(from: "1234", to: "5678") == .right)
        #expect(try #require(device.passcode.gate).closed.count < 40)
        try device.boot()
        #expect(try device.unlock("5678") == .right)
    }

    // MARK: recovery

    @Test("The recovery key and the passcode bring a device to another TPM; a wrong one of either changes nothing")
    func recovery() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let before = try device.root.derive("device key", Data()).bytes
        let other = try SoftwareTPM()
        func recover(_ key: RecoveryKey, _ passcode: String) throws {
            let state = try #require(try stateFile.load())
            try TPMRoot.recover(
                rootFile, recovering: PrivateFile(EnclaveFiles(directory.url).recoveringTPM), address: other.address,
                recoveryKey: key
            ) { root, revision in
                try stateFile.replace(
                    Enclave.recovered(
                        stateFile: state, root: root, recoveryKey: key.privateKey, passcode: SecretBytes(passcode.utf8),
                        revision: revision))
            }
        }
        device.turnOff()
        let files = try [stateFile.load(), rootFile.load()]
        #expect(throws: TPMError.self) { try recover(RecoveryKey(), "1234") }
        #expect(throws: RecoveryError.wrongPasscode) { try recover(device.recoveryKey, "4321") }
        #expect(try [stateFile.load(), rootFile.load()] == files)
        try recover(device.recoveryKey, "1234")
        tpm.turnOff()
        try device.boot()
        #expect(try device.root.derive("device key", Data()).bytes == before)
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.unlock("1234") == .right)
    }

    @Test("A recovery that is given up leaves nothing in the TPM; one that is cut off leaves what the next takes out")
    func cutRecovery() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        try tpm.tool("tpm2_clear")
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let recovering = PrivateFile(EnclaveFiles(directory.url).recoveringTPM)
        struct GivenUp: Error {}
        func recover(_ body: () throws -> Void = {}) throws {
            let state = try stateFile.load() ?? Data()
            try TPMRoot.recover(
                rootFile, recovering: recovering, address: relay.address, recoveryKey: device.recoveryKey
            ) { root, revision in
                try body()
                let recovered = try Enclave.recovered(
                    stateFile: state, root: root, recoveryKey: device.recoveryKey.privateKey,
                    passcode: SecretBytes("1234".utf8), revision: revision)
                try stateFile.replace(recovered)
            }
        }
        // The process ends at the passcode: nothing of it could tidy up.
        #expect(throws: GivenUp.self) {
            try recover {
                relay.treat { _, _ in .cut }
                throw GivenUp()
            }
        }
        #expect(try indices().isEmpty)
        // The line goes right after the counter was made.
        relay.treat { _, _ in .passed }
        let isCut = Mutex(false)
        #expect(throws: TPMError.self) {
            try recover {
                relay.treat { command, _ in
                    isCut.withLock { isCut in
                        defer { isCut = isCut || command.code == Code.increment }
                        return isCut ? .cut : .passed
                    }
                }
            }
        }
        #expect(try indices().count == 2, "the twin: a counter and a gate are left")
        #expect(try recovering.load()?.isEmpty == false)
        relay.treat { _, _ in .passed }
        try recover()
        #expect(try indices().count == 2)
        #expect(try recovering.load()?.isEmpty == true)
        try device.boot()
        #expect(try device.unlock("1234") == .right)
    }

    @Test("What a crash left in a TPM that one program has at a time is taken out; in one that is shared it is others'")
    func leftovers() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        for (name, isShared) in [("tpm0", false), ("tpmrm0", true)] {
            let path = directory.url.appendingPathComponent(name).path
            let line = try CharacterDevice(at: path, to: tpm.socket)
            defer { line.close() }
            try move(to: "device:\(path)")
            #expect(openError() == nil)
            line.leaks = true
            for _ in 1...4 { _ = openError() }
            line.leaks = false
            if isShared {
                #expect(openError() == .busy)
                #expect(!line.codes.contains(CharacterDevice.flush), "others' objects must not be touched")
            } else {
                #expect(openError() == nil)
                #expect(line.codes.filter { $0 == CharacterDevice.flush }.count > 2, "more than the connection's own")
            }
        }
    }

    @Test("A recovery key's text: read back in any spelling, refused with a letter wrong, missing or too many")
    func recoveryText() throws {
        let key = RecoveryKey()
        let text = String(decoding: key.text.bytes, as: UTF8.self)
        #expect(text.count == 39 && text.split(separator: "-").allSatisfy { $0.count == 4 })
        for spelling in [
            text, text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""), text + "\r",
        ] {
            let read = try #require(RecoveryKey(text: SecretBytes(spelling.utf8)), "\(spelling.count)")
            #expect(try read.privateKey.rawRepresentation == key.privateKey.rawRepresentation)
        }
        for index in text.indices where text[index] != "-" {
            var wrong = text
            wrong.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(RecoveryKey(text: SecretBytes(wrong.utf8)) == nil)
        }
        for wrong in [
            "", String(text.dropLast()), text + "A", text.replacing("-", with: "_"), String(repeating: "0", count: 32),
        ] {
            #expect(RecoveryKey(text: SecretBytes(wrong.utf8)) == nil)
        }
    }
}
