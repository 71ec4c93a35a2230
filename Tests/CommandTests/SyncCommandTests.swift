import Foundation
import Testing

@testable import touchstone

/// What `touchstone sync` shows and writes; the rest is tested with real devices, by sync-program.
@Suite struct SyncCommandTests {
    @Test func thePackagedUnitIsTheOneThatIsWritten() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("system/systemd-user/touchstone-sync.service")
        #expect(
            try String(contentsOf: file, encoding: .utf8)
                == SyncService.unit(executable: "/usr/bin/touchstone-sync").text)
    }

    @Test func digitsAreLargeAtATerminalAndPlainBelow() {
        #expect(LargeDigits.lines("012345", isLarge: false) == ["  012 345"])
        let lines = LargeDigits.lines("017890", isLarge: true)
        #expect(
            lines == [
                "   _       _      _   _   _ ", "  | |   |   |    |_| |_| | |", "  |_|   |   |    |_|  _| |_|", "",
                "  017 890",
            ])
    }

    @Test func whatDoesNotFitTogetherIsNoJoining() {
        #expect(throws: Failure.self) {
            try Joining(application: Data("a".utf8), challenge: Data("b".utf8), reveal: Data(count: 32))
        }
    }
}
