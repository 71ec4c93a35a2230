public import Foundation

/// What a deployment asks for beside the password before a device may be registered (NP-20).
public protocol SecondFactor: Sendable {
    /// Called after the password was right.
    ///
    /// `answer`: the request's `secondFactor`, a code that the owner typed for example; nil if it had none.
    func accepts(_ answer: String?, account: String, userHandle: Data) async throws -> Bool
}
