import Foundation
import Testing
import TouchstoneCore

@testable import touchstone

struct AssuanLineTests {
    private func read(_ line: String) -> (AssuanLine.Reply, [UInt8]) {
        let data = PasscodeBuffer()
        let reply = Data(line.utf8).withUnsafeBytes { AssuanLine.read($0, data: data) }
        return (reply, Array(data))
    }

    @Test func whatWouldEndALineIsEscaped() {
        #expect(AssuanLine.command("SETDESC", "50 %\r\nä\u{7F}") == Data("SETDESC 50 %25%0D%0Aä%7F".utf8))
        #expect(AssuanLine.command("GETPIN") == Data("GETPIN".utf8))
        #expect(AssuanLine.command("SETDESC", "a\nSETOK b") == Data("SETDESC a%0ASETOK b".utf8))
    }

    @Test(arguments: ["x", "é", "\n", "👩‍👩‍👧"])
    func aLineHas1000BytesAtTheMostAndIsCutAtACharacter(character: String) {
        let line = AssuanLine.command("SETDESC", String(repeating: character, count: 2000))
        #expect(line.count <= 1000 && line.count > 970)
        let text = String(decoding: line, as: UTF8.self)
        #expect(Data(text.utf8) == line, "no half character")
        if character == "\n" { #expect(text.hasSuffix("%0A")) }
    }

    @Test func repliesAreTold() {
        #expect(read("OK").0 == .ok)
        #expect(read("OK Pleased to meet you").0 == .ok)
        #expect(read("# a comment").0 == .remark)
        #expect(read("S PIN_REPEATED").0 == .remark)
        #expect(read("INQUIRE QUALITY x").0 == .inquiry)
        #expect(
            read("ERR 83886179 Operation cancelled <Pinentry>").0
                == .error(code: 83_886_179, text: "Operation cancelled <Pinentry>"))
        #expect(read("ERR 83886194 not confirmed").0 == .error(code: AssuanLine.notConfirmed, text: "not confirmed"))
        #expect(read("ERR 7").0 == .error(code: 7, text: ""))
    }

    @Test func dataIsDecoded() {
        #expect(read("D 12%2534%0Aé") == (.data, Array("12%34\né".utf8)))
        #expect(read("D") == (.data, []))
        #expect(read("D ") == (.data, []))
    }

    @Test(arguments: [
        "", "NO", "OKAY", "DATA", "ERR", "ERR x", "ERR -1", "ERR 99999999999", "D %", "D 1%2", "D %GG", "\u{0}",
    ])
    func whatIsNoReplyIsTold(line: String) {
        #expect(read(line).0 == .malformed)
    }

    @Test func aLineThatIsTooLongIsNone() {
        #expect(read("D " + String(repeating: "x", count: 998)).0 == .data)
        #expect(read("D " + String(repeating: "x", count: 999)).0 == .malformed)
    }

    @Test func aPasscodeThatIsTooLongIsToldAsSuch() {
        let data = PasscodeBuffer()
        let reply = Data(("D " + String(repeating: "x", count: 400)).utf8).withUnsafeBytes {
            AssuanLine.read($0, data: data)
        }
        #expect(reply == .data)
        #expect(data.isTooLong)
    }
}

struct PinentryDialogTests {
    private func lines(_ prompt: AgentInterface.Prompt, secondsLeft: Int = 0) -> [String] {
        PinentryDialog(prompt, secondsLeft: secondsLeft).commands.map { String(decoding: $0, as: UTF8.self) }
    }

    private func answers(_ prompt: AgentInterface.Prompt) -> (String, String) {
        let dialog = PinentryDialog(prompt, secondsLeft: 0)
        return (dialog.confirmed.map { "\($0)" } ?? "", dialog.refused.map { "\($0)" } ?? "")
    }

    @Test("EV-12: before a failure there is one button, which cancels") func oneButton() {
        let commands = lines(.test())
        #expect(commands.last == "CONFIRM --one-button")
        #expect(commands.contains("SETOK Cancel"))
        #expect(commands[0] == "SETTITLE Touch ID")
        #expect(
            commands[1]
                == "SETDESC Touchstone: Touch ID for “gate”%0Aasked by /usr/bin/gate (verified: executable), process 42%0A%0A"
                + "says: “log in”%0A%0ATouch the fingerprint sensor.")
        #expect(answers(.test()) == ("cancel", ""))
    }

    @Test("EV-15, EV-16: the fallback, another look, and the permission have buttons of their own") func buttons() {
        let fallback = lines(.test(cancel: "Not now", fallback: "Use_PIN", failures: 1))
        #expect(fallback.suffix(3) == ["SETOK Use__PIN", "SETCANCEL Not now", "CONFIRM"])
        #expect(answers(.test(fallback: "x")) == ("fallback", ""))
        #expect(lines(.test(biometry: .faceID, phase: .retry)).contains("SETOK Try Face ID Again"))
        #expect(answers(.test(biometry: .faceID, phase: .retry)) == ("tryAgain", ""))
        let permission = lines(.test(biometry: .faceID, phase: .permission))
        #expect(permission.contains("SETOK Allow") && permission.contains("SETNOTOK Don’t Allow"))
        #expect(answers(.test(biometry: .faceID, phase: .permission)) == ("permission(true)", "permission(false)"))
    }

    @Test("PC-01: a wrong passcode is an error beside the entry; during a delay nothing can be entered") func passcode()
    {
        let entry = lines(.test(phase: .passcode, wrong: true))
        #expect(entry.last == "GETPIN")
        #expect(entry.contains("SETERROR Wrong passcode."))
        #expect(entry.contains("SETPROMPT Passcode:"))
        #expect(!lines(.test(phase: .passcode)).contains { $0.hasPrefix("SETERROR") })
        let delay = lines(.test(phase: .passcode, wrong: true), secondsLeft: 60)
        #expect(delay.last == "CONFIRM --one-button")
        #expect(delay[1].hasSuffix("Wrong passcode.%0ATry again in 60 s."))
    }

    @Test("EV-61: an app's password is asked for by its name") func password() {
        #expect(lines(.test(phase: .applicationPassword)).contains("SETPROMPT App password:"))
    }

    @Test("No claim becomes a command, or mark-up at the beginning") func claims() {
        let commands = lines(.test(name: "<b>x</b>", reason: "a\nGETPIN\r\n%0AGETPIN", cancel: "%0AOK"))
        #expect(commands.count == 4)
        #expect(commands.allSatisfy { !$0.contains("\n") && !$0.contains("\r") })
        #expect(commands[1].hasPrefix("SETDESC Touchstone: Touch ID for"))
        #expect(commands[1].contains("%250AGETPIN"))
    }
}
