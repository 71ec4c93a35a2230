import Foundation
import PAMChallenge
import Testing

@Suite("The file that root keeps of a user (PM-1)")
struct EnrolledKeysTests {
    static let keys = EnrolledKeys(
        user: "ada", presence: .init(publicKey: Data(repeating: 4, count: 65), blob: Data([1, 2, 3])),
        unlocked: .init(publicKey: Data(repeating: 5, count: 65), blob: Data([4, 5])))

    @Test("PM-1: what is written is read")
    func whatIsWrittenIsRead() { #expect(EnrolledKeys(file: Data(Self.keys.text.utf8)) == Self.keys) }

    @Test("PM-1: anything else is refused", arguments: 0..<12)
    func anythingElseIsRefused(fault: Int) {
        var text = Self.keys.text
        let lines = text.split(separator: "\n").map(String.init)
        switch fault {
        case 0: text = ""
        case 1: text.removeLast()
        case 2: text += "more\n"
        case 3: text = text.replacing("PAM 1", with: "PAM 2")
        case 4: text = text.replacing("user ada", with: "user ")
        case 5: text = text.replacing("presence ", with: "presence  ")
        case 6: text = text.replacing("unlocked ", with: "Unlocked ")
        // The key that asks nobody, in the place of the one that asks.
        case 7:
            text = [lines[0], lines[1], lines[3].replacing("unlocked", with: "presence"), lines[3], ""].joined(
                separator: "\n")
        case 8: text = [lines[0], lines[1], lines[3], lines[2], ""].joined(separator: "\n")
        case 9: text = text.replacing(" AQID", with: " ")
        case 10: text = text.replacing(" AQID", with: " AQ*D")
        default: text = String(repeating: "x", count: EnrolledKeys.largestFile) + "\n"
        }
        #expect(EnrolledKeys(file: Data(text.utf8)) == nil)
    }

    @Test("PM-1: every cut and every changed byte is read or refused, and never breaks anything")
    func everyCutIsSurvived() {
        let bytes = Data(Self.keys.text.utf8)
        for index in bytes.indices {
            #expect(EnrolledKeys(file: bytes[..<index]) == nil)
            var changed = bytes
            changed[index] ^= 0x80
            #expect(EnrolledKeys(file: changed) == nil)
        }
    }

    static let passwd = Data(
        """
        root:x:0:0:root:/root:/bin/bash
        ada:x:1000:1000:Ada:/home/ada:/bin/bash
        +bob
        short:x:1001:1001
        odd:x:0x3E8:1000::/:/bin/sh
        huge:x:99999999999:1000::/:/bin/sh
        ada:x:1002:1000:Another:/home/ada:/bin/bash

        """.utf8)

    @Test("PM-4: a user is the first line of /etc/passwd with the name")
    func usersAreFound() {
        #expect(UserEntries.userID(of: "ada", in: Self.passwd) == 1000)
        #expect(UserEntries.userID(of: "root", in: Self.passwd) == 0)
    }

    @Test(
        "PM-4: whoever /etc/passwd does not have is nobody",
        arguments: ["", "+bob", "bob", "short", "odd", "huge", "Ada", "ada:x"])
    func othersAreNobody(name: String) { #expect(UserEntries.userID(of: name, in: Self.passwd) == nil) }
}
