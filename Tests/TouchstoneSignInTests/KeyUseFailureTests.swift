import Foundation
import Testing

@testable import TouchstoneSignIn

/// One reading of every failure of the keychain (AC-52, AC-53).
@Suite struct KeyUseFailureTests {
    private func error(_ domain: String, _ code: Int, _ underlying: NSError? = nil) -> NSError {
        NSError(domain: domain, code: code, userInfo: underlying.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }

    @Test("AC-52: CryptoTokenKit's -3 is the end of the key, wherever it stands")
    func invalidated() {
        let lost = error("CryptoTokenKit", -3, error("AKSError", -536_362_999))
        #expect(KeyUseFailure(lost) == .invalidated)
        for status in [-25293, -50] {
            #expect(KeyUseFailure(error(NSOSStatusErrorDomain, status, lost)) == .invalidated)
        }
    }

    @Test(
        "AC-53, EV-55: nothing else is",
        arguments: [
            -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -1004, -4711,
        ])
    func authentication(code: Int) {
        let known = KeyUseFailure(error(NSOSStatusErrorDomain, -25293, error("com.apple.LocalAuthentication", code)))
        #expect(known == .other(KeyUseFailure.failure(authentication: code)))
        #expect(known != .invalidated && known != .missing)
    }

    @Test func statuses() {
        let table: [(Int32, KeyUseFailure)] = [
            (-25300, .missing), (-128, .other(.cancelled)), (-50, .other(.keychain(-50))),
            (-34018, .other(.keychain(-34018))),
        ]
        for (status, expected) in table {
            #expect(KeyUseFailure(status: status) == expected)
            #expect(KeyUseFailure(error(NSOSStatusErrorDomain, Int(status))) == expected)
        }
        for status: Int32 in [-25293, -25308, -25291] {
            guard case .other(.notAvailable) = KeyUseFailure(status: status) else {
                Issue.record("\(status)")
                continue
            }
        }
        #expect(KeyUseFailure(error("CryptoTokenKit", -4)) == .other(.cancelled))
    }

    @Test("only the owner's own cancel counts as one", arguments: [-4, -9, -10])
    func endedBySomebodyElse(code: Int) {
        let failure = KeyUseFailure(error("com.apple.LocalAuthentication", code))
        guard case .other(.notAvailable) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(KeyUseFailure(error("com.apple.LocalAuthentication", -2)) == .other(.cancelled))
    }

    @Test("a number of another domain is no status", arguments: [-25300, -128, -2, -25293])
    func foreignDomain(code: Int) {
        #expect(KeyUseFailure(error(NSCocoaErrorDomain, code)) == .other(.keychain(-26276)))
        guard case .notAvailable = KeyUseFailure.failure(authentication: error(NSCocoaErrorDomain, code)) else {
            Issue.record("\(code)")
            return
        }
        // Underneath a foreign error there may be one.
        #expect(KeyUseFailure(error(NSCocoaErrorDomain, code, error(NSOSStatusErrorDomain, -25300))) == .missing)
    }
}
