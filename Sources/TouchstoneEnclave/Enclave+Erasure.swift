import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// Erase Data: the last wrong passcode in a row destroys everything, where the owner has turned that on (PC-02).
extension Enclave {
    /// Whether ``PasscodePolicy/maximumFailures`` wrong passcodes in a row erase the device.
    var erasesData: Bool { state.passcode?.erasesData ?? false }

    /// Counted so far that the device is to be erased: at once after the verdict, and at boot where that was prevented.
    ///
    /// A last guess that was counted and never judged is as good as wrong: otherwise ending the process would give another.
    package var isErasureDue: Bool { isPasscodeDisabled }

    /// Takes the owner's passcode for turning it on or off: never a finger (PC-22).
    package mutating func setEraseData(_ isOn: Bool, _ sealed: SealedPasscode, connection: Int = 0, now: Double)
        throws(Refused) -> PasscodeJob
    {
        let opened = try openSetting(sealed, for: .eraseData(isOn), connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1)[0]
        return PasscodeJob(purpose: .eraseData(isOn), current: try begin(secret, now: now))
    }

    /// Ends the job that turns it on or off.
    mutating func finishEraseData(_ isOn: Bool, ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        guard finish(guess: key, now: now, asked: "erase-data") != nil else { return [rejected(ticket, now: now)] }
        state.passcode?.erasesData = isOn
        note(LogFact(event: .eraseDataChanged, asked: isOn ? "on" : "off", factors: [.passcode]))
        return [.answered(ticket: ticket, .done)]
    }

    /// Makes the device as new where that is due, before anybody hears of `events`.
    ///
    /// Every class key and template is gone with the write of the new state, all at once; the items follow when the keychain hears of
    /// it, and until then there is no key that opens them.
    package mutating func eraseIfDue(before events: [EnclaveEvent] = [], now: Double) throws -> [EnclaveEvent] {
        guard isErasureDue else { return events }
        let ended = endEvaluation(.refused(.deviceErased))
        var fresh = try EnclaveState.fresh(
            isSimulated: state.isSimulated, biometryType: state.biometryType, sensor: state.sensor,
            deviceKey: deviceKey, random)
        fresh.revision = state.revision
        fresh.recoveryKey = state.recoveryKey
        fresh.areKeysHeld = state.areKeysHeld
        fresh.erasure = .pending
        var erased = try Enclave(
            state: fresh, deviceKey: deviceKey, root: root, random: random, now: now, policy: policy,
            touchDelay: sensor.touchDelay)
        erased.applicationPasswords = applicationPasswords
        erased.applicationPasswords.forgetGuesses()
        erased.sensor = sensor
        erased.sensor.resume()
        // The one that is published.
        erased.passcodeKey = passcodeKey
        // It goes on: who erased the device by guessing is what its owner will want to read.
        erased.log = log
        erased.note(LogFact(event: .erased, result: "wrong-passcodes"))
        self = erased
        return [.erased] + ended + events
    }

    /// The keychain's items are gone.
    package mutating func confirmErasure() {
        guard state.erasure == .pending else { return }
        state.erasure = isPasscodeSet ? nil : .done
    }
}
