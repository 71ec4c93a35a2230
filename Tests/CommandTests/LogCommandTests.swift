import Foundation
import Testing
import TouchstoneCore
import TouchstoneLog

@testable import touchstone

/// What `touchstone log` shows, as exact text.
@Suite struct LogCommandTests {
    private func entry(_ sequence: Int, _ more: String) throws -> LogEntry {
        try #require(
            LogEntry(
                line: """
                    {"sequence":\(sequence),"time":"2026-11-21T16:33:15.291Z","boot":"b","author":"enclave",\(more),\
                    "previous":"p","code":"c"}
                    """))
    }

    private func entries() throws -> [LogEntry] {
        [
            try entry(1, #""event":"device-started","result":"ok""#),
            try entry(
                2,
                #""event":"evaluation-ended","app":"org.example","asked":"biometryAny","factors":["touch-id","passcode"],"result":"ok","count":3"#
            ),
            try entry(
                3, #""event":"item-opened","app":"a\u202eb\u001b[31m","asked":"presence","result":"enrolment-changed""#),
        ]
    }

    @Test func rowsStandInColumns() throws {
        var table = LogTable(hasColour: false)
        let lines = table.lines(try entries())
        let cut = lines.map { String($0.dropFirst(21)) }
        #expect(
            cut == [
                "APP          WHAT                                    FACTOR               RESULT",
                "-            device started                          -                    ok",
                "org.example  evaluation ended: biometryAny (3 more)  touch-id + passcode  ok",
                "a\u{FFFD}b\u{FFFD}[31m     item opened: presence                   -                    enrolment-changed",
            ])
        let more = table.lines([try entry(4, #""event":"locked","result":"ok""#)])
        #expect(
            more.map { String($0.dropFirst(21)) } == [
                "-            locked                                  -                    ok"
            ])
    }

    @Test func whatWasRefusedIsFound() throws {
        let refused = [
            #""event":"call-refused","app":"a","result":"noAgent""#,
            #""event":"evaluation-ended","app":"a","result":"userCancel""#,
            #""event":"item-opened","app":"a","result":"enrolment-changed""#,
            #""event":"key-used","app":"a","result":"invalidated""#,
        ]
        let others = [
            #""event":"evaluation-ended","app":"a","result":"ok""#, #""event":"item-opened","app":"a","result":"ok""#,
            #""event":"passcode-rejected","result":"wrong""#, #""event":"device-started","result":"after-crash""#,
            #""event":"of-a-newer-version","result":"no""#,
        ]
        #expect(try refused.map { try entry(1, $0).isRefusal } == [true, true, true, true])
        #expect(try others.map { try entry(1, $0).isRefusal } == [false, false, false, false, false])
    }

    @Test func colourIsOnlyForWhoWantsIt() throws {
        var plain = LogTable(hasColour: false)
        var coloured = LogTable(hasColour: true)
        let entries = try entries()
        #expect(plain.lines(entries).allSatisfy { !$0.contains("\u{1B}") })
        #expect(coloured.lines(entries).map { $0.hasPrefix("\u{1B}[31m") } == [false, false, false, true])
    }

    @Test func timesAreShownWhereTheOwnerIs() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3600))
        let entry = try entry(1, #""event":"locked","result":"ok""#)
        #expect(LogTime.local(entry, timeZone: zone) == "2026-11-21 17:33:15")
    }

    private static let times: [(String, Double)] = [
        ("90s", -90.0), ("30m", -1800), ("12h", -43200), ("7d", -604_800), ("1.5h", -5400), ("1970-01-02", -913_600),
        ("1970-01-01T01:00", -996_400), ("1970-01-01T00:00:10Z", -999_990), ("1970-01-01T02:00:00+01:00", -996_400),
    ]

    @Test(arguments: times)
    func sinceIsUnderstood(text: String, difference: Double) throws {
        let now = Date(timeIntervalSince1970: 1e6)
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        #expect(LogTime.parse(text, now: now, timeZone: zone)?.timeIntervalSince(now) == difference)
    }

    @Test(arguments: ["", "yesterday", "-5m", "5", "m", "nanm", "infd", "2026-13-01", "2026-02-30", "5y"])
    func anythingElseIsNot(text: String) {
        #expect(LogTime.parse(text, now: Date()) == nil)
    }
}
