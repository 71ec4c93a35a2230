import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device list`.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List your devices.")

    @Flag(help: "As JSON: an array of objects with name, state and biometry.") var json = false

    private struct Row: Encodable {
        var name: String
        /// `booted` or `off`.
        var state: String
        /// `touchid`, `faceid` or `none`; absent if it is not known.
        var biometry: String?
    }

    func run() throws {
        var rows = DevicePaths.names().map { name in
            let paths = DevicePaths(name: name)
            return Row(
                name: name, state: SupervisorLock.holder(paths) == nil ? "off" : "booted",
                biometry: DeviceDirectory.biometry(paths)?.rawValue)
        }
        if DevicePaths.systemExists() {
            let system = DevicePaths(name: DevicePaths.systemName)
            let isListening = FileManager.default.fileExists(atPath: system.socket.path)
            rows.append(Row(name: system.name, state: isListening ? "booted" : "off"))
        }
        guard !json else { return try StandardOutput.json(rows) }
        guard !rows.isEmpty else {
            return StandardError.say("there are no devices; 'touchstone device create' makes one")
        }
        let table = [["NAME", "STATE", "BIOMETRY"]] + rows.map { [$0.name, $0.state, $0.biometry ?? "?"] }
        for line in Table.lines(table) { StandardOutput.say(line) }
    }
}

enum Table {
    /// Columns as wide as their widest cell; the last one is broken at words where the terminal ends.
    ///
    /// - Parameters:
    ///   - rows: The cells of each row.
    ///   - columns: Of the terminal; nil: not a terminal, so that each row is one line.
    /// - Returns: The lines.
    static func lines(_ rows: [[String]], columns: Int? = Paragraph.width) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? PlainText.columns($0[column]) : 0 }.max() ?? 0
        }
        return rows.flatMap { row in
            let before = zip(row.dropLast(), widths).map { cell, width in
                cell + String(repeating: " ", count: width - PlainText.columns(cell) + 2)
            }
            return Paragraph.lines(row.last ?? "", indent: before.joined(), columns: columns)
        }
    }
}
