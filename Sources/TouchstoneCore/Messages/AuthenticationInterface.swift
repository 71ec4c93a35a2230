package import Foundation

/// `io.touchstone.Authentication`: contexts, and evaluations that put a prompt before the owner.
package enum AuthenticationInterface {
    package static let name = "io.touchstone.Authentication"

    /// What a client wants of one evaluation.
    ///
    /// Everything in here is the app's claim.
    package struct Options: Codable, Hashable, Sendable {
        package var reason: String
        /// nil: the default title; empty: no fallback button (EV-14).
        package var fallbackTitle: String?
        /// nil or empty: the default title (EV-13).
        package var cancelTitle: String?
        /// Seconds, clamped to 0...300 on use (EV-42).
        package var reuseDuration: Double
        package var interactionNotAllowed: Bool
        /// Fail with `MissingUsageDescription` where Face ID would be used and the app does not say what for (CE-11); nil is false.
        package var isStrict: Bool?

        package init(
            reason: String, fallbackTitle: String? = nil, cancelTitle: String? = nil, reuseDuration: Double = 0,
            interactionNotAllowed: Bool = false, isStrict: Bool? = nil
        ) {
            self.reason = reason
            self.fallbackTitle = fallbackTitle
            self.cancelTitle = cancelTitle
            self.reuseDuration = reuseDuration
            self.interactionNotAllowed = interactionNotAllowed
            self.isStrict = isStrict
        }
    }

    /// Makes a context that lives until it is invalidated or the connection that made it closes.
    package enum CreateContext: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.CreateContext"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var context: String
            package init(context: String) { self.context = context }
        }
    }

    package enum InvalidateContext: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.InvalidateContext"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package init(context: String) { self.context = context }
        }
        package typealias Reply = Empty
    }

    /// Gives a context the application password, sealed to the enclave's key for this context, or takes it away (EV-60).
    package enum SetCredential: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.SetCredential"
        package struct Parameters: Codable, Sendable {
            package var context: String
            /// nil takes it away.
            package var credential: SealedPasscode?
            package init(context: String, credential: SealedPasscode?) {
                self.context = context
                self.credential = credential
            }
        }
        package typealias Reply = Empty
    }

    package enum IsCredentialSet: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.IsCredentialSet"
        package typealias Parameters = InvalidateContext.Parameters
        package struct Reply: Codable, Sendable {
            package var isSet: Bool
            package init(isSet: Bool) { self.isSet = isSet }
        }
    }

    package enum CanEvaluatePolicy: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.CanEvaluatePolicy"
        package struct Parameters: Codable, Sendable {
            /// nil asks for the device as such, without a context that could be invalid.
            package var context: String?
            package var policy: Policy
            package init(context: String?, policy: Policy) {
                self.context = context
                self.policy = policy
            }
        }
        package struct Reply: Codable, Sendable {
            /// nil: the policy can be evaluated.
            package var code: AuthenticationFailure?
            package var biometryType: BiometryType
            package var domainState: Data?
            package init(code: AuthenticationFailure?, biometryType: BiometryType, domainState: Data?) {
                self.code = code
                self.biometryType = biometryType
                self.domainState = domainState
            }
        }
    }

    /// Answers when the owner has, which may be never: closing the connection takes the prompt down.
    package enum EvaluatePolicy: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.EvaluatePolicy"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package var policy: Policy
            package var options: Options
            package init(context: String, policy: Policy, options: Options) {
                self.context = context
                self.policy = policy
                self.options = options
            }
        }
        package struct Reply: Codable, Sendable {
            package var domainState: Data?
            package init(domainState: Data?) { self.domainState = domainState }
        }
    }

    /// As `EvaluatePolicy`, for one operation of an access control (EV-62).
    package enum EvaluateAccessControl: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.EvaluateAccessControl"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package var accessControl: AccessControl
            package var operation: AccessControlOperation
            /// What the app calls the key it wants to use, for the owner to read.
            package var keyLabel: String?
            package var options: Options
            package init(
                context: String, accessControl: AccessControl, operation: AccessControlOperation,
                keyLabel: String? = nil, options: Options
            ) {
                self.context = context
                self.accessControl = accessControl
                self.operation = operation
                self.keyLabel = keyLabel
                self.options = options
            }
        }
        package typealias Reply = EvaluatePolicy.Reply
    }

    /// The app would use Face ID and has no usage description; told only to one that asked for it with `isStrict` (CE-11).
    package struct MissingUsageDescription: VarlinkError {
        package static let name = "io.touchstone.Authentication.MissingUsageDescription"
        package init() {}
    }

    /// The evaluation ended without success.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Authentication.Failed"
        package var code: AuthenticationFailure
        /// What went wrong, for a developer to read (A.5): match on the code, never on this.
        package var message: String
        /// A word of `RefusalCause`, or a newer one: why, where the code stands for several causes.
        package var reason: String?

        package init(_ code: AuthenticationFailure, _ message: String, _ cause: RefusalCause? = nil) {
            self.code = code
            self.message = message
            reason = cause?.rawValue
        }
    }
}
