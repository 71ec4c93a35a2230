import ArgumentParser
import Foundation
import TouchstoneCore

/// What a device is created with instead of simulated fingers.
struct SensorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A real sensor that the enclave uses: fprintd, or pam:SERVICE for a PAM service.",
            valueName: "sensor"))
    var sensor: String?
    @Option(help: "fprintd: the socket of its D-Bus.", completion: .file())
    var bus: String?
    @Option(help: "fprintd: the directory in which it keeps the enrolled fingers.", completion: .directory)
    var templates: String?
    @Option(help: "pam: the directory of the service's file, instead of the system's.", completion: .directory)
    var services: String?
    @Option(
        help: ArgumentHelp(
            "pam: biometry-any lets the service count as biometry. Without it the service counts like the passcode, if both are accepted.",
            valueName: "proof"))
    var allow: String?

    func validate() throws {
        let isFprintd = sensor == "fprintd"
        let isPAM = sensor?.hasPrefix("pam:") == true
        guard sensor == nil || isFprintd || isPAM else {
            throw ValidationError("--sensor has to be fprintd or pam:SERVICE")
        }
        guard isFprintd || (bus == nil && templates == nil) else {
            throw ValidationError("--bus and --templates need --sensor fprintd")
        }
        guard isPAM || (services == nil && allow == nil) else {
            throw ValidationError("--services and --allow need --sensor pam:SERVICE")
        }
        guard [nil, "biometry-any"].contains(allow) else { throw ValidationError("--allow has to be biometry-any") }
    }

    /// For `touchstone-enclave create`.
    func arguments(_ biometry: Biometry) throws -> [String] {
        guard let sensor else { return [] }
        guard sensor == "fprintd" else {
            guard biometry != .none else {
                throw ValidationError("--sensor \(sensor) needs --biometry touchid or faceid")
            }
            return ["--sensor", sensor] + (services.map { ["--services", Self.path($0)] } ?? [])
                + (allow.map { ["--allow", $0] } ?? [])
        }
        guard biometry == .touchid else { throw ValidationError("--sensor fprintd needs --biometry touchid") }
        return [
            "--sensor", sensor, "--bus", Self.path(bus ?? Self.defaultBus), "--templates",
            Self.path(templates ?? Self.defaultTemplates),
        ]
    }

    static let defaultBus = "/run/dbus/system_bus_socket"
    static let defaultTemplates = "/var/lib/fprint"

    /// The path from the root directory.
    static func path(_ text: String) -> String { URL(fileURLWithPath: text).path }
}
