import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneSensors

/// What `create` is told of the device's own sensor.
struct SensorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A sensor of its own: fprintd, or pam:SERVICE for what a PAM service recognises.", valueName: "sensor"))
    var sensor: String?
    @Option(help: ArgumentHelp("fprintd: the socket of its D-Bus.", valueName: "socket"))
    var bus: String?
    @Option(help: ArgumentHelp("fprintd: the directory that it keeps what is enrolled in.", valueName: "directory"))
    var templates: String?
    @Option(
        help: ArgumentHelp("pam: the directory of the service's file, instead of the system's.", valueName: "directory")
    )
    var services: String?
    @Option(
        help: ArgumentHelp(
            "pam: takes the service for biometry: biometry-any. It never counts as the current set.",
            valueName: "proof"))
    var allow: String?

    /// - Throws: `ValidationError` where they do not go together.
    func source(of biometry: BiometryType) throws -> SensorSource? {
        guard let sensor else {
            guard [bus, templates, services, allow].allSatisfy({ $0 == nil }) else {
                throw ValidationError("--bus, --templates, --services and --allow go with --sensor.")
            }
            return nil
        }
        if sensor.hasPrefix("pam:") {
            let name = String(sensor.dropFirst(4))
            guard Self.isServiceName(name), biometry != .none, services?.hasPrefix("/") != false,
                [nil, "biometry-any"].contains(allow), bus == nil, templates == nil
            else {
                throw ValidationError(
                    "--sensor pam:SERVICE goes with --biometry touchid or faceid, --services and a path from /, and --allow biometry-any."
                )
            }
            return .pam(service: name, directory: services, opensBiometryAny: allow != nil)
        }
        guard sensor == "fprintd", biometry == .touchID, services == nil, allow == nil,
            let bus, bus.hasPrefix("/"), let templates, templates.hasPrefix("/")
        else {
            throw ValidationError(
                "--sensor is pam:SERVICE, or fprintd with --biometry touchid, --bus and --templates, each a path from /."
            )
        }
        return .fprintd(bus: bus, templates: templates)
    }

    /// A file's name, and no way to another directory.
    private static func isServiceName(_ name: String) -> Bool {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
        return (1...64).contains(name.count) && name.allSatisfy(allowed.contains) && !name.hasPrefix(".")
    }
}

extension SensorSource {
    /// Beside this program, or in `../libexec/touchstone`.
    private static var pamProgram: String? {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let directory = URL(fileURLWithPath: own).deletingLastPathComponent().path
        return [directory, "\(directory)/../libexec/touchstone"].map { "\($0)/touchstone-pam-verify" }.first {
            unsafe access($0, X_OK) == 0
        }
    }

    var sensor: any Sensor {
        switch self {
        case .fprintd(let bus, let templates): FprintdSensor(bus: bus, templates: templates)
        case .pam(let service, let directory, _):
            PAMSensor(service: service, directory: directory, program: Self.pamProgram)
        }
    }
}
