import Foundation
import Testing
import TouchstoneDevice
import TouchstoneInterfaces

@testable import touchstone

/// What `touchstone sync` shows and writes; the rest is tested with real devices, by sync-program and sync-recovery.
@Suite struct SyncCommandTests {
    @Test func thePackagedUnitIsTheOneThatIsWritten() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("system/systemd-user/touchstone-sync.service")
        #expect(
            try String(contentsOf: file, encoding: .utf8)
                == SyncService.unit(executable: "/usr/bin/touchstone-sync").text)
    }

    private static let words = "abandon amount liar amount expire adjust cage candy arch gather drum bunker few"

    private static func typed(_ text: String) -> PasscodeBuffer {
        let buffer = PasscodeBuffer()
        for byte in text.utf8 { buffer.append(byte) }
        return buffer
    }

    @Test("SY-14: a recovery key's words are those of its secret and checksum, and back") func recoveryWords() throws {
        let secret = PasscodeBuffer()
        for byte in 0..<16 as Range<UInt8> { secret.append(byte) }
        #expect(String(decoding: RecoveryWords.words(of: secret), as: UTF8.self) == Self.words)
        for text in [Self.words, Self.words.uppercased(), "  " + Self.words.replacing(" ", with: " \t ") + "\r"] {
            #expect(try Array(RecoveryWords.secret(of: Self.typed(text))) == Array(0..<16))
        }
        for _ in 0..<100 {
            let drawn = RecoveryWords.newSecret()
            #expect(try Array(RecoveryWords.secret(of: RecoveryWords.words(of: drawn))) == Array(drawn))
        }
    }

    @Test("SY-14: a typing error of a recovery key is named, and what was typed is not") func mistypedRecoveryWords() {
        let words = Self.words.split(separator: " ")
        func mistake(_ text: String) -> RecoveryWords.Mistake? {
            do throws(RecoveryWords.Mistake) {
                _ = try RecoveryWords.secret(of: Self.typed(text))
                return nil
            } catch { return error }
        }
        #expect(mistake("") == .count(0))
        #expect(mistake(words.dropLast().joined(separator: " ")) == .count(12))
        #expect(mistake(Self.words + " zoo") == .count(14))
        #expect(mistake(String(repeating: "a", count: 300)) == .count(1))
        #expect(mistake(Self.words.replacing(words[6], with: words[6] + "x")) == .unknownWord(7))
        #expect(mistake(Self.words.replacing(words[12], with: "é")) == .unknownWord(13))
        // 15 bits: one wrong key of 32,768 looks right. Of these 2,047 none does.
        for word in RecoveryWords.list where String(decoding: word, as: UTF8.self) != words[3] {
            var wrong = words.map(String.init)
            wrong[3] = String(decoding: word, as: UTF8.self)
            #expect(mistake(wrong.joined(separator: " ")) == .checksum)
        }
        #expect(mistake(words.reversed().joined(separator: " ")) == .checksum)
        #expect(RecoveryWords.Mistake.unknownWord(7).text.contains("word 7"))
    }

    @Test("SY-14: the status says how many ways back there are") func waysBack() {
        func reply(_ devices: Int, _ keys: Int) -> SyncInterface.GetStatus.Reply {
            let members = (0..<devices + keys).map { number in
                SyncInterface.Member(
                    member: "", name: "", isThisDevice: number == 0, isRecoveryKey: number >= devices, isComplete: true)
            }
            return .init(links: 1, members: members, waiting: 0, isExpired: false)
        }
        #expect(reply(1, 0).waysBack.hasPrefix("none: if this device is lost, only a backup has its items; "))
        #expect(reply(2, 0).waysBack.hasPrefix("1: 1 other device; "))
        #expect(reply(1, 1).waysBack == "1: 1 recovery key")
        #expect(reply(3, 2).waysBack == "4: 2 other devices, 2 recovery keys")
        #expect(SyncRecoveryKeyCommand.freeName(["a"]) == "recovery key")
        #expect(SyncRecoveryKeyCommand.freeName(["recovery key", "recovery key 3"]) == "recovery key 2")
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
