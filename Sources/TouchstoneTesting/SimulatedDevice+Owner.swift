import Foundation
import Synchronization
import TouchstoneAuthentication
package import TouchstoneCore
import TouchstoneTransport

extension SimulatedDevice {
    /// Something that a person does in front of the device.
    public enum Action: Sendable {
        /// Lays an enrolled finger (or shows an enrolled face) on the sensor, by its number.
        case finger(Int)
        /// Lays a finger on the sensor that is not enrolled; before Face ID, shows another face, or none.
        case nonMatch
        /// Types a passcode where one is asked for.
        case passcode(String)
        /// Has Face ID look once more, after it has failed once.
        case tryAgain
        /// Allows the app the use of Face ID, where that is asked.
        case allowFaceID
        /// Denies the app the use of Face ID, where that is asked.
        case denyFaceID
        /// Types a password of the app's where one is asked for (EV-61).
        case applicationPassword(String)
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
        /// What the app says it is for; empty where Face ID does not show it (EV-11).
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
        /// Whether it asks if the app may use Face ID.
        public let asksForPermission: Bool
        /// Whether Face ID has failed once and offers to look again.
        public let offersToTryAgain: Bool
        /// Whether a password of the app's own is asked for.
        public let asksForApplicationPassword: Bool
        /// Whether the passcode or password entered last was wrong.
        public let isWrong: Bool
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

    /// Lets the time be up in which an agent has to show the prompt.
    package func passShowingDeadline() {
        booted.withLock { $0 }.deadlines.pass(10)
    }

    /// Lets the time be up for which an app's evaluation may wait for the prompts of others.
    package func passWaitingDeadline() {
        booted.withLock { $0 }.deadlines.pass(120)
    }

    /// Evaluations that wait for another app's prompt to go.
    package var waitingEvaluations: Int { booted.withLock { $0 }.waitingEvaluations }

    // MARK: lock screen

    /// Locks the device; without a passcode it stays unlocked.
    ///
    /// - Parameter requirePasscode: No finger unlocks it again, only the passcode, as after a lock from afar (PC-20).
    /// - Throws: ``SimulatedDeviceError``.
    public func lock(requirePasscode: Bool = false) throws {
        try call(DeviceInterface.Lock.self, .init(requiresPasscode: requirePasscode))
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
        get throws { try status.isLocked }
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

    /// Turns erasing the device after ten wrong passcodes in a row on or off (PC-02); it is off at first.
    ///
    /// - Parameters:
    ///   - isOn: Whether the tenth makes the device as new: without passcode, fingers and items.
    ///   - passcode: The one that is set.
    /// - Throws: ``SimulatedDeviceError`` where it is wrong, or none is set.
    public func setEraseData(_ isOn: Bool, passcode: String) throws {
        try call(
            DeviceInterface.SetEraseData.self, .init(isOn: isOn, passcode: seal([passcode], for: .eraseData(isOn))))
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

    /// Whether an app may use Face ID, as the owner answered; nil where the owner has not been asked (CE-09).
    ///
    /// Apps are allowed it to begin with, so that a test need not answer a question that is not its subject.
    ///
    /// - Parameter app: The application identifier; the test process's own where none is given.
    /// - Returns: The answer.
    /// - Throws: ``SimulatedDeviceError``.
    public func faceIDPermission(app: String = applicationIdentifier) throws -> Bool? {
        let permissions = try call(DeviceInterface.ListFaceIDPermissions.self, Empty()).permissions
        return permissions.first { $0.app.isSpelled(like: app) }?.isAllowed
    }

    /// Allows an app the use of Face ID, or denies it, as in the device's settings; nil has the next evaluation ask.
    ///
    /// - Parameters:
    ///   - isAllowed: The answer.
    ///   - app: The application identifier; the test process's own where none is given.
    /// - Throws: ``SimulatedDeviceError`` without Face ID.
    public func setFaceIDPermission(_ isAllowed: Bool?, app: String = applicationIdentifier) throws {
        introduced.withLock { _ = $0.insert(app.spelling) }
        try call(DeviceInterface.SetFaceIDPermission.self, .init(app: app, isAllowed: isAllowed))
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

    /// Unplugs the sensor, or plugs it in again: unplugged, biometry is not available, whatever is enrolled.
    ///
    /// A reboot finds it plugged in.
    ///
    /// - Parameter isConnected: Whether it is plugged in.
    /// - Throws: ``SimulatedDeviceError`` without a sensor.
    public func setSensorConnected(_ isConnected: Bool) throws {
        try call(DeviceInterface.SetSensorConnected.self, .init(isConnected: isConnected))
    }

    // MARK: inside

    /// Whether an action of the person's waits for a prompt, or for what comes of it.
    package var isPersonActing: Bool { person.isActing }

    package var status: DeviceInterface.Status {
        get throws { try call(DeviceInterface.GetStatus.self, Empty()).status }
    }

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
                rejected.isErased
                ? "wrong passcode; the device was erased"
                : rejected.retryAfterSeconds.map { "wrong passcode; the next is looked at in \($0) s" }
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
