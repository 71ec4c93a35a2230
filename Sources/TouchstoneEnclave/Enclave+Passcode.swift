import Crypto
package import Foundation
package import TouchstoneCore
import TouchstoneLog
package import TouchstoneMemory

/// A passcode on its way through the key derivation, which takes long and happens outside the enclave's turn.
package struct PasscodeJob: Sendable {
    enum Purpose: Sendable {
        case evaluation(String)
        case unlock
        /// Set, change or remove; the kind is the new one's.
        case change(PasscodeKind)
        case eraseData(Bool)
        case backup(BackupSession)
        case forgetReader
        case addReader(SensorSource)
        /// What the look of this name found.
        case acceptItems(look: String)
        case circle(CircleChange)
    }

    var purpose: Purpose
    var current: PasscodeDerivation?
    var new: SecretBytes?

    /// Whether the root of trust's hardware is asked for the current passcode.
    package var isGated: Bool { current?.gate != nil }

    /// The key of the current passcode; nil where there is none.
    ///
    /// `answered` is called once the hardware has said whether it is right.
    package func currentKey(answered: () -> Void) throws -> SecretBytes? { try current?.run(answered: answered) }

    /// The new passcode; nil where there is to be none.
    package func newPasscode(
        cost: () -> PasscodeCost, root: any RootOfTrust, recoveryKey: Data?, random: any RandomSource
    ) throws -> NewPasscode? {
        guard let new else { return nil }
        let (salt, cost) = (random.bytes(count: PasscodeDerivation.saltBytes), cost())
        let made = try PasscodeDerivation(passcode: new, salt: salt, cost: cost, root: root)
            .make(recoveryKey: recoveryKey, random)
        return NewPasscode(key: made.key, salt: salt, cost: cost, gate: made.gate)
    }
}

/// A passcode that takes the place of another, as the state keeps it.
package struct NewPasscode: Sendable {
    var key: SecretBytes
    var salt: Data
    var cost: PasscodeCost
    var gate: PasscodeGate?
}

extension Enclave {
    var isPasscodeSet: Bool { state.passcode != nil }

    /// Counted so far that the device is to be erased, and no passcode is looked at before it is (PC-02).
    ///
    /// Without Erase Data this is never so: any program of the owner's may guess, and would end the device for its owner.
    var isPasscodeDisabled: Bool { erasesData && state.passcodeFailures >= policy.maximumFailures }

    /// What the passcode is made of; nil without one (PC-06).
    var passcodeKind: PasscodeKind? { state.passcode.map { $0.kind ?? .alphanumeric } }

    /// Seconds until the next passcode is looked at; nil: now.
    package func passcodeRetryAfter(now: Double) -> Double? { passcodeGuesses.retryAfter(now: now) }

    func nonce() -> Data { random.bytes(count: 16) }

    /// A nonce for one entry of the owner's settings, good on one connection of touchstoned's.
    package mutating func freshNonce(connection: Int = 0) -> Data {
        let nonce = nonce()
        nonces.add(nonce, of: connection)
        return nonce
    }

    /// Opens what was sealed to the enclave's key for one purpose, with one of these nonces.
    ///
    /// - Returns: The payload, and the nonce it was sealed with.
    func open(_ sealed: SealedPasscode, for purpose: SealedPasscode.Purpose, nonces candidates: [Data])
        throws(Refused) -> (SecretBytes, nonce: Data)
    {
        guard let key = try? passcodePrivateKey() else { throw .init(.unreadablePasscode) }
        if let named = sealed.key, named != key.publicKey.rawRepresentation { throw .init(.staleKey) }
        for nonce in candidates {
            guard
                var recipient = try? HPKE.Recipient(
                    privateKey: key, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info,
                    encapsulatedKey: sealed.encapsulatedKey),
                var plain = try? recipient.open(
                    sealed.ciphertext, authenticating: SealedPasscode.context(purpose, nonce: nonce))
            else { continue }
            defer { plain.resetBytes(in: 0..<plain.count) }
            return (SecretBytes(plain), nonce)
        }
        throw .init(.staleNonce)
    }

