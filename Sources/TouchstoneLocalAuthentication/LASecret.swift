public import Foundation

/// The secret of a right: read while the right is authorised.
///
/// > Concurrency: Every member may be used from any thread; completions run on a thread of their own. Not declared `Sendable`, as
/// > Apple's is not.
public final class LASecret: NSObject {
    private let right: StoredRight

    init(_ right: StoredRight) {
        self.right = right
    }

    /// Reads the secret, without a prompt.
    ///
    /// - Parameter handler: Gets the secret, or an error: `LAError.notInteractive` if the right is not authorised,
    ///   `errSecItemNotFound` if it was saved without a secret or is gone.
    public func loadData(completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        OwnThread.run(on: right.authorization.endpoint) { [right] in
            try right.secret()
        } completion: { result in
            handler(result.value, result.failure)
        }
    }

    /// The secret, without a prompt.
    ///
    /// - Throws: As `loadData(completion:)`.
    public var rawData: Data {
        get async throws {
            try await OwnThread.run(on: right.authorization.endpoint) { [right] in try right.secret() }
        }
    }
}
