import Crypto
import Foundation
import Synchronization
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneTransport

extension SimulatedDevice {
    /// Something that a person does in front of the device.
    public enum Action: Sendable {
        /// Lays an enrolled finger (or shows an enrolled face) on the sensor, by its number.
        case finger(Int)
        /// Lays a finger on the sensor that is not enrolled.
        case nonMatch
        /// Types a passcode where one is asked for.
        case passcode(String)
        /// Taps Cancel.
        case cancel
        /// Taps the fallback button.
        case fallback
        /// Leaves the app, which takes its prompt down.
        case leaveApp
    }

    /// What an app wants to do with a private key of the device.
    public enum KeyOperation: Sendable {
        /// Making a signature.
        case sign
        /// Decrypting.
        case decrypt
        /// Agreeing on a secret with the holder of another key.
        case exchangeKeys
    }

    /// A prompt as the person saw it last.
    public struct Prompt: Sendable, Hashable {
        /// The name of the app that asks.
        public let app: String
        /// What the app says it is for.
        public let reason: String
        /// What is to be done with a key; nil where it is not about a key.
        public let keyOperation: KeyOperation?
        /// What the app calls the key; nil where it has no name for it.
        public let keyLabel: String?
        /// The title of the cancel button.
        public let cancelTitle: String
        /// The title of the fallback button; nil where there is none.
        public let fallbackTitle: String?
        /// Whether the passcode is asked for.
        public let asksForPasscode: Bool
        /// Touches in this prompt that did not match.
        public let failures: Int
    }

    /// Has the person do something, now or as soon as a prompt is up.
    ///
    /// Actions are taken in order, each by the prompt that is up when its turn comes; one that a prompt has no use for,
    /// as a finger where the passcode is asked for, does nothing.
    ///
    /// - Parameter actions: What to do.
    public func present(_ actions: Action...) {
        person.present(actions)
    }

    /// Every prompt that has been shown so far, oldest first.
    public var prompts: [Prompt] { person.prompts }

    /// Whether somebody is there to see a prompt.
    ///
    /// Where nobody is, what needs one fails at once.
    ///
    /// - Parameter isAttended: Whether somebody is.
    public func setAttended(_ isAttended: Bool) {
        if isAttended { person.attend(booted.withLock { $0 }) } else { person.leave() }
    }

    // MARK: lock screen

    /// Locks the device; without a passcode it stays unlocked.
    ///
    /// - Throws: ``SimulatedDeviceError``.
    public func lock() throws {
        try call(DeviceInterface.Lock.self, Empty())
    }

    /// Unlocks the device with the passcode.
    ///
    /// - Parameter passcode: The passcode.
    /// - Throws: ``SimulatedDeviceError`` for a wrong one.
    public func unlock(passcode: String) throws {
        try call(DeviceInterface.Unlock.self, .init(passcode: seal([passcode], for: .unlock)))
    }

    /// Unlocks the device with a finger or face.
    ///
    /// - Parameter finger: Its number; nil for one that is not enrolled.
    /// - Returns: Whether it is unlocked now.
    /// - Throws: ``SimulatedDeviceError``.
    @discardableResult
    public func unlock(finger: Int?) throws -> Bool {
        try call(DeviceInterface.PresentFinger.self, .init(finger: finger.map(Self.name))).touch == .unlocked
    }

    /// Whether the lock screen is up.
    ///
    /// - Throws: ``SimulatedDeviceError``.
    public var isLocked: Bool {
        get throws { try call(DeviceInterface.GetStatus.self, Empty()).status.isLocked }
    }

    // MARK: settings

    /// Sets the first passcode.
    ///
    /// - Parameter passcode: At least four bytes of UTF-8.
    /// - Throws: ``SimulatedDeviceError`` where there is one already or this one is too short.
    public func setPasscode(_ passcode: String) throws {
        try changePasscode(current: "", new: passcode)
    }

    /// Changes the passcode.
    ///
    /// - Parameters:
    ///   - current: The one that is set.
    ///   - new: The one to set.
    /// - Throws: ``SimulatedDeviceError`` where the current one is wrong.
    public func changePasscode(from current: String, to new: String) throws {
        try changePasscode(current: current, new: new)
    }

    /// Removes the passcode; items for which one has to be set are gone for good (KC-23).
    ///
    /// - Parameter passcode: The one that is set.
    /// - Throws: ``SimulatedDeviceError`` where it is wrong.
    public func removePasscode(_ passcode: String) throws {
        try changePasscode(current: passcode, new: "")
    }

    /// Enrols another finger or face.
    ///
    /// - Returns: Its number.
    /// - Throws: ``SimulatedDeviceError`` without a passcode, a sensor, or room for another.
    @discardableResult
    public func enrollFinger() throws -> Int {
        let taken = try call(DeviceInterface.ListFingers.self, Empty()).fingers
        var number = 1
        while taken.contains(Self.name(number)) { number += 1 }
        try call(DeviceInterface.Enroll.self, .init(finger: Self.name(number)))
        return number
    }

    /// Removes an enrolled finger or face.
    ///
    /// - Parameter finger: Its number.
    /// - Throws: ``SimulatedDeviceError`` where it is not enrolled.
    public func removeFinger(_ finger: Int) throws {
        try call(DeviceInterface.RemoveFinger.self, .init(finger: Self.name(finger)))
    }

    /// Brings an app to the foreground or the background.
    ///
    /// All are in the foreground at first.
    ///
    /// - Parameters:
    ///   - isForeground: Whether it is in the foreground.
    ///   - app: The application identifier; the test process's own where none is given.
    /// - Throws: ``SimulatedDeviceError``.
    public func setForeground(_ isForeground: Bool, app: String = applicationIdentifier) throws {
        try call(
            DeviceInterface.SetApplicationState.self,
            .init(app: app, state: isForeground ? .foreground : .background))
    }

    // MARK: inside

    static func name(_ finger: Int) -> String { "finger \(finger)" }

    @discardableResult
    func call<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        do {
            return try booted.withLock { $0 }.owner.call(method, parameters)
        } catch let error as RemoteError {
            throw SimulatedDeviceError(error)
        }
    }

    private func changePasscode(current: String, new: String) throws {
        try call(DeviceInterface.ChangePasscode.self, .init(passcodes: seal([current, new], for: .change)))
    }

    private func seal(_ passcodes: [String], for purpose: SealedPasscode.Purpose) throws -> SealedPasscode {
        let nonce = try call(DeviceInterface.GetNonce.self, Empty()).nonce
        return try booted.withLock { $0 }.seal(passcodes, for: purpose, nonce: nonce)
    }
}

/// The simulated device did not do what it was asked to.
public struct SimulatedDeviceError: Error, CustomStringConvertible, Sendable {
    /// What went wrong: the name of the device's error, and its reason.
    public let description: String

    init(_ error: RemoteError) {
        if let refused = error.as(DeviceInterface.Refused.self) {
            description = "refused: \(refused.reason.rawValue)"
        } else if let rejected = error.as(DeviceInterface.PasscodeRejected.self) {
            description =
                rejected.retryAfterSeconds.map { "wrong passcode; the next is looked at in \($0) s" }
                ?? "wrong passcode"
        } else {
            description = error.name
        }
    }
}

extension Duration {
    /// So many minutes.
    ///
    /// - Parameter minutes: How many.
    /// - Returns: The duration.
    public static func minutes(_ minutes: Double) -> Duration { .seconds(minutes * 60) }

    /// So many hours.
    ///
    /// - Parameter hours: How many.
    /// - Returns: The duration.
    public static func hours(_ hours: Double) -> Duration { .seconds(hours * 3600) }
}
