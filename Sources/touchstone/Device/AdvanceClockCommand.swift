import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces

/// `touchstone device advance-clock`.
struct AdvanceClockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advance-clock",
        abstract: "Let time pass for a simulated device without waiting.",
        discussion: """
            The delays after wrong passcodes and the window of an unlock by finger run down. So do the times after \
            which only the passcode helps (48 hours, 156 hours). A reboot sets the clock back to the machine's clock.
            """)

    @Argument(help: ArgumentHelp("More than 0, at most 366 days.", valueName: "seconds"))
    var seconds: Double
    @OptionGroup var option: DeviceOption

    func validate() throws {
        guard seconds > 0, seconds <= DeviceInterface.AdvanceClock.maximum else {
            throw ValidationError(
                "SECONDS has to be more than 0 and at most \(Int(DeviceInterface.AdvanceClock.maximum))")
        }
    }

    func run() throws {
        _ = try DeviceClient(option.paths)
            .call(DeviceInterface.AdvanceClock.self, .init(seconds: seconds))
    }
}
