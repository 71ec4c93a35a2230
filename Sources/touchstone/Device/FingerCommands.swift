import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone device enroll`.
struct EnrollCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll",
        abstract: "Enrol fingers (or faces). Items bound to the current set are then gone for good.",
        discussion: "The device must have a passcode.")

    @Argument(help: ArgumentHelp("Names of your choice, such as right-index.", valueName: "finger"))
    var fingers: [String]
    @OptionGroup var option: DeviceOption

    func validate() throws {
        for finger in fingers { try FingerName.check(finger) }
    }

    func run() throws {
        // The last word of nearly all other commands is a device.
        if let device = fingers.first(where: { DevicePaths.isValid(name: $0) && DevicePaths(name: $0).exists }) {
            throw Failure(
                .usage, "'\(device)' is a device, and here it would be a finger: write --device \(device)")
        }
        let device = try DeviceClient(option.paths)
        for finger in fingers {
            _ = try device.call(DeviceInterface.Enroll.self, .init(finger: finger))
        }
    }
}

/// `touchstone device remove`.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an enrolled finger (or face).")

    @Argument(help: "One of 'touchstone device fingers'.", completion: .fingers)
    var finger: String
    @OptionGroup var option: DeviceOption

    func validate() throws { try FingerName.check(finger) }

    func run() throws {
        _ = try DeviceClient(option.paths).call(DeviceInterface.RemoveFinger.self, .init(finger: finger))
    }
}

/// `touchstone device fingers`.
struct FingersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fingers", abstract: "List the enrolled fingers (or faces), one on each line.")

    @Flag(help: "As JSON.") var json = false
    @OptionGroup var option: DeviceArgument

    func run() throws {
        let fingers = try DeviceClient(option.paths).call(DeviceInterface.ListFingers.self).fingers
        if json {
            try StandardOutput.json(fingers)
        } else {
            for finger in fingers { StandardOutput.say(PlainText.line(finger)) }
        }
    }
}

enum FingerName {
    /// Longest name, in bytes of UTF-8.
    static let maximumLength = 64
    /// What `match` takes for a finger that is not enrolled.
    static let noMatch = "nomatch"

    static func check(_ finger: String) throws {
        guard (1...maximumLength).contains(finger.utf8.count), finger == PlainText.line(finger) else {
            throw ValidationError("the name of a finger is 1 to \(maximumLength) bytes of plain text")
        }
        guard finger != noMatch else {
            throw ValidationError(
                "'\(noMatch)' means a finger that is not enrolled; choose another name")
        }
    }
}
