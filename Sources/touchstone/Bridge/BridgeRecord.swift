import Foundation
import Glibc
import TouchstoneSystem

/// What `touchstone bridge enable` has changed, for `disable`.
struct BridgeRecord: Codable {
    struct Entry: Codable {
        /// For git and docker, what their resident program needs stands under `credentials`.
        var bridge: Bridge
        var change: FileChange
    }

    private(set) var version = 1
    var enabled: [Bridge] = []
    /// In the order in which they were made.
    var entries: [Entry] = []

    private static var path: String {
        DevicePaths.devices().deletingLastPathComponent().appendingPathComponent("bridges.json").path
    }

    /// - Throws: `Failure` for a record that this version cannot read.
    static func read() throws -> BridgeRecord {
        guard let data = try ConfigurationFiles.read(path) else { return BridgeRecord() }
        guard let record = try? JSONDecoder().decode(Self.self, from: data), record.version == 1 else {
            throw Failure(
                .refused,
                "\(path) cannot be read, because it is damaged or of a later version; it says which files were changed")
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
        enabled.contains { $0 != bridge && $0.resident == resident }
    }
}
