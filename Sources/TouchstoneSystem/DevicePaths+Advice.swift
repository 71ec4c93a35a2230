package import Foundation

/// What to say, and what to do, where nobody answers at a device's socket: the same words in apps and in the command.
extension DevicePaths {
    /// Names of this user's devices, sorted.
    package static func names(in devices: URL = devices()) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: devices.path)) ?? [])
            .filter { name in
                var isDirectory: ObjCBool = false
                guard isValid(name: name) else { return false }
                return unsafe FileManager.default.fileExists(
                    atPath: devices.path + "/" + name, isDirectory: &isDirectory)
                    && isDirectory.boolValue
            }
            .sorted()
    }

    /// Whether there is such a device, booted or off.
    package var exists: Bool { FileManager.default.fileExists(atPath: state.path) }

    /// Why nobody answers, and the command that helps; a sentence without a full stop.
    package var advice: String {
        if isSystem {
            return "the system's device does not answer: root makes you one with 'sudo touchstone setup' or "
                + "'touchstone system create', and 'systemctl status touchstoned@\(getuid())' tells why one that is there "
                + "does not start"
        }
        if exists, isListening { return "\(name) is off: it boots when it is first used, or with '\(bootCommand)'" }
        if exists { return "\(name) is off: start it with '\(bootCommand)'" }
        return name == Self.defaultName
            ? "\(absence): make it with 'touchstone setup', a command of the package touchstone"
            : "\(absence): make it with 'touchstone device create \(name) && touchstone device boot --detach \(name)'"
    }

    /// The command that boots the device while it is off: systemd does, where it listens in the device's place.
    package var bootCommand: String {
        isListening
            ? "systemctl --user start touchstone@\(name).service" : "touchstone device boot --detach \(name)"
    }

    /// Whether somebody listens at the device's socket, systemd too: asked without a connection, for which systemd would boot the device.
    private var isListening: Bool { UnixSockets.isListening(at: socket.path) }

    /// That there is no device of this name, and which others there are.
    package var absence: String {
        let others = Self.names(in: state.deletingLastPathComponent())
        let shown = others.prefix(Self.maximumShown).joined(separator: ", ")
        return "there is no device '\(name)'"
            + (others.isEmpty ? "" : " (yours: \(shown)\(others.count > Self.maximumShown ? ", …" : ""))")
    }

    /// Names that one sentence lists.
    private static let maximumShown = 10
}
