import Foundation
import Synchronization
import TouchstoneAuthentication
import TouchstoneCore
package import TouchstoneInterfaces
import TouchstoneTransport

extension SimulatedDevice {
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
    /// - Parameter finger: Its number, from 1; nil for one that is not enrolled.
    /// - Returns: Whether it is unlocked now.
    /// - Throws: ``SimulatedDeviceError``, for a number that is not enrolled too.
    @discardableResult
    public func unlock(finger: Int?) throws -> Bool {
        guard let finger else { return try unlock(byName: nil) }
        return try unlock(finger: Finger(number: finger))
    }

    /// Unlocks the device with a finger or face.
    ///
    /// - Parameter finger: One that is enrolled.
    /// - Returns: Whether it is unlocked now.
    /// - Throws: ``SimulatedDeviceError``, for one that is not enrolled too.
    @discardableResult
    public func unlock(finger: Finger) throws -> Bool { try unlock(byName: enrolledName(of: finger)) }

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
    /// - Returns: Its number: the lowest that is free.
    /// - Throws: ``SimulatedDeviceError`` without a passcode, a sensor, or room for another.
    @discardableResult
    public func enrollFinger() throws -> Int {
        let taken = try call(DeviceInterface.ListFingers.self, Empty()).fingers
        var number = 1
        while taken.contains(Finger(number: number).name(on: biometryType)) { number += 1 }
        try enrollFinger(Finger(number: number))
        return number
    }

    /// Enrols this finger or face.
    ///
    /// - Parameter finger: Its name.
    /// - Throws: ``SimulatedDeviceError`` where it is enrolled already; without a passcode, a sensor, or room for another.
    public func enrollFinger(_ finger: Finger) throws {
        try call(DeviceInterface.Enroll.self, .init(finger: finger.name(on: biometryType)))
    }

    /// Removes an enrolled finger or face.
    ///
    /// - Parameter finger: Its number, from 1.
    /// - Throws: ``SimulatedDeviceError`` where it is not enrolled.
    public func removeFinger(_ finger: Int) throws { try removeFinger(Finger(number: finger)) }

    /// Removes an enrolled finger or face.
    ///
    /// - Parameter finger: One that is enrolled.
    /// - Throws: ``SimulatedDeviceError`` where it is not.
    public func removeFinger(_ finger: Finger) throws {
        try call(DeviceInterface.RemoveFinger.self, .init(finger: enrolledName(of: finger)))
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
        return permissions.first { $0.app == AppIdentifier(app) }?.isAllowed
    }

    /// Allows an app the use of Face ID, or denies it, as in the device's settings; nil has the next evaluation ask.
    ///
    /// - Parameters:
    ///   - isAllowed: The answer.
    ///   - app: The application identifier; the test process's own where none is given.
    /// - Throws: ``SimulatedDeviceError`` without Face ID.
    public func setFaceIDPermission(_ isAllowed: Bool?, app: String = applicationIdentifier) throws {
        introduced.withLock { _ = $0.insert(AppIdentifier(app)) }
        try call(DeviceInterface.SetFaceIDPermission.self, .init(app: AppIdentifier(app), isAllowed: isAllowed))
    }

    /// Limits what an app may keep in the keychain, as `touchstone keychain quota` does; nil is as many, or as much, as every other app.
    ///
    /// What it keeps already stays. An addition beyond the limit is `errSecDiskFull`.
    ///
    /// - Parameters:
    ///   - items: How many items; 10,000 where the owner says nothing.
    ///   - bytes: How many bytes of them as they are stored, which is some hundred more than the values have; 64 MiB where the owner
    ///     says nothing.
    ///   - app: The application identifier, or an access group that apps share; the test process's own where none is given.
    /// - Throws: ``SimulatedDeviceError``.
    public func setQuota(items: Int? = nil, bytes: Int? = nil, app: String = applicationIdentifier) throws {
        let every = BackupInterface.Storage.ofEveryApp
        let limit =
            items == nil && bytes == nil
            ? nil : BackupInterface.Storage(items: items ?? every.items, bytes: bytes ?? every.bytes)
        try call(BackupInterface.SetQuota.self, .init(app: AppIdentifier(app), limit: limit))
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
            .init(app: AppIdentifier(app), state: isForeground ? .foreground : .background))
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

    /// Has an app that the person cancels again and again wait, as on other devices, until the next boot.
    package func holdBackCancelledApps() { booted.withLock { $0 }.holdBackCancelledApps() }

    /// Simulated fingers that wait for their prompt to count.
    package var earlyTouches: Int { booted.withLock { $0 }.earlyTouches }

    /// The identifier of the prompt that is up.
    package var prompt: String? { booted.withLock { $0 }.prompt }

    /// Whether an action of the person's waits for a prompt, or for what comes of it.
    package var isPersonActing: Bool { person.isActing }

    package var status: DeviceInterface.Status {
        get throws { try call(DeviceInterface.GetStatus.self, Empty()).status }
    }

    /// - Throws: ``SimulatedDeviceError`` that lists who is enrolled, where this finger is not.
    private func enrolledName(of finger: Finger) throws -> String {
        let enrolled = try call(DeviceInterface.ListFingers.self, Empty()).fingers
        let name = finger.name(on: biometryType)
        guard enrolled.contains(name) else { throw SimulatedDeviceError(notEnrolled(finger, enrolled)) }
        return name
    }

    /// What is wrong with a finger that is not enrolled, and what to write.
    func notEnrolled(_ finger: Finger, _ enrolled: [String]) -> String {
        enrolled.isEmpty
            ? Finger.noneEnrolled(on: biometryType)
            : Finger.notEnrolled(finger.name(on: biometryType), among: enrolled, on: biometryType)
    }

    private func unlock(byName name: String?) throws -> Bool {
        try call(DeviceInterface.PresentFinger.self, .init(finger: name)).touch == .unlocked
    }

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

    init(_ description: String) { self.description = description }

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
