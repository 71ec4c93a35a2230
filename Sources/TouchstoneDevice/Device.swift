public import Foundation
import TouchstoneCore
package import TouchstoneSystem
internal import TouchstoneTransport

/// A device of this user, booted or not: its calls, its streams, and what only its enclave can read.
///
/// For programs that are not apps: agents, bridges, pages that drive a simulated device, tests in a package of their own. Messages are JSON as the
/// device's interfaces describe it (`docs/interfaces`), and go through as they are.
///
/// ```swift
/// let device = try Device(named: "default")
/// let reply = try device.call("io.touchstone.Device.GetStatus")
/// ```
///
/// > Concurrency: Callable from any thread; every call blocks until it is answered.
public struct Device: Sendable {
    /// The device's name.
    public let name: String
    private let paths: DevicePaths

    /// A device by its name.
    ///
    /// - Parameter name: 1 to 64 letters, digits, `-`, `_` and `.`, not beginning with a dot.
    /// - Throws: `DeviceError.invalidName`.
    public init(named name: String) throws(DeviceError) {
        guard DevicePaths.isValid(name: name) else { throw .invalidName }
        self.name = name
        paths = DevicePaths(name: name)
    }

    /// The device that a program means which names none: the one of `TOUCHSTONE_DEVICE`, else "system" where root made one for this
    /// user, else "default".
    ///
    /// - Throws: `DeviceError.invalidName` where the variable holds what cannot be a name.
    public static func selected() throws(DeviceError) -> Device {
        try Device(named: DevicePaths.selected().name)
    }

    /// The device that the system's services keep for a user.
    ///
    /// For root, and for that user: the device serves nobody else. Where it lies no variable of the environment changes.
    ///
    /// - Parameter userID: The user's number.
    public init(systemDeviceOf userID: UInt32) {
        self.init(DevicePaths(systemDeviceOf: userID))
    }

    package init(_ paths: DevicePaths) {
        name = paths.name
        self.paths = paths
    }

    /// The path of the socket on which a booted device answers.
    public var socketPath: String { paths.socket.path }

    /// The path of the enclave's published key, with which ``seal(_:for:nonce:)`` seals.
    public var passcodeKeyPath: String { paths.passcodeKey.path }

    /// Calls a method, over a connection of its own.
    ///
    /// - Parameters:
    ///   - method: Interface and method, as `io.touchstone.Device.GetStatus`.
    ///   - parameters: The text of a JSON object.
    /// - Returns: The text of a JSON object.
    /// - Throws: `DeviceError`. After `.closed` it is unknown whether the call was carried out.
    public func call(_ method: String, _ parameters: Data = Data("{}".utf8)) throws(DeviceError) -> Data {
        let connection = try connect()
        defer { connection.close() }
        return try connection.call(method, parameters)
    }

    /// Connects, for calls that belong together.
    ///
    /// - Returns: The connection.
    /// - Throws: `DeviceError.notBooted`.
    public func connect() throws(DeviceError) -> DeviceConnection { try DeviceConnection(paths) }

    /// Calls a method that answers more than once, over a connection of its own.
    ///
    /// - Parameters: As of ``call(_:_:)``.
    /// - Throws: `DeviceError`.
    public func stream(_ method: String, _ parameters: Data = Data("{}".utf8)) throws(DeviceError) -> DeviceStream {
        try DeviceStream(paths, method, parameters, more: true)
    }

    /// Seals what was typed for the enclave, so that the programs that carry it cannot read it.
    ///
    /// - Parameters:
    ///   - passcodes: As many as the purpose takes: two for a change, the current one, then the new one, empty for none; else one.
    ///   - purpose: What they are good for.
    ///   - nonce: The bytes that the enclave gave out for them; empty for a password of an app. One of `GetNonce` is good in the
    ///     ``DeviceConnection`` alone that asked for it.
    /// - Returns: A `SealedPasscode`, the text of a JSON object.
    /// - Throws: `DeviceError`: `.passcodeTooLong`, `.passcodeKey`.
    public func seal(_ passcodes: [PasscodeBuffer], for purpose: PasscodePurpose, nonce: Data) throws(DeviceError)
        -> Data
    {
        guard !passcodes.contains(where: \.isTooLong) else { throw .passcodeTooLong }
        do {
            let seal = try PasscodeSeal(enclaveKey: PasscodeKeyFile(paths.passcodeKey).read())
            let sealed = try seal.seal(passcodes, for: purpose.sealed, nonce: nonce)
            return try JSONOutput.encode(sealed)
        } catch let error as PasscodeKeyError {
            throw .passcodeKey(PasscodeKeyFault(error))
        } catch {
            throw .passcodeKey(.malformed)
        }
    }
}

/// What a passcode is typed for: sealed, it is good for nothing else.
public enum PasscodePurpose: Hashable, Sendable {
    /// A prompt of the app with this identifier.
    case prompt(app: String)
    /// The lock screen.
    case unlock
    /// To set, change or remove the passcode.
    case change
    /// An app's own password, for this context of it.
    case credential(context: String)
    /// To turn erasing after ten wrong passcodes on or off.
    case eraseData(Bool)

    fileprivate var sealed: SealedPasscode.Purpose {
        switch self {
        case .prompt(let app): .prompt(app: AppIdentifier(app))
        case .unlock: .unlock
        case .change: .change
        case .credential(let context): .credential(context: context)
        case .eraseData(let isOn): .eraseData(isOn)
        }
    }
}
