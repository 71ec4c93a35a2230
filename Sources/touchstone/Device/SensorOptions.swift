import ArgumentParser
import Foundation
import TouchstoneCore

/// What a device is created with instead of simulated fingers.
struct SensorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A sensor that the enclave itself speaks to: fprintd, or pam:SERVICE for what a PAM service recognises.",
            valueName: "sensor"))
    var sensor: String?
    @Option(help: "fprintd: the socket of its D-Bus.", completion: .file())
    var bus: String?
    @Option(help: "fprintd: the directory that it keeps what is enrolled in.", completion: .directory)
    var templates: String?
    @Option(help: "pam: the directory of the service's file, instead of the system's.", completion: .directory)
    var services: String?
    @Option(
        help: ArgumentHelp(
            "pam: takes the service for biometry: biometry-any. Without it it is as good as a passcode where either will do, and no more.",
            valueName: "proof"))
    var allow: String?

    func validate() throws {
        let isFprintd = sensor == "fprintd"
        let isPAM = sensor?.hasPrefix("pam:") == true
        guard sensor == nil || isFprintd || isPAM else { throw ValidationError("--sensor is fprintd or pam:SERVICE") }
        guard isFprintd || (bus == nil && templates == nil) else {
            throw ValidationError("--bus and --templates go with --sensor fprintd")
        }
        guard isPAM || (services == nil && allow == nil) else {
            throw ValidationError("--services and --allow go with --sensor pam:SERVICE")
        }
        guard [nil, "biometry-any"].contains(allow) else { throw ValidationError("--allow is biometry-any") }
    }

    /// For `touchstone-enclave create`.
    func arguments(_ biometry: Biometry) throws -> [String] {
        guard let sensor else { return [] }
        func path(_ text: String) -> String { URL(fileURLWithPath: text).path }
        guard sensor == "fprintd" else {
            guard biometry != .none else {
                throw ValidationError("--sensor \(sensor) wants --biometry touchid or faceid")
            }
            return ["--sensor", sensor] + (services.map { ["--services", path($0)] } ?? [])
                + (allow.map { ["--allow", $0] } ?? [])
        }
        guard biometry == .touchid else { throw ValidationError("--sensor fprintd is of --biometry touchid") }
        return [
            "--sensor", sensor, "--bus", path(bus ?? "/run/dbus/system_bus_socket"), "--templates",
            path(templates ?? "/var/lib/fprint"),
        ]
    }
}
