import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// What a carrier between the person and the enclave can do to a sealed passcode: nothing but lose it.
@Suite struct SealedPasscodeTests {
    private func refusal(_ enclave: inout Enclave, _ entry: SealedPasscode) -> Enclave.RefusalReason? {
        do throws(Enclave.Refused) {
            _ = try enclave.unlock(entry, now: 0)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Nothing of a refused entry was counted, and the next good one is taken.
    private func expectUnharmed(_ enclave: inout Enclave) throws {
        #expect(enclave.state.passcodeFailures == 0)
        #expect(!enclave.passcodeGuesses.isBusy)
        #expect(try enclave.unlock("1234"))
    }

    @Test("An entry sealed with a nonce that was never given out is refused, one with a good nonce is not")
    func wrongNonce() throws {
        var enclave = try Enclave.device()
        let entry = try seal("1234", to: enclave.passcodePublicKey(), nonce: Data(count: 16))
        #expect(refusal(&enclave, entry) == .staleNonce)
        try expectUnharmed(&enclave)
    }

    @Test("An entry is good once: played again it is refused")
    func replay() throws {
        var enclave = try Enclave.device()
        let entry = try enclave.sealed("1234")
        let job = try enclave.unlock(entry, now: 0)
        _ = enclave.finishUnlock(ticket: "t", key: try #require(job.current).run(), now: 0)
        #expect(refusal(&enclave, entry) == .staleNonce)
        try expectUnharmed(&enclave)
    }

    @Test("A nonce is good once, also for another entry")
    func nonceReuse() throws {
        var enclave = try Enclave.device()
        let nonce = enclave.freshNonce()
        let first = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce)
        let second = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce)
        let job = try enclave.unlock(first, now: 0)
        _ = enclave.finishUnlock(ticket: "t", key: try #require(job.current).run(), now: 0)
        #expect(refusal(&enclave, second) == .staleNonce)
    }

    @Test("A nonce of the lock screen is none of a prompt's, nor the reverse of another prompt's")
    func nonceOfAnotherPrompt() throws {
        var enclave = try Enclave.device(fingers: 0)
        let first = try enclave.begin(.deviceOwner)
        let firstNonce = try #require(enclave.evaluation?.nonce)
        let second = try enclave.begin(.deviceOwner)
        for nonce in [enclave.freshNonce(), firstNonce] {
            let entry = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce, for: .prompt(app: "app"))
            for evaluation in [first.evaluation, second.evaluation] {
                #expect(throws: Enclave.Refused.self) {
                    try enclave.submitPasscode(entry, evaluation: evaluation, now: 0)
                }
            }
        }
        let good = try seal(
            "1234", to: enclave.passcodePublicKey(), nonce: #require(enclave.evaluation?.nonce),
            for: .prompt(app: "app"))
        #expect(throws: Never.self) { try enclave.submitPasscode(good, evaluation: second.evaluation, now: 0) }
    }

