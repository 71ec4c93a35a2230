import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneSensors

/// What `create` is told of the device's own sensor.
struct SensorOptions {
    private var values: [String: String]

    /// Adds an option to those that came before it.
    init(_ option: String, _ value: String, beside others: SensorOptions?) throws {
        values = others?.values ?? [:]
        guard values.updateValue(value, forKey: option) == nil else { throw EnclaveProgram.UsageError() }
    }

    func source(of biometry: BiometryType) throws -> SensorSource {
        if let service = values["--sensor"], service.hasPrefix("pam:") {
            let name = String(service.dropFirst(4))
            let directory = values["--services"]
            let allowed = values["--allow"]
            guard Self.isServiceName(name), biometry != .none, directory?.hasPrefix("/") != false,
                [nil, "biometry-any"].contains(allowed),
                values.keys.allSatisfy(["--sensor", "--services", "--allow"].contains)
            else { throw EnclaveProgram.UsageError() }
            return .pam(service: name, directory: directory, opensBiometryAny: allowed != nil)
        }
        guard values["--sensor"] == "fprintd", values.count == 3, biometry == .touchID, let bus = values["--bus"],
            bus.hasPrefix("/"),
            let templates = values["--templates"], templates.hasPrefix("/")
        else { throw EnclaveProgram.UsageError() }
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
