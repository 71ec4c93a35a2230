import PinentryProtocol
import Testing

@Suite struct PinentrySessionTests {
    private static let keygrip = "FBA64A015D759D0C719996BB819993C8922FE9C5"
    private static let ok = PinentrySession.Request.answer([Array("OK".utf8)])

    /// What gpg-agent 2.2.40 says before it asks for a key's passphrase.
    private static let opening = [
        "OPTION no-grab", "OPTION ttytype=xterm", "OPTION lc-ctype=C.UTF-8", "OPTION allow-external-password-cache",
        "OPTION default-prompt=PIN:", "SETKEYINFO n/\(keygrip)",
        "SETDESC Please enter the passphrase to unlock the OpenPGP secret key:%0A%22Ann <ann@example.org>%22%0A3072-bit RSA key, "
            + "ID EACC041DF5A8C365,%0Acreated 2026-11-23.%0A",
        "SETPROMPT Passphrase:",
    ]

    private func session(_ lines: [String] = opening) -> PinentrySession {
        var session = PinentrySession(processID: 4242)
        for line in lines { #expect(session.take(Array(line.utf8)) == Self.ok, "\(line)") }
        return session
    }

    private func take(_ line: String, _ session: inout PinentrySession) -> PinentrySession.Request {
        session.take(Array(line.utf8))
    }

    private func texts(_ session: PinentrySession, notice: String? = nil) -> [String] {
        session.lines(notice: notice).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("PE-1: what gpg-agent says when it wants a key's passphrase")
    func key() {
        var session = session()
        #expect(session.keygrip == Self.keygrip)
        #expect(session.allowsKeeping && !session.saysWrong && !session.choosesNew)
        #expect(session.keyName == "Ann <ann@example.org>")
        #expect(take("GETPIN", &session) == .passphrase)
        #expect(take("CONFIRM --one-button", &session) == .dialog(Array("CONFIRM --one-button".utf8)))
        #expect(take("CLEARPASSPHRASE n/\(Self.keygrip.lowercased())", &session) == .forget(keygrip: Self.keygrip))
        #expect(take("BYE", &session) == .end)
    }

    @Test(
        "PE-2: only a key's passphrase can be kept",
        arguments: [
            "--clear", "", "u/S49EBA82DB533D771", "u/\(keygrip)", "n/\(keygrip)0", "n/\(keygrip.dropLast())",
            "n/\(keygrip.dropLast())G", "x/\(keygrip)", "n/\(keygrip.dropLast(2))é",
        ])
    func notAKey(information: String) {
        var session = session()
        #expect(take("SETKEYINFO \(information)", &session) == Self.ok)
        #expect(session.keygrip == nil)
        #expect(take("CLEARPASSPHRASE \(information)", &session) == Self.ok)
    }

    @Test("PE-2: a key of ssh's has a passphrase, too")
    func sshKey() {
        #expect(session(["SETKEYINFO s/\(Self.keygrip)"]).keygrip == Self.keygrip)
    }

    @Test("PE-2: gpg-agent has to allow it")
    func notAllowed() {
        #expect(!session(Self.opening.filter { !$0.contains("external") }).allowsKeeping)
        #expect(!session(["OPTION allow-external-password-caches"]).allowsKeeping)
    }

    @Test("PE-4: an error and what is typed twice count for one passphrase")
    func once() {
        var session = session(Self.opening + ["SETERROR Bad Passphrase (try 2 of 3)", "SETREPEAT Repeat:"])
        #expect(session.saysWrong && session.choosesNew)
        session.wasAsked()
        #expect(!session.saysWrong && !session.choosesNew)
        #expect(texts(session).contains("SETPROMPT Passphrase:"))
        #expect(take("RESET", &session) == Self.ok)
        #expect(session.keygrip == nil && !session.allowsKeeping && texts(session).isEmpty)
    }

    @Test("PE-3: another pinentry gets all settings, but for what would have it keep the passphrase as well")
    func settings() {
        var session = session()
        #expect(take("OPTION ttytype=linux", &session) == Self.ok)
        let lines = texts(session, notice: "You cancelled it: 100%.")
        #expect(lines.contains("OPTION ttytype=linux") && !lines.contains("OPTION ttytype=xterm"))
        #expect(!lines.contains { $0.contains("external") || $0.contains("KEYINFO") })
        #expect(lines.contains { $0.hasPrefix("SETDESC You cancelled it: 100%25.%0A%0APlease enter") })
        #expect(texts(session).contains(Self.opening[6]))
        #expect(texts(self.session([]), notice: "x") == ["SETDESC x"])
    }

    @Test("PE-3: a text that is too long is cut, never within a character or an escape", arguments: 0..<7)
    func cut(shift: Int) {
        let unit = "é%0A€%25"
        let description = "SETDESC " + String(repeating: "x", count: shift) + String(repeating: unit, count: 89)
        let session = session([description])
        let line = session.lines(notice: "Notice, notice.")[0]
        #expect(line.count <= AssuanText.maximumCount)
        #expect(String(validating: line, as: UTF8.self) != nil)
        let text = AssuanText.unescaped(line)
        #expect(text?.hasPrefix("SETDESC Notice, notice.\n\n") == true && text?.hasSuffix("…") == true)
    }

    @Test("PE-5: commands and lines that are refused, beside those that are not")
    func hostile() {
        var session = session()
        #expect(take("EXEC /bin/sh", &session) == .answer([PinentryError.unknownCommand.line]))
        #expect(take("GETPINS", &session) == .answer([PinentryError.unknownCommand.line]))
        #expect(take("getpin", &session) == .passphrase)
        #expect(session.take(Array("SETDESC a\0b".utf8)) == .answer([PinentryError.syntax.line]))
        #expect(session.take(Array("SETDESC a\rb".utf8)) == .answer([PinentryError.syntax.line]))
        #expect(take("OPTION =x", &session) == .answer([PinentryError.syntax.line]))
        #expect(take("GETINFO secrets", &session) == .answer([PinentryError.parameter.line]))
        #expect(take("GETINFO pid", &session) == .answer([Array("D 4242".utf8), Array("OK".utf8)]))
        #expect(take("# a comment", &session) == .answer([]) && take("", &session) == .answer([]))
        let longest = "SETTITLE " + String(repeating: "x", count: AssuanText.maximumCount - 9)
        #expect(take(longest, &session) == Self.ok)
        #expect(take(longest + "x", &session) == .answer([PinentryError.lineTooLong.line]))
    }

    @Test("PE-5: no more settings than it remembers")
    func many() {
        var session = session([])
        for number in 0..<PinentrySession.maximumSettings { #expect(take("OPTION o\(number)", &session) == Self.ok) }
        #expect(take("OPTION more", &session) == .answer([PinentryError.tooMuchData.line]))
        #expect(take("OPTION o0=again", &session) == Self.ok)
    }

    @Test("PE-1: the name of a key that gpg-agent does not quote")
    func names() {
        #expect(session(["SETDESC Unlock the ssh key%0A  SHA256:x"]).keyName == "Unlock the ssh key")
        #expect(session(["SETDESC %0A%1B%22a%0Ab%22"]).keyName == "\"a")
        #expect(session(["SETDESC %0"]).keyName == nil && session([]).keyName == nil)
        let long = session(["SETDESC " + String(repeating: "y", count: 900)])
        #expect(long.keyName?.count == PinentrySession.maximumNameCount)
    }
}

@Suite struct AssuanTextTests {
    @Test("PE-5: every byte comes back as it was, on one line")
    func escapes() {
        let all = (0...255).map { UInt8($0) }
        let line = AssuanText.escaped(all)
        #expect(!line.contains(0x0A) && !line.contains(0x0D) && !line.contains(0))
        var back: [UInt8] = []
        #expect(AssuanText.unescape(line) { back.append($0) })
        #expect(back == all)
    }

    @Test("PE-5: escapes that are cut or no numbers", arguments: ["%", "%2", "a%2", "%G0", "%0g", "%%41"])
    func malformed(text: String) { #expect(AssuanText.unescaped(text.utf8) == nil) }

    @Test(
        "PE-5: what a pinentry says",
        arguments: [
            ("OK", PinentryReply.success), ("OK closing connection", .success), ("OKAY", .malformed),
            ("ERR 83886179 Operation cancelled <Pinentry>", .failure), ("D swordfish", .data), ("D", .data),
            ("DATA", .malformed), ("S PASSWORD_FROM_CACHE", .remark), ("# x", .remark), ("INQUIRE QUALITY x", .inquiry),
            ("", .malformed), ("END", .malformed),
        ])
    func replies(line: String, expected: PinentryReply) {
        #expect(PinentryReply(Array(line.utf8)) == expected)
        #expect(
            PinentryReply(Array((line + " " + String(repeating: "x", count: AssuanText.maximumCount)).utf8))
                == .malformed)
    }
}
