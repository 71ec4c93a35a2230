import ArgumentParser
import Foundation
import TouchstoneCore

/// `--device NAME`, for commands whose argument is something else.
struct DeviceOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The device (default: $TOUCHSTONE_DEVICE, else \"system\" where you have it, else \"default\").",
            valueName: "name"))
    var device: String?

    func validate() throws { try DeviceName.check(device) }

    var paths: DevicePaths { get throws { try DeviceName.paths(device) } }
}

/// `[NAME]`, for commands about a device.
struct DeviceArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The device (default: $TOUCHSTONE_DEVICE, else \"system\" where you have it, else \"default\").",
            valueName: "name"))
    var name: String?

    func validate() throws { try DeviceName.check(name) }

    var paths: DevicePaths { get throws { try DeviceName.paths(name) } }
}

enum DeviceName {
    static func check(_ name: String?) throws {
        guard let name, !DevicePaths.isValid(name: name) else { return }
        throw ValidationError(problem(name))
    }

    /// - Throws: `Failure` where the name comes from the environment and is none.
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
