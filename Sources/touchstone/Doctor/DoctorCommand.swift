import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `touchstone doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Show what works here, what does not and how to repair it, and what is not promised.",
        discussion: """
            Each line is about one topic. [ok] means that it is as it should be. [!!] means that it works, and could \
            be safer or do more. [no] means that it does not work. Below such a line is the one command that repairs \
            it. The end lists what no command can change on such a device. The doctor changes nothing, and boots no device.

            With --json the output is one object: device (its name), state (absent, off, waiting or booted; a waiting device boots when it is first used), isReady \
            (it is booted or waits, and nothing is bad), findings (topic, state, text, and fix if a command helps) and notPromised (sentences). The state \
            of a finding is good, warning or bad. Topics are \
            \(Finding.Topic.allCases.map(\.rawValue).joined(separator: ", ")). More keys and topics may come, and \
            these stay. Texts are for people, and change.

            With --app it says how the device knows a program: its identifier, the name that prompts show, its access \
            groups, why it uses Face ID, and which file says each of these. The code that decides this is the same as \
            in touchstoned. With --json the output is one object: identifier, name, accessGroups (the first is the \
            default), faceIDUsageDescription, actsForClients (true for a bridge), executableDigest, \
            otherManifest, refusal, unusedManifests and, for a \
            script, script. Each part has a value, an origin (executable, identifier, manifest, infoPropertyList) and \
            a file. On Linux Bundle.main.bundleIdentifier is nil, so give kSecAttrService a text of your own.

            Exit status: 0 ready, also with warnings; 1 it answers, but something does not work; 69 there is no such \
            device, or it does not answer. With --app: 0 it is served; 1 it is not, or there is no such program; 69 \
            there is no such device.
            """)

    @OptionGroup var device: DeviceArgument
    @Option(help: ArgumentHelp("Show how the device knows this program.", valueName: "path"), completion: .file())
    var app: String?
    @Flag(help: "As JSON.") var json = false

    func run() throws {
        let paths = try device.paths
        if let app {
            // Without one, what the system's manifests say is still to be told.
            if device.named != nil, !paths.isSystem { try DeviceDirectory.check(paths) }
            return try AppReport(ExecutedFile(app), paths).tell(json: json)
        }
        let report = DoctorReport(paths)
        if json {
            try StandardOutput.json(report)
        } else {
            for finding in report.findings { finding.lines().forEach(StandardOutput.say) }
            if !report.notPromised.isEmpty {
                StandardOutput.say("")
                StandardOutput.say("What such a device cannot promise:")
                for sentence in report.notPromised {
                    Paragraph.lines(sentence, indent: "  - ").forEach(StandardOutput.say)
                }
            }
        }
        guard [.waiting, .booted].contains(report.state) else {
            throw Failure(.unavailable, "\(paths.name) is not ready")
        }
        guard report.isReady else { throw Failure(.no, "something of \(paths.name) does not work") }
    }
}

/// Everything that `touchstone doctor` found.
struct DoctorReport: Encodable {
    /// waiting: systemd boots it when it is first used.
    enum DeviceState: String, Encodable { case absent, off, waiting, booted }

    var device: String
    var state: DeviceState
    var isReady: Bool
    var findings: [Finding]
    /// Sentences without a full stop.
    var notPromised: [String]

    init(_ paths: DevicePaths) {
        device = paths.name
        let check = DeviceCheck(paths)
        state = check.state
        findings =
            check.findings + MachineCheck.findings + SessionReport.findings(paths)
            + Bridge.allCases.map { BridgeReport($0, device: paths).finding }
            + [PAMStatus.finding(isSystem: paths.isSystem)]
        notPromised = check.status?.notPromised(isSystem: paths.isSystem) ?? []
        isReady = [.waiting, .booted].contains(state) && !findings.contains { $0.state == .bad }
    }
}
