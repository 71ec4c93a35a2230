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

    /// As apps write it: every case, and what may come.
    private func name(_ code: LAError.Code) -> String {
        switch code {
        case .authenticationFailed: "authenticationFailed"
        case .userCancel: "userCancel"
        case .userFallback: "userFallback"
        case .systemCancel: "systemCancel"
        case .passcodeNotSet: "passcodeNotSet"
        case .touchIDNotAvailable: "touchIDNotAvailable"
        case .touchIDNotEnrolled: "touchIDNotEnrolled"
        case .touchIDLockout: "touchIDLockout"
        case .appCancel: "appCancel"
        case .invalidContext: "invalidContext"
        case .companionNotAvailable: "companionNotAvailable"
        case .biometryNotPaired: "biometryNotPaired"
        case .biometryDisconnected: "biometryDisconnected"
        case .invalidDimensions: "invalidDimensions"
        case .notInteractive: "notInteractive"
        @unknown default: "unknown"
        }
    }

    @Test("A.4: a code without a name is kept, and traps nowhere", arguments: [-1009, -1000, 7, 0, .min, .max])
    func codesWithoutANameAreKept(number: Int) throws {
        let error: any Error = NSError(domain: LAErrorDomain, code: number)
        let code = try #require(error as? LAError).code
        #expect(code.rawValue == number && code == LAError.Code(rawValue: number))
        #expect(name(code) == "unknown")
        #expect((try #require(error as? LAError)).errorCode == number)
        #expect((LAError(code) as NSError).code == number)
        do {
            throw error
        } catch LAError.userCancel {
            Issue.record("a different code")
        } catch let error as LAError {
            #expect(error.code == code)
        }
    }

    @Test(
        "A.4: a code with a name is the case of that name, under the new name of biometry too",
        arguments: [
            (-1, "authenticationFailed"), (-2, "userCancel"), (-8, "touchIDLockout"), (-1004, "notInteractive"),
        ])
    func codesWithANameAreCases(number: Int, expected: String) throws {
        let error: any Error = NSError(domain: LAErrorDomain, code: number)
        #expect(name(try #require(error as? LAError).code) == expected)
        #expect(LAError.Code.biometryLockout.rawValue == -8 && LAError.Code.biometryLockout == .touchIDLockout)
    }

    @Test func codesHaveApplesValues() {
        #expect(LAError.Code(rawValue: -2) == .userCancel)
        #expect(LAError.Code(rawValue: Int(kLAErrorBiometryLockout)) == .biometryLockout)
        #expect(LAError.Code.biometryNotAvailable == .touchIDNotAvailable)
        #expect(LAError.Code.watchNotAvailable == .companionNotAvailable)
        // As Apple's, which is an open enumeration of C.
        #expect(LAError.Code(rawValue: 1)?.rawValue == 1)
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
