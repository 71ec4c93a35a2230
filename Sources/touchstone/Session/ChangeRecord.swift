import Foundation
import Glibc
import TouchstoneSystem

/// What files of the user's were changed for.
struct ChangeOwner: RawRepresentable, Codable, Hashable {
    let rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }

    static func bridge(_ bridge: Bridge) -> ChangeOwner { ChangeOwner(rawValue: bridge.rawValue) }

    /// What a bridge's resident program needs, whichever bridge was the first.
    static func resident(_ resident: Resident) -> ChangeOwner { .bridge(resident.bridge) }

    /// That the user's systemd boots this device.
    static func device(_ name: String) -> ChangeOwner { ChangeOwner(rawValue: "device \(name)") }

    /// What all those devices need.
    static let devices = ChangeOwner(rawValue: "devices")

    /// The window of prompts.
    static let window = ChangeOwner(rawValue: "window")

    /// That the window, which a package starts for every user, does not start for this one.
    static let hiddenWindow = ChangeOwner(rawValue: "hidden window")

    var isDevice: Bool { rawValue.hasPrefix("device ") }
}

/// What `touchstone bridge enable` and `touchstone session enable` have changed, for `disable`.
struct ChangeRecord: Codable {
    struct Entry: Codable {
        var owner: ChangeOwner
        var change: FileChange

        private enum CodingKeys: String, CodingKey {
            // The bridges were there first.
            case owner = "bridge"
            case change
        }
    }

    private(set) var version = 1
    var enabled: [ChangeOwner] = []
    /// In the order in which they were made.
    var entries: [Entry] = []

    private static var path: String {
        DevicePaths.devices().deletingLastPathComponent().appendingPathComponent("bridges.json").path
    }

    /// - Throws: `Failure` for a record that this version cannot read.
    static func read() throws -> ChangeRecord {
        guard let data = try ConfigurationFiles.read(path) else { return ChangeRecord() }
        guard let record = try? JSONDecoder().decode(Self.self, from: data), record.version == 1 else {
            throw Failure(
                .refused,
                "\(path) cannot be read, because it is damaged or of a later version. It lists the files that 'enable' changed; put them back yourself, then remove it"
            )
        }
        return record
    }

    /// Writes it before anything is changed, so that what was cut off in the middle can be put back too.
    func write() throws {
        guard !enabled.isEmpty || !entries.isEmpty else {
            guard unsafe unlink(Self.path) == 0 || errno == ENOENT else { throw Failure.system(Self.path) }
            return
        }
        _ = try ConfigurationFiles.makeDirectories(above: Self.path)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try ConfigurationFiles.write(encoder.encode(self), Self.path)
    }

    /// Whether the resident program is wanted by a bridge other than this one.
    func needs(_ resident: Resident, besides bridge: Bridge) -> Bool {
        Bridge.allCases.contains { $0 != bridge && $0.resident == resident && enabled.contains(.bridge($0)) }
    }

    /// What putting back comes to, line by line.
    func lines(undoing owners: [ChangeOwner]) -> [String] {
        entries.reversed().filter { owners.contains($0.owner) }
            .map { "puts back \(ConfigurationFiles.shown($0.change.path))" }
    }

    /// Puts back what was changed for these, and forgets it.
    ///
    /// - Throws: `Failure` (`no`) that names the files whose lines cannot be told from others; all else is put back then.
    mutating func undo(_ owners: [ChangeOwner], disabling owner: ChangeOwner) throws {
        var left: [String] = []
        for entry in entries.reversed() where owners.contains(entry.owner) {
            if try !entry.change.undo() { left.append(ConfigurationFiles.shown(entry.change.path)) }
        }
        entries.removeAll { owners.contains($0.owner) }
        enabled.removeAll { $0 == owner }
        try write()
        guard left.isEmpty else {
            throw Failure(
                .no,
                "these files were changed since, so remove Touchstone's lines from them yourself: \(left.joined(separator: ", "))"
            )
        }
    }
}
