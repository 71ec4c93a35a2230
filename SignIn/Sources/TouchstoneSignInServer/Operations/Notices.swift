import Foundation
public import Logging
import TouchstoneSignInProtocol

/// What an owner should be told by a way that an attacker does not control: mail, a message (NP-22).
public enum SignInNotice: Sendable, Equatable {
    /// A device was registered; `replaced` if it had a key before. All active devices by name.
    case registered(device: String, replaced: Bool, devices: [String])
    case rotated(device: String)
    case revoked(device: String, RevocationReason)
    /// A refresh token came twice: somebody has a copy of it. The session is ended.
    case sessionCopied
}

/// Takes notices to the owners of accounts.
public protocol SignInNotifier: Sendable {
    /// Called once the thing is done; what it does may not undo it, and its time is the request's.
    func notify(_ notice: SignInNotice, account: String) async
}

/// Writes notices only into the log; a deployment brings a notifier that reaches people.
public struct LogNotifier: SignInNotifier {
    let logger: Logger

    /// With these values.
    public init(logger: Logger) { self.logger = logger }

    /// Into the log, with the account's name.
    public func notify(_ notice: SignInNotice, account: String) async {
        logger.notice("the owner should know", metadata: ["account": "\(account)", "notice": "\(notice)"])
    }
}

extension SignInServer {
    /// Never throws, because the notice comes after the change, and a failed notice must not fail the request.
    func notify(_ notice: SignInNotice, userHandle: Data) async {
        do {
            guard let account = try await store.account(userHandle: userHandle) else { return }
            await notifier.notify(notice, account: account.name)
        } catch {
            logger.error(
                "an owner was not told what is done",
                metadata: ["user": "\(userHandle.base64URL)", "notice": "\(notice)", "error": "\(error)"])
        }
    }
}