    /// Opens an entry of the owner's settings.
    ///
    /// Its nonce is used up whatever comes of it: a carrier cannot play it twice.
    mutating func openSetting(_ sealed: SealedPasscode, for purpose: SealedPasscode.Purpose, connection: Int)
        throws(Refused) -> SecretBytes
    {
        let (secret, nonce) = try open(sealed, for: purpose, nonces: nonces.of(connection))
        nonces.remove(nonce, of: connection)
        return secret
    }

    /// Takes a passcode for the evaluation that waits for one: typed at this prompt, for this app.
    package mutating func submitPasscode(_ sealed: SealedPasscode, evaluation identifier: String, now: Double)
        throws(Refused) -> PasscodeJob
    {
        guard let evaluation, evaluation.identifier == identifier, evaluation.phase == .passcode,
            let app = contexts[evaluation.context]?.app
        else { throw .init(.staleNonce) }
        let (payload, _) = try open(sealed, for: .prompt(app: app), nonces: [evaluation.nonce])
        let next = nonce()
        self.evaluation?.nonce = next
        let secret = try Self.passcodes(in: payload, count: 1)[0]
        return PasscodeJob(purpose: .evaluation(identifier), current: try begin(secret, now: now))
    }

    package mutating func unlock(_ sealed: SealedPasscode, connection: Int = 0, now: Double) throws(Refused)
        -> PasscodeJob
    {
        let secret = try Self.passcodes(in: openSetting(sealed, for: .unlock, connection: connection), count: 1)[0]
        return PasscodeJob(purpose: .unlock, current: try begin(secret, now: now))
    }

    package mutating func changePasscode(
        _ sealed: SealedPasscode, kind: PasscodeKind = .alphanumeric, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        let passcodes = try Self.passcodes(in: openSetting(sealed, for: .change, connection: connection), count: 2)
        let current = passcodes[0].count == 0 ? nil : passcodes[0]
        let new = passcodes[1].count == 0 ? nil : passcodes[1]
        if let new, new.count < Limits.minimumPasscodeBytes { throw .init(.passcodeTooShort) }
        if let new, !(unsafe new.withUnsafeBytes { unsafe kind.includes($0) }) { throw .init(.passcodeNotOfKind) }
        if isPasscodeSet, current == nil { throw .init(.passcodeAlreadySet) }
        if !isPasscodeSet, current != nil || new == nil { throw .init(.passcodeNotSet) }
        guard let current else {
            guard passcodeGuesses.begin() else { throw .init(.busy) }
            return PasscodeJob(purpose: .change(kind), new: new)
        }
        return PasscodeJob(purpose: .change(kind), current: try begin(current, now: now), new: new)
    }

    /// The passcodes of `SealedPasscode.payload`.
    static func passcodes(in payload: SecretBytes, count: Int) throws(Refused) -> [SecretBytes] {
        let length = SealedPasscode.entryLength
        guard payload.count == count * length else { throw .init(.unreadablePasscode) }
        let passcodes = unsafe payload.withUnsafeBytes { bytes in
            (0..<count).map { index -> SecretBytes? in
                let entry = unsafe UnsafeRawBufferPointer(rebasing: bytes[(index * length)..<((index + 1) * length)])
                let count = unsafe Int(entry[0]) | Int(entry[1]) << 8
                return unsafe count > SealedPasscode.maximumPasscodeLength ? nil : SecretBytes(entry[2..<(2 + count)])
            }
        }
        let fitting = passcodes.compactMap { $0 }
        guard fitting.count == count else { throw .init(.passcodeTooLong) }
        return fitting
    }

