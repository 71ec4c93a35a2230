import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// PC-06: what a passcode is made of, as its owner said.
@Suite(.timeLimit(.minutes(10))) struct PasscodeKindTests {
    private static let fitting: [(PasscodeKind, String)] = [
        (.fourDigit, "0000"), (.sixDigit, "123456"), (.numeric, "1234"), (.numeric, "31415926535"),
        (.alphanumeric, "1234"), (.alphanumeric, "correct horse"), (.alphanumeric, "١٢٣٤"),
    ]

    @Test("PC-06: a passcode of the kind that was said is set, and the kind is kept and told", arguments: fitting)
    func fits(kind: PasscodeKind, passcode: String) throws {
        let enclave = try RunningEnclave()
        #expect(try enclave.change(from: "1234", to: passcode, kind: kind) == .right)
        #expect(enclave.facts.passcodeKind == kind)
        try enclave.reboot()
        #expect(enclave.facts.passcodeKind == kind)
        #expect(try enclave.unlock(passcode) == .right)
        let shown = try enclave.host.change { now, time in
            _ = try now.begin(.deviceOwner, now: time)
            return (now.progress(of: try #require(now.evaluation), now: time).passcodeKind, [])
        }
        #expect(shown == kind, "for the prompt")
    }

    @Test(
        "PC-06: one of another kind is refused and the old one holds; digits of other scripts are no digits of a pad",
        arguments: [
            (.fourDigit, "12345"), (.fourDigit, "123a"), (.sixDigit, "1234"), (.sixDigit, "12345 "),
            (.numeric, "12-34"), (.numeric, "١٢٣٤"), (.numeric, "１２３４"), (.fourDigit, "１２３４"),
        ] as [(PasscodeKind, String)])
    func doesNotFit(kind: PasscodeKind, passcode: String) throws {
        let enclave = try RunningEnclave(kind: .numeric)
        #expect(try enclave.change(from: "1234", to: passcode, kind: kind) == .refused(.passcodeNotOfKind))
        #expect(enclave.facts.passcodeKind == .numeric && enclave.failures == 0)
        #expect(try enclave.unlock("1234") == .right)
    }

    @Test("PC-06: three digits or bytes are too few of any kind", arguments: PasscodeKind.allCases)
    func tooShort(kind: PasscodeKind) throws {
        let enclave = try RunningEnclave()
        #expect(try enclave.change(from: "1234", to: "123", kind: kind) == .refused(.passcodeTooShort))
    }

    @Test("PC-06: without a passcode there is no kind; a state from before there were kinds has any characters")
    func absent() throws {
        #expect(try Enclave.device(passcode: nil, fingers: 0).facts(app: "", now: 0).passcodeKind == nil)
        var old = try Enclave.device()
        old.state.passcode?.kind = nil
        #expect(try old.restarted().facts(app: "", now: 0).passcodeKind == .alphanumeric)
    }
}
