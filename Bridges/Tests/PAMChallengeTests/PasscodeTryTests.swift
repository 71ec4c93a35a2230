import Foundation
import PAMChallenge
import Testing

@Suite("The login password as the device's passcode, once")
struct PasscodeTryTests {
    private static let keys = EnrolledKeysTests.keys

    private static func note(_ failures: Int, _ keys: EnrolledKeys = keys) -> NotedTry {
        NotedTry(failures: failures, keys)
    }

    @Test("PM-24: only a rejected passcode is wrong, and only a refusal is not tried")
    func errors() {
        #expect(PasscodeTry(error: "io.touchstone.Device.PasscodeRejected") == .wrong)
        #expect(PasscodeTry(error: "io.touchstone.Device.Refused") == .notTried)
        for error in [nil, "io.touchstone.Keychain.Failed", "org.varlink.service.MethodNotFound", ""] {
            #expect(PasscodeTry(error: error) == .unknown)
        }
    }

    @Test("PM-24: after a try that nobody heard of there is another if no wrong passcode was counted since")
    func allows() {
        #expect(Self.note(2).allows(Self.note(2)))
        #expect(Self.note(2).allows(Self.note(0)))
        #expect(!Self.note(2).allows(Self.note(3)))
    }

    @Test("PM-24: there is no other if root has enrolled new keys since")
    func newKeys() {
        var others = Self.keys
        others.presence.blob = Data([9])
        #expect(!Self.note(0).allows(Self.note(0, others)))
    }

    @Test("PM-24: a note is read as it was written")
    func read() { #expect(NotedTry(Self.note(7).text) == Self.note(7)) }

    @Test("PM-24: anything else is no note", arguments: ["", "7", "7 ab", "-1 ab\n", "7 ab cd\n", "x ab\n", " 7 ab\n"])
    func malformed(text: String) { #expect(NotedTry(Data(text.utf8)) == nil) }
}