    /// Judges what a job derived.
    package mutating func finish(
        _ job: PasscodeJob, ticket: String, currentKey: SecretBytes?, new: NewPasscode?, now: Double
    ) throws -> [EnclaveEvent] {
        if case .change(let kind) = job.purpose {
            return try finishChange(
                ticket: ticket, currentKey: currentKey, new: new.map { ($0.key, $0.salt, $0.cost) }, gate: new?.gate,
                kind: kind, now: now)
        }
        guard let currentKey else { return [] }
        switch job.purpose {
        case .change: return []
        case .evaluation(let identifier): return finishEvaluation(identifier, key: currentKey, now: now)
        case .unlock: return finishUnlock(ticket: ticket, key: currentKey, now: now)
        case .backup(let session): return finishBackup(session, ticket: ticket, key: currentKey, now: now)
        case .eraseData(let isOn): return finishEraseData(isOn, ticket: ticket, key: currentKey, now: now)
        case .forgetReader: return finishForgettingReader(ticket: ticket, key: currentKey, now: now)
        case .addReader(let source): return finishAdding(source, ticket: ticket, key: currentKey, now: now)
        case .acceptItems(let look): return finishAccepting(look, ticket: ticket, key: currentKey, now: now)
        case .circle(let change): return finishCircle(change, ticket: ticket, key: currentKey, now: now)
        }
    }

    /// Ends a job that was never judged.
    ///
    /// A guess that is not given back stays counted, with its delay (PC-01).
    package mutating func abandon(_ job: PasscodeJob, isRefunded: Bool, now: Double) {
        passcodeGuesses.end()
        if isRefunded { refundGuess(job) } else { delayNextPasscode(now: now) }
    }

    /// Who sent the guess that was just begun, as touchstoned says.
    package mutating func guessed(by app: AppIdentifier?) { passcodeGuesses.begun(by: app) }

    /// Takes back a guess whose verdict nobody has heard: the derivation had no memory, or its end could not be kept.
    mutating func refundGuess(_ job: PasscodeJob) {
        passcodeGuesses.end()
        if job.current != nil, state.passcodeFailures > 0 { state.passcodeFailures -= 1 }
    }

    /// After a guess that stays counted (PC-01).
    mutating func delayNextPasscode(now: Double) {
        passcodeGuesses.delayNext(by: policy.delay(afterFailures: state.passcodeFailures), now: now)
    }

    /// Begins one guess.
    ///
    /// It is counted before it is looked at: ending the process in between gives none for free.
    mutating func begin(_ secret: SecretBytes, now: Double) throws(Refused)
        -> PasscodeDerivation
    {
        guard let passcode = state.passcode else { throw .init(.passcodeNotSet) }
        guard !isPasscodeDisabled else { throw .init(.passcodeDisabled) }
        guard passcodeRetryAfter(now: now) == nil, passcodeGuesses.begin() else { throw .init(.busy) }
        state.passcodeFailures += 1
        return PasscodeDerivation(
            passcode: secret, salt: passcode.salt, cost: passcode.cost, root: root, gate: passcode.gate,
            lastWrong: passcodeGuesses.lastWrong)
    }

    /// Judges a guess whose derivation is done.
    ///
    /// - Returns: The class keys that the passcode opens, or nil for a wrong one.
    ///
    /// `asked` and `app` are for the log: what the passcode was for.
    mutating func finish(guess key: SecretBytes, now: Double, asked: String, app: AppIdentifier? = nil) -> ClassKeys? {
        passcodeGuesses.end()
        guard let passcode = state.passcode else { return nil }
        guard let opened = ClassKeys(passcode.classKeys, under: key) else {
            let tag = PasscodeDerivation.wrongTag(key)
            var rejected = LogFact(
                event: .passcodeRejected, app: app, by: passcodeGuesses.guesser, asked: asked, result: "wrong")
            defer { note(rejected) }
            if passcodeGuesses.wasWrong(tag) {
                state.passcodeFailures -= 1
                rejected.result = "wrong, the same as before"
                // It costs nobody a guess, so it may come very often.
                rejected.isRepeatable = true
            } else {
                delayNextPasscode(now: now)
            }
            return nil
        }
        // EV-27: lockout ends with the right passcode.
        state.passcodeFailures = 0
        state.biometryFailures = 0
        state.joinNumbers = nil
        sensor.resume()
        passcodeGuesses.wasRight()
        screenLock.passcodeGiven(now: now)
        return opened
    }

