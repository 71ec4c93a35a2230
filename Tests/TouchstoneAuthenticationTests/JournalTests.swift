import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneLog

@testable import TouchstoneAuthentication

/// What systemd's journal gets, at a socket that is the test's.
@Suite struct JournalTests {
    /// Where a journal would listen.
    private final class Listener {
        let path = "/tmp/journal-\(UUID().uuidString.prefix(8))"
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(result == 0)
        }

        deinit {
            close(descriptor)
            unlink(path)
        }

        /// One datagram; nil if there is none.
        func receive() -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : Array(bytes.prefix(count))
        }
    }

    /// Reads a datagram as the journal does.
    private func fields(_ datagram: [UInt8]) throws -> [String: String] {
        var fields: [String: String] = [:]
        var rest = datagram[...]
        while !rest.isEmpty {
            let end = try #require(rest.firstIndex(of: 0x0A))
            let line = rest[rest.startIndex..<end]
            if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
                fields[String(decoding: line[..<equals], as: UTF8.self)] = String(
                    decoding: line[(equals + 1)...], as: UTF8.self)
                rest = rest[(end + 1)...]
            } else {
                try #require(rest.distance(from: end, to: rest.endIndex) > 9)
                let length = rest[(end + 1)...(end + 8)].enumerated().reduce(0) {
                    $0 | Int($1.element) << (8 * $1.offset)
                }
                let start = end + 9
                fields[String(decoding: line, as: UTF8.self)] = String(
                    decoding: rest[start..<(start + length)], as: UTF8.self)
                #expect(rest[start + length] == 0x0A)
                rest = rest[(start + length + 1)...]
            }
        }
        return fields
    }

    private let line = """
        {"sequence":7,"time":"2026-11-21T16:33:15.291Z","boot":"128053d5774570a9","author":"enclave",\
        "event":"evaluation-ended","app":"line\\nbreak=x","asked":"biometryAny","factors":["touch-id","passcode"],\
        "result":"userCancel","count":3,"previous":"\(String(repeating: "0", count: 64))","code":"\(String(repeating: "a", count: 64))"}
        """

    @Test("An entry arrives with its fields and its stable id; a value with a line break in the binary form")
    func fields() throws {
        let listener = try Listener()
        let journal = try #require(Journal(device: "phone", path: listener.path))
        journal.send(try #require(LogEntry(line: line)))
        let fields = try fields(try #require(listener.receive()))
        #expect(
            fields == [
                "MESSAGE_ID": LogEvent.evaluationEnded.messageID, "PRIORITY": "4", "SYSLOG_IDENTIFIER": "touchstone",
                "MESSAGE": "line\nbreak=x: evaluation ended (biometryAny) by touch-id and passcode, 3 more: userCancel",
                "TOUCHSTONE_DEVICE": "phone", "TOUCHSTONE_EVENT": "evaluation-ended", "TOUCHSTONE_RESULT": "userCancel",
                "TOUCHSTONE_AUTHOR": "enclave", "TOUCHSTONE_SEQUENCE": "7",
                "TOUCHSTONE_TIME": "2026-11-21T16:33:15.291Z",
                "TOUCHSTONE_BOOT": "128053d5774570a9", "TOUCHSTONE_CODE": String(repeating: "a", count: 64),
                "TOUCHSTONE_APP": "line\nbreak=x", "TOUCHSTONE_ASKED": "biometryAny",
                "TOUCHSTONE_FACTORS": "touch-id passcode", "TOUCHSTONE_COUNT": "3",
            ])
    }

    @Test("The native protocol's two forms, byte for byte") func datagram() {
        #expect(Journal.datagram([("A", "b=c"), ("D", "")]) == Array("A=b=c\nD=\n".utf8))
        #expect(
            Journal.datagram([("A", "b\nc")]) == Array("A\n".utf8) + [3, 0, 0, 0, 0, 0, 0, 0] + Array("b\nc\n".utf8))
    }

    @Test("Nobody listens, or the journal's queue is full: sending waits for nobody") func nobody() throws {
        let entry = try #require(LogEntry(line: line))
        try #require(Journal(device: "phone", path: "/tmp/nobody-\(UUID().uuidString)")).send(entry)
        let listener = try Listener()
        let journal = try #require(Journal(device: "phone", path: listener.path))
        for _ in 0..<5000 { journal.send(entry) }
        var count = 0
        while listener.receive() != nil { count += 1 }
        #expect((1..<5000).contains(count), "some arrived, and the rest was not waited for")
    }

    @Test("Only under systemd") func environment() {
        #expect(Journal(device: "a", environment: [:]) == nil)
        #expect(Journal(device: "a", environment: ["JOURNAL_STREAM": "8:1"]) != nil)
        #expect(Journal(device: "a", environment: ["INVOCATION_ID": "0"]) != nil)
    }

    @Test("Message ids are 128 bits, no two alike, and the ones that are documented") func messageIDs() throws {
        let ids = LogEvent.allCases.map(\.messageID)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy { $0.isHexDigit && !$0.isUppercase } })
        #expect(Set(ids).count == ids.count)
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("docs/audit-log.md"), encoding: .utf8)
        for event in LogEvent.allCases {
            #expect(page.contains("| `\(event.rawValue)` | `\(event.messageID)` |"), "\(event)")
        }
    }
}