    @Test("A passcode typed for one purpose, or for one app's prompt, is good for no other")
    func otherPurpose() throws {
        var enclave = try Enclave.device(fingers: 0)
        let key = try enclave.passcodePublicKey()
        let begun = try enclave.begin(.deviceOwner)
        let nonce = try #require(enclave.evaluation?.nonce)
        for purpose in [SealedPasscode.Purpose.unlock, .change, .prompt(app: "other")] {
            let entry = try seal("1234", to: key, nonce: nonce, for: purpose)
            #expect(throws: Enclave.Refused.self) {
                try enclave.submitPasscode(entry, evaluation: begun.evaluation, now: 0)
            }
        }
        let setting = enclave.freshNonce()
        for purpose in [SealedPasscode.Purpose.change, .prompt(app: "app")] {
            #expect(refusal(&enclave, try seal("1234", to: key, nonce: setting, for: purpose)) == .staleNonce)
        }
        let unlock = try seal("1234", "5678", to: key, nonce: setting, for: .unlock)
        #expect(throws: Enclave.Refused.self) { try enclave.changePasscode(unlock, now: 0) }
        try expectUnharmed(&enclave)
    }

    @Test("One passcode where two belong, or two where one does, is unreadable")
    func otherCount() throws {
        var enclave = try Enclave.device()
        let key = try enclave.passcodePublicKey()
        let two = try seal("1234", "5678", to: key, nonce: enclave.freshNonce())
        #expect(refusal(&enclave, two) == .unreadablePasscode)
        let one = try seal("1234", to: key, nonce: enclave.freshNonce(), for: .change)
        #expect(throws: Enclave.Refused.self) { try enclave.changePasscode(one, now: 0) }
        try expectUnharmed(&enclave)
    }

    @Test("Where biometry is asked for, a passcode is refused")
    func passcodeInTheBiometryPhase() throws {
        var enclave = try Enclave.device()
        let begun = try enclave.begin(.deviceOwner)
        let entry = try seal(
            "1234", to: enclave.passcodePublicKey(), nonce: #require(enclave.evaluation?.nonce),
            for: .prompt(app: "app"))
        #expect(throws: Enclave.Refused.self) {
            try enclave.submitPasscode(entry, evaluation: begun.evaluation, now: 0)
        }
        #expect(enclave.state.passcodeFailures == 0)
    }

    @Test("A flipped bit or a missing byte anywhere is refused")
    func tampered() throws {
        var enclave = try Enclave.device()
        let entry = try enclave.sealed("1234")
        var bad: [SealedPasscode] = []
        for index in entry.ciphertext.indices {
            var changed = entry
            changed.ciphertext[index] ^= 1
            var shortened = entry
            shortened.ciphertext = entry.ciphertext.prefix(index)
            bad += [changed, shortened]
        }
        // Not the top bit, which X25519 ignores (RFC 7748).
        for index in entry.encapsulatedKey.indices {
            var changed = entry
            changed.encapsulatedKey[index] ^= 1
            var shortened = entry
            shortened.encapsulatedKey = entry.encapsulatedKey.prefix(index)
            bad += [changed, shortened]
        }
        for (number, entry) in bad.enumerated() {
            #expect(refusal(&enclave, entry) == .staleNonce, "number \(number)")
        }
        #expect(refusal(&enclave, entry) == nil, "none of these used up the nonce of the true one")
    }

    @Test("Zero, low-order and oversized keys and texts are refused, and the enclave lives on")
    func malformed() throws {
        var enclave = try Enclave.device()
        let good = try enclave.sealed("1234")
        for key in [
            Data(), Data(count: 32), Data([1]) + Data(count: 31), Data(repeating: 0xFF, count: 32),
            Data(count: 1 << 16),
        ] {
            #expect(
                refusal(&enclave, .init(encapsulatedKey: key, ciphertext: good.ciphertext)) == .staleNonce)
        }
        #expect(
            refusal(&enclave, .init(encapsulatedKey: good.encapsulatedKey, ciphertext: Data(count: 1 << 20)))
                == .staleNonce)
        try expectUnharmed(&enclave)
    }

    @Test("Sealed to another key, or for another purpose, it is refused")
    func otherKey() throws {
        var enclave = try Enclave.device(root: TestRoot(1))
        let other = try Enclave.device(root: TestRoot(2))
        let nonce = enclave.freshNonce()
        #expect(
            refusal(&enclave, try seal("1234", to: other.passcodePublicKey(), nonce: nonce)) == .staleNonce)
        let otherPurpose = try seal(
            "1234", to: enclave.passcodePublicKey(), nonce: nonce, info: Data("io.touchstone.other".utf8))
        #expect(refusal(&enclave, otherPurpose) == .staleNonce)
        try expectUnharmed(&enclave)
    }

    @Test(
        "DEC-005: a recorded entry opens in no later boot, whoever has the state, the root key and the passcode by then"
    )
    func laterBoot() throws {
        var enclave = try Enclave.device()
        let nonce = enclave.freshNonce()
        let recorded = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce)
        func opens(_ key: Curve25519.KeyAgreement.PrivateKey) -> Bool {
            var recipient = try? HPKE.Recipient(
                privateKey: key, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info,
                encapsulatedKey: recorded.encapsulatedKey)
            let plain = try? recipient?.open(
                recorded.ciphertext, authenticating: SealedPasscode.context(.unlock, nonce: nonce))
            return plain != nil
        }
        #expect(try opens(enclave.passcodePrivateKey()), "in its own boot it does")
        for _ in 0..<3 {
            var later = try enclave.restarted()
            #expect(try later.unlock("1234"))
            #expect(try !opens(later.passcodePrivateKey()))
        }
        // What it was until it was made at each boot.
        let derived = enclave.deviceKey.derive("passcode transport").unprotectedCopy
        #expect(try !opens(Curve25519.KeyAgreement.PrivateKey(rawRepresentation: derived)))
    }

    @Test("An entry that names another boot's key is refused as stale, and costs neither a guess nor the nonce")
    func staleKey() throws {
        let before = try Enclave.device()
        var enclave = try before.restarted()
        let nonce = enclave.freshNonce()
        let old = try before.passcodePublicKey()
        var entry = try seal("1234", to: old, nonce: nonce)
        #expect(refusal(&enclave, entry) == .staleNonce, "of a program that is older than named keys")
        entry.key = old
        #expect(refusal(&enclave, entry) == .staleKey)
        var lied = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce)
        lied.key = old
        #expect(refusal(&enclave, lied) == .staleKey, "a carrier that names another key gets no more")
        #expect(enclave.state.passcodeFailures == 0)
        var good = try seal("1234", to: enclave.passcodePublicKey(), nonce: nonce)
        good.key = try enclave.passcodePublicKey()
        #expect(refusal(&enclave, good) == nil, "the same nonce")
    }

    @Test("PC-02: erasing does not change the key that is published")
    func erasedKey() throws {
        var enclave = try Enclave.device()
        let key = try enclave.passcodePublicKey()
        enclave.state.passcode?.erasesData = true
        enclave.state.passcodeFailures = 10
        _ = try enclave.eraseIfDue(now: 0)
        #expect(!enclave.isPasscodeSet)
        #expect(try enclave.passcodePublicKey() == key)
    }

    @Test("257 bytes are refused by name; 256 are looked at")
    func oversized() throws {
        var enclave = try Enclave.device()
        let long = try enclave.sealed(String(repeating: "x", count: 257))
        #expect(refusal(&enclave, long) == .passcodeTooLong)
        #expect(enclave.state.passcodeFailures == 0)
        let longest = try enclave.sealed(String(repeating: "x", count: 256))
        #expect(refusal(&enclave, longest) == nil)
        #expect(enclave.state.passcodeFailures == 1)
    }

    @Test("Nonces that nobody uses do not pile up, and the latest of a connection are good")
    func nonceFlood() throws {
        var enclave = try Enclave.device()
        for _ in 0..<500 { _ = enclave.freshNonce() }
        #expect(enclave.nonces.of(0).count == Nonces.Limits.perConnection)
        #expect(try enclave.unlock("1234"))
    }

    @Test("Of too many connections the one that has been idle for longest loses its nonces")
    func manyConnections() {
        var nonces = Nonces()
        for connection in 1...Nonces.Limits.connections { nonces.add(Data([1]), of: connection) }
        nonces.add(Data([2]), of: 1)
        nonces.add(Data([1]), of: Nonces.Limits.connections + 1)
        #expect(nonces.of(1) == [Data([1]), Data([2])] && nonces.of(Nonces.Limits.connections + 1) == [Data([1])])
        #expect(nonces.of(2).isEmpty)
        nonces.removeAll(of: 1)
        #expect(nonces.of(1).isEmpty && !nonces.of(3).isEmpty)
    }

    @Test("A nonce of another connection is refused and costs nothing; on its own it is taken, once")
    func otherConnection() throws {
        var enclave = try Enclave.device()
        let entry = try seal("1234", to: enclave.passcodePublicKey(), nonce: enclave.freshNonce(connection: 1))
        func refused(_ connection: Int) -> Enclave.RefusalReason? {
            do throws(Enclave.Refused) {
                _ = try enclave.unlock(entry, connection: connection, now: 0)
                return nil
            } catch {
                return error.reason
            }
        }
        for other in [0, 2] { #expect(refused(other) == .staleNonce) }
        #expect(enclave.state.passcodeFailures == 0 && !enclave.passcodeGuesses.isBusy)
        #expect(refused(1) == nil)
        enclave.passcodeGuesses.end()
        #expect(refused(1) == .staleNonce)
    }

    @Test("Two guesses at once: the second is refused and not counted")
    func oneGuessAtATime() throws {
        var enclave = try Enclave.device()
        let (first, second) = (try enclave.sealed("9999"), try enclave.sealed("8888"))
        let job = try enclave.unlock(first, now: 0)
        #expect(refusal(&enclave, second) == .busy)
        #expect(enclave.state.passcodeFailures == 1)
        _ = enclave.finishUnlock(ticket: "t", key: try #require(job.current).run(), now: 0)
        #expect(try enclave.unlock("1234"))
    }
}
