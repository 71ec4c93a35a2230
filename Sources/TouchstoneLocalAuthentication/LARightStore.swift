public import Foundation
import TouchstoneSystem
internal import TouchstoneTransport

/// Keeps this app's rights, from one start to the next.
///
/// A right is stored in the keychain, in the app's own access group: as a key of the enclave under the
/// access control that says what the right requires, and a record with the secret, encrypted to the key. Both are lost when the passcode is
/// removed. No other app sees them.
///
/// An identifier stands for one right. A right that is saved under a used identifier replaces the other right, whose key and secret are
/// lost for good. This is one step: a crash leaves the one or the other, and if two are saved at once, the later one stays.
///
/// > Source: EV-64. Without a device: `errSecNotAvailable` in `NSOSStatusErrorDomain`.
///
/// > Concurrency: Every member may be used from any thread; completions run on a thread of their own. Not declared `Sendable`, as
/// > Apple's is not.
public final class LARightStore: NSObject {
    private override init() {}

    // Unsafe for the compiler only: it has no state.
    private nonisolated(unsafe) static let store = LARightStore()

    /// The store of this app.
    public static var shared: LARightStore { unsafe store }

    // MARK: - Finding

    /// Finds a saved right, which is not authorised, without a prompt.
    ///
    /// - Parameters:
    ///   - identifier: Its identifier.
    ///   - handler: Gets the right, or an error: `errSecItemNotFound` if there is none, or it is gone with the passcode.
    public func right(
        forIdentifier identifier: String,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        run({ try StoredRight.find(identifier, on: $0) }) { handler($0.value.map(LAPersistedRight.init), $0.failure) }
    }

    /// Finds a saved right, which is not authorised, without a prompt.
    ///
    /// - Parameter identifier: Its identifier.
    /// - Returns: The right.
    /// - Throws: The errors of the version with a completion handler.
    @discardableResult
    public func right(forIdentifier identifier: String) async throws -> LAPersistedRight {
        LAPersistedRight(try await run { try StoredRight.find(identifier, on: $0) })
    }

    // MARK: - Saving

    /// Saves a right with a key of its own, without a prompt.
    ///
    /// - Parameters:
    ///   - right: The right: its requirement is saved, not what was proven.
    ///   - identifier: Its identifier; a right that has it is replaced.
    ///   - handler: Gets the right as it was saved, or an error: `errSecAuthFailed` if the device has no passcode, or nothing is
    ///     enrolled that the right wants.
    public func saveRight(
        _ right: LARight, identifier: String,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        save(right, identifier, nil, handler)
    }

    /// Saves a right with a key of its own, without a prompt.
    ///
    /// - Parameters:
    ///   - right: The right: its requirement is saved, not what was proven.
    ///   - identifier: Its identifier; a right that has it is replaced.
    /// - Returns: The right as it was saved.
    /// - Throws: The errors of the version with a completion handler.
    @discardableResult
    public func saveRight(_ right: LARight, identifier: String) async throws -> LAPersistedRight {
        try await save(right, identifier, nil)
    }

    /// Saves a right with a key of its own and a secret, without a prompt.
    ///
    /// - Parameters:
    ///   - right: The right: its requirement is saved, not what was proven.
    ///   - identifier: Its identifier; a right that has it is replaced.
    ///   - secret: The secret, which cannot be changed.
    ///   - handler: As in the version without a secret.
    public func saveRight(
        _ right: LARight, identifier: String, secret: Data,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        save(right, identifier, secret, handler)
    }

    /// Saves a right with a key of its own and a secret, without a prompt.
    ///
    /// - Parameters:
    ///   - right: The right: its requirement is saved, not what was proven.
    ///   - identifier: Its identifier; a right that has it is replaced.
    ///   - secret: The secret, which cannot be changed.
    /// - Returns: The right as it was saved.
    /// - Throws: The errors of the version without a secret.
    @discardableResult
    public func saveRight(_ right: LARight, identifier: String, secret: Data) async throws -> LAPersistedRight {
        try await save(right, identifier, secret)
    }

    // MARK: - Removing

    /// Removes a right with its key and its secret, for good, without a prompt.
    ///
    /// - Parameters:
    ///   - right: The right.
    ///   - handler: Gets nil, or an error: `errSecItemNotFound` if it is gone already.
    public func removeRight(
        _ right: LAPersistedRight, completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        removeRight(forIdentifier: right.stored.identifier, completion: handler)
    }

    /// Removes a right with its key and its secret, for good, without a prompt.
    ///
    /// - Parameter right: The right.
    /// - Throws: The errors of the version with a completion handler.
    public func removeRight(_ right: LAPersistedRight) async throws {
        try await removeRight(forIdentifier: right.stored.identifier)
    }

    /// Removes a right with its key and its secret, for good, without a prompt.
    ///
    /// - Parameters:
    ///   - identifier: Its identifier.
    ///   - handler: Gets nil, or an error: `errSecItemNotFound` if there is none.
    public func removeRight(
        forIdentifier identifier: String, completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        run({ try StoredRight.remove(identifier, on: $0) }) { handler($0.failure) }
    }

    /// Removes a right with its key and its secret, for good, without a prompt.
    ///
    /// - Parameter identifier: Its identifier.
    /// - Throws: The errors of the version with a completion handler.
    public func removeRight(forIdentifier identifier: String) async throws {
        try await run { try StoredRight.remove(identifier, on: $0) }
    }

    /// Removes every right of this app, and no other's, without a prompt.
    ///
    /// - Parameter handler: Takes nil, also where there was none; or an error.
    public func removeAllRights(completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        run({ try StoredRight.removeAll(on: $0) }) { handler($0.failure) }
    }

    /// Removes every right of this app, and no other's, without a prompt.
    ///
    /// - Throws: The errors of the version with a completion handler.
    public func removeAllRights() async throws {
        try await run { try StoredRight.removeAll(on: $0) }
    }

    // MARK: - Inside

    private func save(
        _ right: LARight, _ identifier: String, _ secret: Data?,
        _ handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        let flags = right.authorization.flags
        run({ try StoredRight.save(flags, identifier, secret, on: $0) }) {
            handler($0.value.map(LAPersistedRight.init), $0.failure)
        }
    }

    private func save(_ right: LARight, _ identifier: String, _ secret: Data?) async throws -> LAPersistedRight {
        let flags = right.authorization.flags
        return LAPersistedRight(try await run { try StoredRight.save(flags, identifier, secret, on: $0) })
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (any VarlinkEndpoint) throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        let endpoint = DeviceEndpoint.current()
        OwnThread.run(on: endpoint, { try body(endpoint) }, completion: completion)
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (any VarlinkEndpoint) throws -> Result
    ) async throws -> Result {
        let endpoint = DeviceEndpoint.current()
        return try await OwnThread.run(on: endpoint) { try body(endpoint) }
    }
}
