import Foundation

/// A unit of the user's systemd.
///
/// The packages install the same ones from system/systemd-user, for the programs in `/usr/bin`.
struct UserUnit {
    /// As its file is called.
    let name: String
    let text: String

    /// Beside a service's own unit: for which device it works.
    static func choosing(_ device: String, for service: String) -> UserUnit {
        UserUnit(name: "\(service).d/device.conf", text: "[Service]\n\(choice)\(device)\n")
    }

    private static let choice = "Environment=TOUCHSTONE_DEVICE="

    /// The device that was chosen so; nil if the service has no such file.
    static func chosenDevice(for service: String) -> String? {
        let file = (try? ConfigurationFiles.read(choosing("", for: service).path)) ?? Data()
        return String(decoding: file, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(choice) }
            .map { String($0.dropFirst(choice.count)) }
    }

    /// Where the user's own is.
    var path: String { "\(UserManager.unitDirectory)/\(name)" }

    /// Whether the user has a file of that name.
    var isWritten: Bool { get throws { try ConfigurationFiles.read(path) != nil } }

    /// Whether this user's systemd does not start it, whoever wants it: its file is a link to `/dev/null`.
    static func isMasked(_ unit: String) -> Bool {
        let path = "\(UserManager.unitDirectory)/\(unit)"
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == "/dev/null"
    }

    /// Whether a package has units that start this very program.
    static func arePackaged(_ unit: String, for executable: String) -> Bool {
        executable.hasPrefix("/usr/bin/") && FileManager.default.fileExists(atPath: "/usr/lib/systemd/user/\(unit)")
    }

    /// As systemd.service(5) wants a path that may have spaces, `%` or `$`.
    static func quoted(_ path: String) -> String {
        let escaped = path.replacingOccurrences(of: "%", with: "%%").replacingOccurrences(of: "$", with: "$$")
        guard path.contains(where: { " \t'\"\\;".contains($0) }) else { return escaped }
        return "\""
            + escaped.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
    }
}
