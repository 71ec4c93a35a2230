import Foundation

/// What it means for the key that its use failed: the one place where errors of the keychain and of LocalAuthentication are read.
enum KeyUseFailure: Error, Equatable {
    /// The key can never be used again (AC-52); only this deletes it.
    case invalidated
    /// There is no such key.
    case missing
    /// Anything else, which says nothing about the key (AC-53, EV-55).
    case other(SignInError)

    /// - Parameter error: Of `SecKeyCreateSignature` or `SecKeyCreateRandomKey`, with what is underneath.
    init(_ error: NSError) {
        var chain: [NSError] = []
        var next: NSError? = error
        while let current = next, chain.count < Self.maximumDepth {
            chain.append(current)
            next = current.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        // Apple's keystore says so with CryptoTokenKit's -3, sometimes at the top, sometimes underneath -25293 or -50; Touchstone at the top.
        if chain.contains(where: { $0.domain == "CryptoTokenKit" && $0.code == -3 }) {
            self = .invalidated
        } else if let authentication = chain.last(where: { $0.domain == Self.authenticationDomain }) {
            self = .other(Self.failure(authentication: authentication.code))
        } else if chain.contains(where: { $0.domain == "CryptoTokenKit" && $0.code == -4 }) {
            self = .other(.cancelled)
        } else if let status = chain.first(where: { $0.domain == NSOSStatusErrorDomain }) {
            self.init(status: Int32(truncatingIfNeeded: status.code))
        } else {
            // Another domain's number is no status, whatever it is.
            self = .other(.keychain(Self.internalError))
        }
    }

    /// - Parameter status: An `OSStatus` that comes with nothing more.
    init(status: Int32) {
        switch status {
        case -25300: self = .missing
        case -128: self = .other(.cancelled)
        case -25308: self = .other(.notAvailable(Self.nobodyToAsk))
        case -25291: self = .other(.notAvailable("the device is off or does not exist; 'touchstone doctor' says more"))
        case -25293:
            self = .other(
                .notAvailable("the owner could not be asked; set a passcode and enrol a finger"))
        default: self = .other(.keychain(status))
        }
    }

    /// What an error of LocalAuthentication means for a sign-in.
    static func failure(authentication error: NSError) -> SignInError {
        guard error.domain == authenticationDomain else {
            return .notAvailable("the device cannot ask its owner now")
        }
        return failure(authentication: error.code)
    }

    /// What an `LAError` of this code means for a sign-in.
    static func failure(authentication code: Int) -> SignInError {
        switch code {
        case -1: .notRecognised
        // The owner's decision: a sign-in has no other way to offer as the fallback.
        case -2, -3: .cancelled
        // The system, the app, an invalidated context: nothing that the owner has decided.
        case -4, -9, -10: .notAvailable("the prompt ended before the owner answered; try again")
        case -8: .lockedOut
        case -5: .notAvailable("no passcode is set on this device; set one, and enrol a finger or a face")
        case -6: .notAvailable("there is no sensor for fingers or faces, or it does not work")
        case -7: .notAvailable("no finger or face is enrolled on this device")
        case -1004: .notAvailable(nobodyToAsk)
        default: .notAvailable("the device cannot ask its owner now (\(code))")
        }
    }

    private static let nobodyToAsk =
        "the owner cannot be asked now; unlock the device, and start an agent that shows its prompts"
    private static let authenticationDomain = "com.apple.LocalAuthentication"
    /// `errSecInternalError`.
    private static let internalError: Int32 = -26276
    private static let maximumDepth = 4
}
