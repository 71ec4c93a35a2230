package import Foundation
package import TouchstoneCore
internal import TouchstoneCoreFoundation
package import TouchstoneInterfaces
internal import TouchstoneTransport

/// Every error that a function hands out in words: the one place where they are made.
///
/// What was to be done and why it was not, under the key of Foundation and under that of Core Foundation.
extension NSError {
    /// A status, with what is behind it where there is more to tell.
    ///
    /// - Parameters:
    ///   - failure: Anything that a call has thrown.
    ///   - operation: What was to be done, as the beginning of a sentence.
    /// - Returns: The error, in `NSOSStatusErrorDomain`.
    package static func status(_ failure: any Error, in operation: String) -> NSError {
        let status = Status(failure: failure)
        let cause = token(failure, in: operation)
        let reason = cause?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
        var userInfo = words(operation, reason ?? SecCopyErrorMessageString(status.rawValue, nil) as String?)
        userInfo[NSUnderlyingErrorKey] = cause
        return NSError(domain: NSOSStatusErrorDomain, code: Int(status.rawValue), userInfo: userInfo)
    }

    /// What came of the use of a key: the token's own error, else a status (AC-45).
    static func keyUse(_ failure: any Error, in operation: String) -> NSError {
        token(failure, in: operation) ?? status(failure, in: operation)
    }

    /// What the device said, as LocalAuthentication hands it out: the code, few words for the owner, the device's own for a developer (A.5).
    package static func localAuthentication(_ failure: AuthenticationInterface.Failed) -> NSError {
        NSError(
            domain: "com.apple.LocalAuthentication", code: failure.code.rawValue,
            userInfo: [
                NSLocalizedDescriptionKey: failure.code.localizedDescription,
                NSDebugDescriptionErrorKey: failure.message,
            ])
    }

    /// What the enclave, or whoever asks the owner for it, has a code of its own for: why the owner's proof was not had, or that a key can
    /// never be used again (AC-52).
    private static func token(_ failure: any Error, in operation: String) -> NSError? {
        if let failed = AuthenticationInterface.Failed(behind: failure) {
            let error = localAuthentication(failed)
            let described = words(operation, failed.code.localizedDescription)
            // The short words stay: apps show them.
            return NSError(
                domain: error.domain, code: error.code, userInfo: described.merging(error.userInfo) { $1 })
        }
        guard (failure as? RemoteError)?.as(KeyInterface.Invalidated.self) != nil else { return nil }
        let reason = "The fingers, faces or passcode to which the key was bound have changed."
        return NSError(domain: "CryptoTokenKit", code: -3, userInfo: words(operation, reason))
    }

    private static func words(_ operation: String, _ reason: String?) -> [String: Any] {
        let reason = reason ?? "The reason is not known."
        let description = operation.prefix(1).uppercased() + operation.dropFirst() + " failed: " + reason
        return [
            NSLocalizedDescriptionKey: description, NSLocalizedFailureReasonErrorKey: reason,
            // kCFErrorDescriptionKey
            "NSDescription": description,
        ]
    }
}

extension AuthenticationInterface.Failed {
    /// Why the owner's proof was not had, or counts for nothing; nil for any other failure.
    package init?(behind failure: any Error) {
        if let failed = failure as? Self ?? (failure as? RemoteError)?.proofNotGiven?.failed {
            self = failed
        } else if (failure as? RemoteError)?.as(KeyInterface.Failed.self)?.reason
            == RefusalCause.operationNotGranted.rawValue
        {
            self.init(.operationNotGranted)
        } else {
            return nil
        }
    }

    /// Of an answer that came without words.
    package init(_ code: AuthenticationFailure) { self.init(code, code.localizedDescription) }
}

extension AuthenticationFailure {
    /// What `localizedDescription` says: as little as Apple's does (A.5).
    fileprivate var localizedDescription: String {
        switch self {
        case .authenticationFailed: "Authentication failed."
        case .userCancel, .userFallback, .systemCancel, .appCancel: "Authentication canceled."
        case .passcodeNotSet: "Passcode not set."
        case .biometryNotAvailable: "Biometry is not available."
        case .biometryNotEnrolled: "No identities are enrolled."
        case .biometryLockout: "Biometry is locked out."
        case .invalidContext: "Invalid context."
        case .companionNotAvailable: "No companion is available."
        case .notInteractive: "User interaction required."
        case .operationNotGranted: "The access control does not grant this operation."
        }
    }
}

/// What a function returns, or nil with its failure where the caller looks for it.
///
/// - Parameters:
///   - error: Where that is.
///   - operation: What is to be done, as the beginning of a sentence.
///   - form: What the failure becomes.
///   - body: Does it.
/// - Returns: What `body` returns; nil if it throws.
func storing<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, in operation: @autoclosure () -> String,
    as form: (any Error, String) -> NSError = NSError.status, _ body: () throws -> Result
) -> Result? {
    do {
        return try body()
    } catch let failure {
        unsafe error?.pointee = unsafe Unmanaged.passRetained(form(failure, operation()))
        return nil
    }
}
