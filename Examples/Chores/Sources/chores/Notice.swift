import CryptoKit
import Foundation
import LocalAuthentication
import Security

/// What the page tells its reader.
struct Notice: Codable, Equatable {
    let text: String
    /// Whether the way on is the app's password.
    var asksForPassword = false

    init(_ text: String, asksForPassword: Bool = false) {
        self.text = text
        self.asksForPassword = asksForPassword
    }

    /// What became of an evaluation: each way that it can end has words of its own.
    init(evaluation error: any Error) {
        self =
            switch (error as? LAError)?.code {
            case .userCancel: .init("You cancelled. Nothing was changed.")
            case .userFallback: .init("Enter the Chores password.", asksForPassword: true)
            case .authenticationFailed:
                .init("Not recognised. Try again, or use the Chores password.", asksForPassword: true)
            case .biometryLockout:
                .init(
                    "Not recognised too many times. Unlock the device with its passcode first, or use the Chores password.",
                    asksForPassword: true)
            case .biometryNotEnrolled:
                .init("No finger or face is enrolled on this device. Use the Chores password.", asksForPassword: true)
            case .biometryNotAvailable:
                .init(
                    "Chores may not use the sensor, or there is no sensor. Use the Chores password.",
                    asksForPassword: true)
            case .passcodeNotSet:
                .init(
                    "The device has no passcode, so no finger counts. Use the Chores password.", asksForPassword: true)
            case .appCancel: .init("Stopped waiting. Nothing was changed.")
            case .systemCancel: .init("Something else came first. Try again.")
            case .notInteractive:
                .init(
                    "The owner cannot be asked, because no agent shows the device's prompts or Chores is in the background."
                )
            case .invalidContext: .init("The device was restarted meanwhile. Try again.")
            default: .init("That did not work (\(error)).")
            }
    }

    /// Why a key did not sign.
    init(signing error: any Error) {
        let isKeyGone = if case .unwrapFailure? = error as? CryptoKitError { true } else { false }
        self =
            isKeyGone
            ? .init(
                "The key was lost when the enrolled fingers changed. Use the Chores password.", asksForPassword: true)
            : .init("You are signed out, because the device was locked or restarted. Sign in again.")
    }

    /// Why a password did not open its key.
    init(password error: any Error) {
        self =
            switch error {
            case LAError.authenticationFailed: .init("That is not the Chores password.", asksForPassword: true)
            case is Owner.PasswordNotTaken:
                .init("The device accepts no password now, because too many were wrong or it is off. Wait a minute.")
            case CryptoKitError.underlyingCoreCryptoError(errSecInteractionNotAllowed):
                .init("The device is locked. Unlock it first.")
            default: .init("That did not work (\(error)).")
            }
    }

    static let otherEnrolledSet = Notice(
        "The enrolled fingers or faces have changed, so you are signed out. Sign in with the Chores password.",
        asksForPassword: true)

    /// Why there is no list to show.
    static func unreadable(_ error: any Error) -> Notice {
        if error is ChoreList.NotSigned { return .init("The list was changed by somebody who is not the owner.") }
        let error = error as NSError
        if error.domain == NSOSStatusErrorDomain, error.code == Int(errSecInteractionNotAllowed) {
            return .init("The device was restarted. Unlock it once with the passcode to see the chores.")
        }
        if error is DecodingError {
            return .init("The chores cannot be read, because what is stored under their name is not a list.")
        }
        return .init("The chores cannot be read, because the device does not answer or is off.")
    }
}
