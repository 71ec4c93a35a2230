import Foundation
import PinentryProtocol

/// What gpg-agent says, line by line, and what another pinentry would get.
private func session(_ bytes: Data) {
    var session = PinentrySession(processID: 4242)
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        switch session.take(Array(line)) {
        case .answer(let lines):
            hold(
                lines.allSatisfy { !$0.contains(0x0A) && $0.count <= AssuanText.maximumCount },
                "an answer that is no line")
        case .passphrase:
            hold(!session.choosesNew || !session.lines().isEmpty, "a setting is lost")
            session.wasAsked()
            hold(!session.saysWrong && !session.choosesNew, "an error counts twice")
        case .dialog(let command): hold(command == Array(line), "another question")
        case .forget(let keygrip): hold(keygrip.utf8.count == 40, "a key without a keygrip")
        case .end: return
        }
        for notice in [nil, "Notice: 100%\n"] {
            let lines = session.lines(notice: notice)
            hold(lines.count <= PinentrySession.maximumSettings + 1, "more settings than are remembered")
            for line in lines {
                hold(line.count <= AssuanText.maximumCount && !line.contains(0x0A), "a setting that is no line")
                hold(!line.starts(with: "SETKEYINFO".utf8), "another pinentry learns the key")
            }
        }
        if let keygrip = session.keygrip { hold(keygrip.utf8.count == 40, "a key without a keygrip") }
        if let name = session.keyName {
            hold(name.count <= PinentrySession.maximumNameCount, "a name that is too long")
        }
    }
}

private func text(_ bytes: Data) {
    var back = Data()
    hold(
        AssuanText.unescape(AssuanText.escaped(bytes), { back.append($0) }) && back == bytes, "text changes on its way")
    _ = AssuanText.unescaped(bytes)
    let reply = PinentryReply(bytes)
    hold(bytes.count <= AssuanText.maximumCount || reply == .malformed, "a line that is too long")
}

let pinentryTargets = [
    FuzzTarget(
        name: "pinentry",
        run: { bytes in
            session(bytes)
            text(bytes)
        },
        // The kept corpus has what gpg-agent 2.2.40 sends.
        seeds: {
            [
                "OPTION ttytype=xterm\nSETKEYINFO n/FBA64A015D759D0C719996BB819993C8922FE9C5\nSETDESC a%0Ab\nGETPIN\nBYE",
                "D pass%25word", "ERR 83886179 canceled <Pinentry>", "INQUIRE QUALITY a b", "S PASSWORD_FROM_CACHE",
            ].map { Data($0.utf8) }
        })
]
