import Foundation
package import TouchstoneLog
import TouchstoneTransport

/// Sends entries of the log to systemd's journal, each with its fields, in its native protocol.
///
/// Nobody waits for it: where the journal does not take an entry, the entry is in the log all the same.
package final class Journal: Sendable {
    private let socket: DatagramSocket
    private let device: String

    package static let path = "/run/systemd/journal/socket"

    /// nil where systemd did not start us, or there is no socket to be had.
    package convenience init?(device: String, environment: [String: String]) {
        guard environment["JOURNAL_STREAM"] != nil || environment["INVOCATION_ID"] != nil else { return nil }
        self.init(device: device, path: Self.path)
    }

    package init?(device: String, path: String) {
        guard let socket = DatagramSocket(path: path, isWaited: false) else { return nil }
        self.socket = socket
        self.device = device
    }

    package func send(_ entry: LogEntry) { socket.send(Self.datagram(fields(entry))) }

    private func fields(_ entry: LogEntry) -> [(String, String)] {
        let isGood = entry.result == "ok"
        var fields = [
            // notice, or warning
            ("PRIORITY", isGood ? "5" : "4"), ("SYSLOG_IDENTIFIER", "touchstone"),
            ("MESSAGE", entry.sentence), ("TOUCHSTONE_DEVICE", device), ("TOUCHSTONE_EVENT", entry.event),
            ("TOUCHSTONE_RESULT", entry.result), ("TOUCHSTONE_AUTHOR", entry.author.rawValue),
            ("TOUCHSTONE_SEQUENCE", String(entry.sequence)), ("TOUCHSTONE_TIME", entry.time),
            ("TOUCHSTONE_BOOT", entry.boot), ("TOUCHSTONE_CODE", entry.code),
        ]
        if let event = LogEvent(rawValue: entry.event) { fields.insert(("MESSAGE_ID", event.messageID), at: 0) }
        if let app = entry.app { fields.append(("TOUCHSTONE_APP", app)) }
        if let client = entry.client { fields.append(("TOUCHSTONE_CLIENT", client)) }
        if let by = entry.by { fields.append(("TOUCHSTONE_BY", by)) }
        if let asked = entry.asked { fields.append(("TOUCHSTONE_ASKED", asked)) }
        if let factors = entry.factors {
            fields.append(("TOUCHSTONE_FACTORS", factors.map(\.rawValue).joined(separator: " ")))
        }
        if let count = entry.count { fields.append(("TOUCHSTONE_COUNT", String(count))) }
        return fields
    }

    /// `NAME=value`, one a line; a value with a line break of its own by its length: `NAME`, line break, 8 bytes little-endian, the value.
    static func datagram(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            bytes += name.utf8
            if value.utf8.contains(UInt8(ascii: "\n")) {
                bytes.append(UInt8(ascii: "\n"))
                let count = UInt64(value.utf8.count)
                bytes += stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: count >> UInt64($0)) }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}
