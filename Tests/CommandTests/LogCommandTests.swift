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

    private let names = AppNames { $0 == "org.example" ? "Example" : nil }

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
        var table = LogTable(names: names, hasColour: false)
        let lines = table.lines(try entries())
        let cut = lines.map { String($0.dropFirst(21)) }
        #expect(
            cut == [
                "APP                    WHAT                                       PROVEN BY          RESULT",
                "-                      device started                             -                  ok",
                "Example (org.example)  answered: finger or face (3 more)          finger + passcode  ok",
                "a\u{FFFD}b\u{FFFD}[31m               item not opened: finger, face or passcode  -                  cannot be opened any more, because the fingers changed",
            ])
        let more = table.lines([try entry(4, #""event":"locked","result":"ok""#)])
        #expect(
            more.map { String($0.dropFirst(21)) } == [
                "-                      locked                                     -                  ok"
            ])
    }

    @Test("constants are shown in words, and a new one is spelled out")
    func words() throws {
        #expect(LogWords.result("userCancel") == "you cancelled")
        #expect(LogWords.result("faceIDDenied") == "face ID denied")
        #expect(LogWords.result("appInBackground") == "app in background")
        #expect(LogWords.result("refused: staleNonce") == "refused: stale nonce")
        #expect(LogWords.result("wrong, the same as before") == "wrong, the same as before")
        // Nothing of a newer version is left out, and no word is glued to another.
        for cause in RefusalCause.allCases {
            let words = LogWords.result(cause.rawValue)
            let isGlued = zip(words, words.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
            #expect(!words.isEmpty && !isGlued, "\(cause)")
        }
        let used = try entry(1, #""event":"key-used","app":"a","asked":"key exchange","result":"ok""#)
        #expect(LogWords.event(used) == "key used to agree on a secret")
        let failed = try entry(1, #""event":"key-used","app":"a","asked":"sign","result":"invalidated""#)
        #expect(LogWords.event(failed) == "key not used to sign")
        let either = try entry(
            1, #""event":"evaluation-began","app":"a","asked":"biometryAny or passcode","result":"ok""#)
        #expect(LogWords.event(either) == "asked for: finger or face or passcode")
        let newer = try entry(1, #""event":"of-a-newer-version","asked":"someThing","result":"ok""#)
        #expect(LogWords.event(newer) == "of a newer version: some thing")
    }

    @Test("an app with a manifest has its name, and its path is still there")
    func namesOfApps() {
        let names = AppNames { $0.hasSuffix("/chores") ? "Chores" : nil }
        #expect(names.shown("/opt/chores") == "Chores (/opt/chores)")
        #expect(names.shown("/usr/bin/git") == "/usr/bin/git")
        let long = names.shown("/home/ada/src/touchstone/Simulator/.build/debug/chores")
        #expect(long.hasPrefix("Chores (/home/ada…"))
        #expect(long.hasSuffix("/chores)") && long.count == "Chores ()".count + 26)
        // A manifest can give any name: never so long that nothing else is seen.
        #expect(
            AppNames { _ in String(repeating: "x", count: 128) }.shown("/a") == String(repeating: "x", count: 24)
                + " (/a)")
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
        var plain = LogTable(names: names, hasColour: false)
        var coloured = LogTable(names: names, hasColour: true)
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
