public import Foundation
internal import TouchstoneCoreFoundation
public import TouchstoneSecurity
import TouchstoneSystem
internal import TouchstoneTransport

/// The public half of the key of a right: it can always be used.
///
/// > Concurrency: Every member may be used from any thread; completions run on a thread of their own. Not declared `Sendable`, as
/// > Apple's is not.
public final class LAPublicKey: NSObject {
    private let key: SecKey

    init(_ key: SecKey) {
        self.key = key
    }

    /// Gives the bytes of the key.
    ///
    /// - Parameter handler: Takes `04 ‖ X ‖ Y`, 65 bytes; or an error.
    public func exportBytes(completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        run({ try $0.exportedBytes() }) { handler($0.value, $0.failure) }
    }

    /// The bytes of the key: `04 ‖ X ‖ Y`, 65 bytes.
    public var bytes: Data {
        get async throws { try await run { try $0.exportedBytes() } }
    }

    /// Encrypts.
    ///
    /// - Parameters:
    ///   - data: What to encrypt.
    ///   - algorithm: One for which `canEncrypt(using:)` says yes.
    ///   - handler: Gets the ciphertext, or an error: `errSecParam` if the key does not support the algorithm.
    public func encrypt(
        _ data: Data, algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        run({ try $0.encrypted(data, algorithm) }) { handler($0.value, $0.failure) }
    }

    /// Encrypts.
    ///
    /// - Parameters:
    ///   - data: What to encrypt.
    ///   - algorithm: One for which `canEncrypt(using:)` says yes.
    /// - Returns: The ciphertext.
    /// - Throws: `errSecParam` if the key does not support the algorithm.
    @discardableResult
    public func encrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await run { try $0.encrypted(data, algorithm) }
    }

    /// Verifies.
    ///
    /// - Parameters:
    ///   - signedData: The message or the digest.
    ///   - signature: The signature.
    ///   - algorithm: The one that made the signature.
    ///   - handler: Gets nil, or an error: `errSecVerifyFailed` for any other signature, `errSecParam` if the key does not support the
    ///     algorithm.
    public func verify(
        _ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        run({ try $0.verify(signedData, signature, algorithm) }) { handler($0.failure) }
    }

    /// Verifies.
    ///
    /// - Parameters:
    ///   - signedData: The message or the digest.
    ///   - signature: The signature.
    ///   - algorithm: The one that made the signature.
    /// - Throws: `errSecVerifyFailed` for any other signature; `errSecParam` if the key does not support the algorithm.
    public func verify(_ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm) async throws {
        try await run { try $0.verify(signedData, signature, algorithm) }
    }

    /// Whether the key encrypts with an algorithm.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: Whether it does.
    @discardableResult
    public func canEncrypt(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(key, .encrypt, algorithm)
    }

    /// Whether the key verifies with an algorithm.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: Whether it does.
    @discardableResult
    public func canVerify(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(key, .verify, algorithm)
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (SecKey) throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        OwnThread.run(on: DeviceEndpoint.current(), { [key] in try body(key) }, completion: completion)
    }

    private func run<Result: Sendable>(_ body: @escaping @Sendable (SecKey) throws -> Result) async throws -> Result {
        try await OwnThread.run(on: DeviceEndpoint.current()) { [key] in try body(key) }
    }
}

extension SecKey {
    fileprivate func exportedBytes() throws -> Data {
        try unsafe StoredRight.unwrapping { unsafe SecKeyCopyExternalRepresentation(self, &$0) } as Data
    }

    fileprivate func encrypted(_ data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try unsafe StoredRight.unwrapping { unsafe SecKeyCreateEncryptedData(self, algorithm, data as NSData, &$0) }
            as Data
    }

    fileprivate func verify(_ signedData: Data, _ signature: Data, _ algorithm: SecKeyAlgorithm) throws {
        _ = try unsafe StoredRight.unwrapping { error in
            unsafe SecKeyVerifySignature(self, algorithm, signedData as NSData, signature as NSData, &error)
                ? true : nil
        }
    }
}
