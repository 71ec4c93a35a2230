import CHelperLines
import Foundation
import PAMChallenge

/// What the module in C reads of its helper: the same in whatever pieces it comes.
private func lines(_ bytes: Data) {
    func read(_ piece: Int) -> (result: CInt, shown: Int) {
        var shown = 0
        let result = bytes.withUnsafeBytes {
            helper_lines_result($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, piece, &shown)
        }
        return (result, shown)
    }
    let (whole, single) = (read(max(1, bytes.count)), read(1))
    hold(whole == single, "another result in pieces")
    hold(whole == read(7), "another result in pieces of seven")
    guard whole.result >= 0 else { return }
    hold(whole.result < 100, "a result of three digits")
    // Nothing but these bytes ends it: neither fewer nor more.
    hold(bytes.starts(with: Data("hello\n".utf8)) && bytes.last == 0x0A, "a result without a greeting or an end")
    hold(whole.shown <= bytes.count, "more text than there are bytes")
}

/// What root keeps of a user, and `/etc/passwd`.
private func files(_ bytes: Data) {
    if let keys = EnrolledKeys(file: bytes) {
        hold(EnrolledKeys(file: Data(keys.text.utf8)) == keys, "another enrolment")
        hold(keys.presence.publicKey != keys.unlocked.publicKey, "one key for both")
    }
    for name in ["root", "ada"] {
        guard let id = UserEntries.userID(of: name, in: bytes) else { continue }
        hold(bytes.range(of: Data("\(name):".utf8)) != nil, "a user who is not there")
        _ = UserEntries.name(of: id, in: bytes)
    }
}

let pamTargets = [
    FuzzTarget(
        name: "pam-helper",
        run: { bytes in
            lines(bytes)
            files(bytes)
        },
        seeds: {
            let keys = EnrolledKeys(
                user: "ada", presence: .init(publicKey: Data(repeating: 4, count: 65), blob: Data([1, 2, 3])),
                unlocked: .init(publicKey: Data(repeating: 5, count: 65), blob: Data([4, 5])))
            return [
                "hello\ntext Touch the fingerprint reader, or choose Use Password in the prompt.\nresult 0\n",
                "hello\nlog the device is locked\nresult 9\n", "hello\nerror No\nresult 10\n", keys.text,
                "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada:/home/ada:/bin/bash\n",
            ].map { Data($0.utf8) }
        })
]
