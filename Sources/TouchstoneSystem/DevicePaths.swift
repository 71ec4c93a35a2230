package import Foundation

/// Where a device's files and sockets lie: those of a user's own devices in XDG base directories, the system device's in the system's.
package struct DevicePaths: Sendable {
    package let name: String
    package let state: URL
    package let runtime: URL

    /// The name of the device a client means: `TOUCHSTONE_DEVICE`, else `default`.
    package static let environmentVariable = "TOUCHSTONE_DEVICE"
    package static let defaultName = "default"
    /// The device that the system's services keep for this user: no device of the user's own has this name.
    package static let systemName = "system"
    /// Root's: what lies in them directly, only root can have put there.
    package static let systemState = "/var/lib/touchstone"
    private static let systemRuntime = "/run/touchstone"
    /// Longest path of a Unix socket, in bytes.
    package static let maximumSocketPathLength = 107

    package init(name: String, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.name = name
        self.state =
            name == Self.systemName
            ? URL(fileURLWithPath: "\(Self.systemState)/\(getuid())")
            : Self.devices(environment).appendingPathComponent(name)
        self.runtime = URL(
            fileURLWithPath: Self.runtimePath(device: name, runtimeDirectory: environment["XDG_RUNTIME_DIR"]))
    }

    /// The system device of a user, for root.
    package init(systemDeviceOf userID: UInt32) {
        name = Self.systemName
        state = URL(fileURLWithPath: "\(Self.systemState)/\(userID)")
        runtime = URL(fileURLWithPath: "\(Self.systemRuntime)/\(userID)")
    }

    private static func runtimePath(device: String, runtimeDirectory: String?) -> String {
        if device == systemName { return "\(systemRuntime)/\(getuid())" }
        let directory = runtimeDirectory.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/run/user/\(getuid())"
        return "\(directory)/touchstone/\(device)"
    }

    /// The path of a device's socket, for those who ask often.
    package static func socketPath(device: String, runtimeDirectory: String?) -> String {
        runtimePath(device: device, runtimeDirectory: runtimeDirectory) + "/touchstoned.sock"
    }

    /// The directory that holds every device of this user.
    package static func devices(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? "\(environment["HOME"] ?? NSHomeDirectory())/.local/state"
        return URL(fileURLWithPath: state).appendingPathComponent("touchstone/devices")
    }

    package static func selected(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> DevicePaths {
        DevicePaths(name: selectedName(environment[environmentVariable]), environment: environment)
    }

    /// The one that was named, else the system's where root made one, else the user's own.
    ///
    /// By its directory and not by its socket: while that is away, nobody takes the user's own device for the system's.
    package static func selectedName(_ named: String?) -> String {
        named ?? (systemExists() ? systemName : defaultName)
    }

    /// Whether root made a device for this user.
    package static func systemExists(in directory: String = systemState) -> Bool {
        unsafe access("\(directory)/\(getuid())", F_OK) == 0
    }

    package var isSystem: Bool { name == Self.systemName }

    /// Letters, digits, `-`, `_` and `.`, at most 64, not beginning with a dot: a name is also a file name.
    package static func isValid(name: String) -> Bool {
        (1...64).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == 0x2D || byte == 0x5F || byte == 0x2E
            }
    }

    /// The enclave's own directory: state, root key and published passcode key.
    package var enclave: URL { state.appendingPathComponent("enclave") }
    /// The enclave's public key for passcodes: agents read it here, not from touchstoned, which could put its own in its place.
    package var passcodeKey: URL {
        EnclaveFiles(isSystem ? state.appendingPathComponent("public") : enclave).passcodeKey
    }
    package var keychain: URL { state.appendingPathComponent("keychain/keychain.db") }
    package var socket: URL {
        URL(fileURLWithPath: runtime.path + "/touchstoned.sock")
    }
    /// Held locked by the supervisor for as long as the device is booted; contains its process id.
    package var supervisorLock: URL { runtime.appendingPathComponent("supervisor.pid") }
}

/// The files of one enclave.
package struct EnclaveFiles: Sendable {
    package let directory: URL

    package init(_ directory: URL) {
        self.directory = directory
    }

    package var state: URL { directory.appendingPathComponent("state") }
    package var rootKey: URL { directory.appendingPathComponent("root.key") }
    /// How the root key is found in a TPM; there is this or `rootKey`, never both.
    package var rootTPM: URL { directory.appendingPathComponent("root.tpm") }
    /// What a recovery has in the new TPM before the device is there; one that is not empty was cut off.
    package var recoveringTPM: URL { directory.appendingPathComponent("root.tpm.new") }
    package var passcodeKey: URL { directory.appendingPathComponent("passcode.pub") }
}
