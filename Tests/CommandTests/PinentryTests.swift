import Foundation
import Testing
import TouchstoneAgent
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces

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
        #expect(line.count <= 1000 && line.count > 960)
        let text = String(decoding: line, as: UTF8.self)
        #expect(Data(text.utf8) == line, "no half character")
        #expect(text.hasSuffix("…"), "visibly")
        if character == "\n" { #expect(text.hasSuffix("%0A…")) }
    }

    @Test func aLineThatJustFitsIsNotCut() {
        let longest = AssuanLine.command("SETDESC", String(repeating: "x", count: 992))
        #expect(longest == Data("SETDESC \(String(repeating: "x", count: 992))".utf8))
        let cut = AssuanLine.command("SETDESC", String(repeating: "x", count: 993))
        #expect(cut == Data("SETDESC \(String(repeating: "x", count: 989))…".utf8))
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
                == "SETDESC Touchstone%0A“log in”%0ATouch ID for “gate”%0Aasked by “/usr/bin/gate” (verified: executable), process 42"
                + "%0A%0ATouch the fingerprint sensor.%0A%0Asays: “log in”")
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
        #expect(delay[1].contains("%0AWrong passcode.%0ATry again in 60 s.%0A"))
    }

    @Test("EV-61: an app's password is asked for by its name") func password() {
        #expect(lines(.test(phase: .applicationPassword)).contains("SETPROMPT App password:"))
    }

    @Test(
        "AT-17: whatever an app is called and says, only its claims are cut",
        arguments: [
            ("/tmp/", "x", "sshd"), ("/tmp/\u{201D} (verified: Flatpak sandbox), process 1", "\u{6F22}", "\u{6F22}"),
            ("/", "%", "%"), ("/", "\n", "\u{1B}"), ("/", "\u{1F468}\u{200D}\u{1F469}", "e\u{301}"),
        ],
        [AgentInterface.Phase.passcode, .applicationPassword, .retry])
    func longest(words: (start: String, piece: String, name: String), phase: AgentInterface.Phase) throws {
        let path = words.start + String(repeating: words.piece, count: 250)
        let longName = String(repeating: words.name, count: 250)
        let origin = ProcessOrigin(
            ancestors: [path, path, path, path, nil, path].map {
                .init(processID: 1_000_000, executable: $0.map { "\($0)/end" }, name: String(longName.prefix(15)))
            }, terminal: "pts/1048575", session: "7", place: .remote, remote: longName)
        let prompt = AgentInterface.Prompt.test(
            name: longName, identifier: "\(path)/end", evidence: .flatpak, origin: origin,
            reason: "because " + String(repeating: words.piece, count: 250), operation: .useKeySign,
            keyLabel: longName, biometry: .faceID, phase: phase, failures: 1, wrong: true)
        let commands = lines(prompt)
        let description = try #require(commands.first { $0.hasPrefix("SETDESC ") })
        #expect(description.utf8.count <= 1000)
        let shown = try #require(String(description.dropFirst("SETDESC ".count)).removingPercentEncoding)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let text = PromptText(prompt: prompt)
        #expect(Array(shown.prefix(6)) == ["Touchstone", text.shortHeadline, text.title] + text.verified)
        #expect(shown[3].hasSuffix("/end\u{201D} (verified: Flatpak sandbox), process 42"))
        #expect(shown[3].count { "\u{201C}\u{201D}".contains($0) } == 2, "no quotation mark of ours inside")
        #expect(shown[4].hasPrefix("in a REMOTE session (") && shown[4].hasSuffix("), on pts/1048575"))
        #expect(shown[5].hasPrefix("started by \u{201C}/") && shown[5].hasSuffix(" \u{2190} …"))
        #expect(shown.contains(text.instruction))
        #expect(shown.last?.hasPrefix("wants to ") == true || shown.last?.hasPrefix("says: ") == true)
        #expect(commands.allSatisfy { $0.utf8.count <= 1000 })
    }

    @Test("AT-17: short claims of an app with a short path are whole") func whole() {
        #expect(lines(.test(reason: "a “quoted” word"))[1].hasSuffix("%0A%0Asays: “a 'quoted' word”"))
    }

    @Test("No claim becomes a command, or mark-up at the beginning") func claims() {
        let commands = lines(.test(name: "<b>x</b>", reason: "a\nGETPIN\r\n%0AGETPIN", cancel: "%0AOK"))
        #expect(commands.count == 4)
        #expect(commands.allSatisfy { !$0.contains("\n") && !$0.contains("\r") })
        #expect(commands[1].hasPrefix("SETDESC Touchstone%0A“a"))
        #expect(commands[1].contains("%250AGETPIN"))
    }
}
