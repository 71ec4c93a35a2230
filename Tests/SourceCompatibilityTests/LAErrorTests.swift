import Foundation
import LocalAuthentication
import Testing

/// The ways in which code looks at an error of ours, which is an `NSError` (point 4 of the source-compatibility table).
@Suite struct LAErrorTests {
    /// An error as the API makes it: of a context that was invalidated.
    private func invalidContext() async -> any Error {
        let context = LAContext()
        context.invalidate()
        do {
            _ = try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        } catch {
            return error
        }
        return NSError(domain: "none", code: 0)
    }

    @Test func errorIsCastToLAError() async {
        let error = await invalidContext()
        #expect((error as? LAError)?.code == .invalidContext)
        #expect((error as NSError as? LAError)?.code == .invalidContext)
        #expect((error as NSError).domain == LAErrorDomain)
        #expect((error as NSError).code == Int(kLAErrorInvalidContext))
        #expect(NSError(domain: "other", code: -10) as? LAError == nil)
    }

    @Test func errorIsCaughtByItsCode() async {
        do {
            throw await invalidContext()
        } catch LAError.userCancel {
            Issue.record("a different code")
        } catch LAError.invalidContext {
        } catch {
            Issue.record("not caught")
        }
    }

    @Test func errorIsCaughtAsItsType() async {
        do {
            throw await invalidContext()
        } catch let error as LAError {
            #expect(error.code == .invalidContext)
            #expect(error.errorCode == -10)
        } catch {
            Issue.record("not caught")
        }
    }

    @Test func errorIsCaughtAsNSError() async {
        do {
            throw await invalidContext()
        } catch let error as NSError {
            #expect(error.code == -10)
            #expect(error.userInfo[NSDebugDescriptionErrorKey] as? String == "The context was invalidated.")
            #expect(error.localizedDescription == "Invalid context.")
        }
    }

    @Test func errorIsMatchedInASwitch() async {
        switch await invalidContext() {
        case LAError.userCancel: Issue.record("a different code")
        case LAError.invalidContext: break
        default: Issue.record("not matched")
        }
        let error = await invalidContext()
        if case LAError.invalidContext = error {} else { Issue.record("not matched") }
    }

    @Test func errorsOfTheCallersMakingBehaveTheSame() {
        let made: any Error = LAError(.userCancel, userInfo: [NSLocalizedDescriptionKey: "mine"])
        #expect((made as NSError).code == -2)
        #expect((made as NSError).domain == "com.apple.LocalAuthentication")
        #expect(made.localizedDescription == "mine")
        #expect((made as? LAError)?.code == .userCancel)
        #expect(throws: LAError(.userFallback)) { throw LAError(.userFallback) }
    }

    @Test func codesHaveApplesValues() {
        #expect(LAError.Code(rawValue: -2) == .userCancel)
        #expect(LAError.Code(rawValue: Int(kLAErrorBiometryLockout)) == .biometryLockout)
        #expect(LAError.Code.biometryNotAvailable == .touchIDNotAvailable)
        #expect(LAError.Code.watchNotAvailable == .companionNotAvailable)
        #expect(LAError.Code(rawValue: 1) == nil)
        let constants: [(Int32, LAError.Code)] = [
            (kLAErrorAuthenticationFailed, .authenticationFailed), (kLAErrorUserCancel, .userCancel),
            (kLAErrorUserFallback, .userFallback), (kLAErrorSystemCancel, .systemCancel),
            (kLAErrorPasscodeNotSet, .passcodeNotSet), (kLAErrorBiometryNotAvailable, .biometryNotAvailable),
            (kLAErrorBiometryNotEnrolled, .biometryNotEnrolled), (kLAErrorBiometryLockout, .biometryLockout),
            (kLAErrorAppCancel, .appCancel), (kLAErrorInvalidContext, .invalidContext),
            (kLAErrorCompanionNotAvailable, .companionNotAvailable), (kLAErrorNotInteractive, .notInteractive),
        ]
        for (constant, code) in constants { #expect(Int(constant) == code.rawValue) }
        #expect(kLAPolicyDeviceOwnerAuthentication == Int32(LAPolicy.deviceOwnerAuthentication.rawValue))
        #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    }
}