    /// Ends the job for an evaluation.
    mutating func finishEvaluation(_ identifier: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        let isRight =
            finish(
                guess: key, now: now, asked: "evaluation",
                app: evaluation.flatMap { $0.identifier == identifier ? $0.app : nil }) != nil
        guard evaluation?.identifier == identifier else { return [] }
        return isRight ? passcodeMatched(now: now) : passcodeNotMatched(now: now)
    }

    /// Ends the job for the lock screen.
    mutating func finishUnlock(ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        guard let opened = finish(guess: key, now: now, asked: "unlock") else { return [rejected(ticket, now: now)] }
        unlock(with: opened, now: now)
        note(LogFact(event: .unlocked, factors: [.passcode]))
        return [.answered(ticket: ticket, .done)]
    }

    private mutating func unlock(with opened: ClassKeys, now: Double) {
        keys.merge(opened)
        screenLock.unlockByPasscode(now: now)
    }

    /// Ends the job that sets, changes or removes the passcode.
    ///
    /// New class keys are made, and the earlier ones are kept under them for what they wrapped (KC-14), except P's if the passcode is
    /// removed (KC-23). All of it is one write of the state.
    mutating func finishChange(
        ticket: String, currentKey: SecretBytes?, new: (key: SecretBytes, salt: Data, cost: PasscodeCost)?,
        gate: PasscodeGate? = nil, kind: PasscodeKind = .alphanumeric, now: Double
    ) throws -> [EnclaveEvent] {
        var opened = keys.filter(Accessibility.untilLocked.contains)
        if let currentKey {
            guard let byPasscode = finish(guess: currentKey, now: now, asked: "change") else {
                return [rejected(ticket, now: now)]
            }
            opened = byPasscode
        }
        passcodeGuesses.end()
        forgetProofs()
        let events = evaluation == nil ? [] : endEvaluation(.refused(.passcodeChanged))
        let underDevice = deviceKey.derive("class keys")
        opened.merge(keys.filter(Accessibility.withDevice.contains))
        // P is not kept: its items are gone (KC-23).
        if new == nil {
            _ = opened.remove(where: Accessibility.withPasscode.contains)
            // DEC-461: without a passcode nobody could say who may be in it.
            leaveCircle()
        }
        opened = try renew(opened)
        // What is open stays open, and so does what waits for a finger.
        keys = opened.filter { keys[$0] != nil }
        screenLock.renewHeld(from: opened)
        if let new {
            let hadPasscode = isPasscodeSet
            note(LogFact(event: hadPasscode ? .passcodeChanged : .passcodeSet, factors: hadPasscode ? [.passcode] : []))
            if !hadPasscode {
                opened.merge(ClassKeys.generate(Accessibility.withPasscode, random))
            }
            state.passcode = .init(
                salt: new.salt, cost: new.cost,
                classKeys: try opened.filter { !Accessibility.withDevice.contains($0) }.sealed(under: new.key, random),
                kind: kind, erasesData: state.passcode?.erasesData, gate: gate)
            if state.erasure == .done { state.erasure = nil }
            state.classKeys = try opened.filter(Accessibility.withDevice.contains).sealed(under: underDevice, random)
            if !hadPasscode { unlock(with: opened, now: now) }
            screenLock.passcodeSet(now: now)
        } else {
            note(LogFact(event: .passcodeRemoved, factors: [.passcode]))
            keys = opened
            state.passcode = nil
            state.classKeys = try keys.sealed(under: underDevice, random)
            screenLock.passcodeRemoved()
        }
        return events + [.answered(ticket: ticket, .done)]
    }

    func rejected(_ ticket: String, now: Double) -> EnclaveEvent {
        .answered(ticket: ticket, .rejected(retryAfterSeconds: passcodeRetryAfter(now: now)))
    }
}
