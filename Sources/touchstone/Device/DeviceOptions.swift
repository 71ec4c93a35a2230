import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `--device NAME`, which every command about a device takes.
struct DeviceOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp(DeviceName.help, valueName: "name"), completion: .devices)
    var device: String?

    func validate() throws { try DeviceName.check(device) }

    var paths: DevicePaths { get throws { try DeviceName.paths(device) } }
}

/// `[NAME]` or `--device NAME`, for commands that take no other argument.
struct DeviceArgument: ParsableArguments {
    @Argument(help: "The device, as --device names it.", completion: .devices)
    var name: String?
    @OptionGroup var option: DeviceOption

    func validate() throws { try DeviceName.check(name, or: option.device) }

    /// nil if the command line names none.
    var named: String? { name ?? option.device }
    var paths: DevicePaths { get throws { try DeviceName.paths(named) } }
}

extension DevicePaths {
    /// What a command needs so that it means this device: `` --device NAME``, or nothing if it does without.
    var option: String { DevicePaths.selected().name == name ? "" : " --device \(name)" }
}

enum DeviceName {
    static let help: String =
        "The device (default: $TOUCHSTONE_DEVICE, else \"system\" where you have it, else \"default\")."

    static func check(_ name: String?) throws {
        guard let name, !DevicePaths.isValid(name: name) else { return }
        throw ValidationError(problem(name))
    }

    /// As `check`, of a name that stands in one of two places.
    static func check(_ name: String?, or option: String?) throws {
        try check(name)
        guard let name, let option, name != option else { return }
        throw ValidationError("you named two devices: '\(PlainText.line(name))' and '\(PlainText.line(option))'")
    }

    /// - Throws: `Failure` if the name comes from the environment and cannot be a name.
    static func paths(_ name: String?) throws -> DevicePaths {
        let paths = name.map { DevicePaths(name: $0) } ?? DevicePaths.selected()
        guard DevicePaths.isValid(name: paths.name) else {
            throw Failure(.usage, "\(DevicePaths.environmentVariable): \(problem(paths.name))")
        }
        return paths
    }

    /// As `paths`, for what only the system's service manager does with the system's device.
    static func own(_ paths: DevicePaths, _ does: String) throws -> DevicePaths {
        guard !paths.isSystem else {
            throw Failure(.refused, "'\(paths.name)' is the system's device, which root \(does)")
        }
        return paths
    }

    private static func problem(_ name: String) -> String {
        "'\(PlainText.line(name))' cannot be a device's name: use 1 to 64 letters, digits, '-', '_' and '.', "
            + "not beginning with '.'"
    }
}

/// `--wait SECONDS` and the like.
enum Seconds {
    static let maximum = 3600.0

    static func check(_ seconds: Double?, _ option: String) throws {
        guard let seconds, !(seconds.isFinite && (0...maximum).contains(seconds)) else { return }
        throw ValidationError("\(option) takes seconds between 0 and \(Int(maximum))")
    }
}
