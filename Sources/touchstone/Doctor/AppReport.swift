import Foundation
import TouchstoneCore
import TouchstoneSystem

/// What `touchstone doctor --app` says of a program.
struct AppReport: Encodable {
    private let description: AppDescription
    private let script: String?

    /// Whether it is known as a bridge (ND-2).
    var actsForClients: Bool { description.actsForClients == true }

    private enum CodingKeys: String, CodingKey { case script }

    /// Asks touchstoned, because it decides this when a process connects.
    init(_ file: ExecutedFile, _ paths: DevicePaths) throws {
        let arguments =
            ["app", "--executable", file.path] + (paths.isSystem ? [] : ["--state", paths.state.path])
        let (ending, output) = try Program.daemon.output(arguments)
        guard ending == .exited(0), let description = try? JSONDecoder().decode(AppDescription.self, from: output)
        else {
            throw Failure(.internalError, "touchstoned could not identify \(PlainText.line(file.path)): it \(ending)")
        }
        self.init(description, script: file.script)
    }

    init(_ description: AppDescription, script: String?) {
        self.description = description
        self.script = script
    }

    func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
        var more = encoder.container(keyedBy: CodingKeys.self)
        try more.encodeIfPresent(script, forKey: .script)
    }

    /// - Throws: `Failure` (`no`) for a program that is not served.
    func tell(json: Bool) throws {
        if json { try StandardOutput.json(self) } else { lines.forEach(StandardOutput.say) }
        if let refusal = description.refusal {
            throw Failure(.no, "\(PlainText.line(description.identifier)) is not served: \(refusal)")
        }
    }

    var lines: [String] {
        var rows = [["Identifier", PlainText.line(description.identifier), "the path of the executable"]]
        rows.append(["Name", PlainText.line(description.name.value), source(description.name)])
        for (index, group) in description.accessGroups.enumerated() {
            rows.append([index == 0 ? "Access groups" : "", PlainText.line(group.value), source(group)])
        }
        rows.append(
            description.faceIDUsageDescription.map {
                ["Face ID", "\u{201C}\(PlainText.line($0.value))\u{201D}", source($0)]
            }
                ?? ["Face ID", "not allowed", "there is no NSFaceIDUsageDescription"])
        var notes = description.executableDigest.map { ["The executable's SHA-256 is \($0)."] } ?? []
        if let script {
            notes.append(
                "\(PlainText.line(script)) is a script. The device knows only its interpreter, so all scripts of this interpreter are one app."
            )
        }
        if let other = description.otherManifest {
            notes.append(
                "\(PlainText.line(other)) is for this path with another SHA-256, so it does not describe this file.")
        }
        notes += description.unusedManifests.map { "\(PlainText.line($0))." }
        notes.append("If it runs in a Flatpak or a snap, or as a system service, the device knows it as that instead.")
        return Table.lines(rows) + [""] + notes
    }

    private func source(_ part: AppDescription.Part) -> String {
        switch part.origin {
        case .executable: "the last part of the path"
        case .identifier: "its own, no other app has it"
        case .manifest, .infoPropertyList: PlainText.line(part.file ?? "")
        }
    }
}
