import Foundation
import TouchstoneCore

@testable import Command
@testable import TouchstoneDevice
@testable import TouchstonePeers
@testable import TouchstoneSensors

private func assuan(_ bytes: Data) {
    let buffer = PasscodeBuffer()
    _ = bytes.withUnsafeBytes { AssuanLine.read($0, data: buffer) }
    // What we say is one line, and comes back as it was unless it was cut.
    let text = String(decoding: bytes, as: UTF8.self)
    let line = AssuanLine.command("D", text)
    hold(line.count <= AssuanLine.maximumBytes && !line.contains(0x0A) && !line.contains(0x0D), "more than one line")
    let echo = PasscodeBuffer()
    let reply = line.withUnsafeBytes { AssuanLine.read($0, data: echo) }
    hold(reply == .data, "our own line cannot be read: \(reply)")
    if text.utf8.count <= SealedPasscode.maximumPasscodeLength {
        hold(echo.withUnsafeBytes { Data($0) } == Data(text.utf8), "text changes on its way")
    }
    let plain = PlainText.line(text)
    hold(
        PlainText.line(plain) == plain || text.unicodeScalars.count > PlainText.maximumLength,
        "not plain the first time")
    hold(PlainText.quotable(text, bytes: 100).utf8.count <= 100, "longer than it may be")
    _ = PlainText.wrap(plain, columns: 20)
}

private func process(_ bytes: Data) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let status = ProcessStatus(text) { hold(text.contains("(\(status.name))"), "a name that is not there") }
    if let session = ProcessOrigin.session(ofControlGroup: text, user: 1000) {
        hold(!session.isEmpty && session.utf8.allSatisfy { $0 > 0x2F && $0 < 0x7B }, "a session that is no name")
    }
    hold(ProcessStatus.terminal(UInt32(truncatingIfNeeded: bytes.hashValue)) != "", "a terminal without a name")
}

private func pam(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    // However it comes in.
    func result(_ size: Int) -> (PAMLook.Result?, Int) {
        var (lines, retries, rest) = (PAMLines(), 0, rest[...])
        while !rest.isEmpty {
            let part = rest.prefix(size)
            rest = rest.dropFirst(size)
            if let result = lines.take(part, retry: { retries += 1 }) { return (result, retries) }
        }
        return (nil, retries)
    }
    let (one, other) = (result(Int(choice) + 1), result(1))
    // What is too long is told when it is: up to there the lines count in small pieces.
    if rest.count <= PAMLines.mostBytes { hold(one == other, "the pieces that it comes in make a difference") }
}

private func users(_ bytes: Data) {
    let path = "/dev/shm/touchstone-fuzz-users-\(getpid())"
    _ = FileManager.default.createFile(atPath: path, contents: bytes)
    defer { unlink(path) }
    let file = PasswordFile(path: path)
    if let name = file.name(of: 1000) {
        hold(!name.isEmpty && !name.contains("/") && name != "..", "a user without a name")
        hold(file.id(of: name) != nil, "a user without a number")
    }
}

let processTargets: [FuzzTarget] = [
    FuzzTarget(name: "assuan", run: assuan) {
        [
            "OK Pleased to meet you", "D pass%25word%0A", "ERR 83886179 canceled <Pinentry>", "INQUIRE X", "# c",
            "S BUTTON_INFO close",
        ]
        .map { Data($0.utf8) }
    },
    FuzzTarget(name: "process", run: process) {
        [
            "4242 (a (b) c) S 17 4242 4242 34816 5 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3",
            "12:pids:/x\n0::/user.slice/user-1000.slice/session-3.scope/more\n",
        ].map { Data($0.utf8) }
    },
    FuzzTarget(name: "pam", run: pam) {
        ["retry\nretry\nresult 0\n", "result 7\n", "result 9\n", "nonsense\n"].map { Data([3]) + Data($0.utf8) }
    },
    FuzzTarget(name: "users", run: users) {
        [Data("root:x:0:0:root:/root:/bin/sh\n# c\n+::::::\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\n".utf8)]
    },
]
