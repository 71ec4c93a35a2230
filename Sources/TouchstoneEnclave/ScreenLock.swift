import Foundation
import TouchstoneCore

/// Whether the device is locked, what opened it last, and what a finger may still open (PC-20, PC-33).
///
/// Gone with the process.
struct ScreenLock {
    struct Unlock {
        var time: Double
        /// The enrolment of the finger that opened the lock screen; nil for the passcode.
        var enrolment: Data?
    }

    /// Seconds after each lock for which the sensor looks for a finger that opens the lock screen.
    private static let sensorTime = 60.0

    private(set) var isLocked: Bool
    private(set) var wasUnlockedSinceBoot: Bool
    private(set) var lastUnlock: Unlock?
    /// Class A while a finger may open the lock screen; empty while the device is open.
    private(set) var held = ClassKeys()
    private var lastLock: Double?
    private var lastPasscode: Double?
    /// With programs that lock it.
    private var patience = Patience()

    /// As it is after a boot: a device without a passcode does not lock (KC-22).
    init(isPasscodeSet: Bool) {
        isLocked = isPasscodeSet
        wasUnlockedSinceBoot = !isPasscodeSet
    }

    /// When the sensor leaves the lock screen; nil: it was not locked since boot.
    var sensorEnd: Double? { lastLock.map { $0 + Self.sensorTime } }

    /// Whether a finger opens nothing until the passcode was given.
    var isPasscodeAsked: Bool { lastPasscode == nil }

    /// The last moment of a finger's (PC-20); nil: it is over.
    ///
    /// The passcode in an evaluation is as good as at the lock screen (EV-27).
    func fingersEnd(_ policy: PasscodePolicy) -> Double? {
        guard let lastPasscode, let lastUnlock else { return nil }
        let lastFinger = lastUnlock.enrolment == nil ? -.infinity : lastUnlock.time
        return min(
            max(lastUnlock.time, lastPasscode) + policy.longestWithoutUnlock,
            max(lastPasscode + policy.longestWithoutPasscode, lastFinger + policy.longestWithoutFinger))
    }

    // MARK: locking

    /// Counts a lock by a program, where such are not held back.
    mutating func takeLockByProgram(now: Double) -> Bool {
        guard !patience.isExhausted(now: now) else { return false }
        patience.note(now: now)
        return true
    }

    /// - Returns: Whether it was open.
    mutating func lock(now: Double) -> Bool {
        defer { isLocked = true }
        lastLock = now
        return !isLocked
    }

    /// Keeps aside what a finger may open: of a locked device alone.
    mutating func hold(_ keys: ClassKeys) {
        if isLocked { held = keys }
    }

    /// What is held, under the keys that are new.
    mutating func renewHeld(from keys: ClassKeys) { held = keys.filter { held[$0] != nil } }

    mutating func discardHeld() { held = ClassKeys() }

    /// From now on a finger opens nothing until the passcode was given.
    mutating func askForPasscode() {
        lastPasscode = nil
        discardHeld()
    }

    // MARK: opening

    /// - Returns: What was held for the finger.
    mutating func unlock(byFingerOf enrolment: Data, now: Double) -> ClassKeys {
        defer { discardHeld() }
        isLocked = false
        lastUnlock = Unlock(time: now, enrolment: enrolment)
        return held
    }

    mutating func unlockByPasscode(now: Double) {
        isLocked = false
        wasUnlockedSinceBoot = true
        lastUnlock = Unlock(time: now)
        discardHeld()
    }

    /// The passcode was right, wherever it was asked for.
    mutating func passcodeGiven(now: Double) { lastPasscode = now }

    /// There is a new one, which is given with that.
    mutating func passcodeSet(now: Double) {
        lastPasscode = now
        if !isLocked { lastUnlock = lastUnlock ?? Unlock(time: now) }
    }

    /// Without a passcode nothing locks (KC-22), and no finger counts.
    mutating func passcodeRemoved() {
        isLocked = false
        wasUnlockedSinceBoot = true
        lastUnlock = nil
        askForPasscode()
    }
}
