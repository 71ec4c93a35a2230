public import Foundation
internal import TouchstoneCoreFoundation
public import TouchstoneSecurity

/// The private half of a right's key.
///
/// It never leaves the enclave, and can be used while the right is authorised.
///
/// > Concurrency: Every member may be used from any thread; completions run on a thread of their own. Not declared `Sendable`, as
/// > Apple's is not.
public final class LAPrivateKey: NSObject {
    private let right: StoredRight

    /// The public half.
    public let publicKey: LAPublicKey

    init(_ right: StoredRight) {
        self.right = right
        publicKey = LAPublicKey(right.publicKey)
    }

    // MARK: - Signing

    /// Signs, without a prompt.
    ///
    /// - Parameters:
    ///   - data: The message or the digest.
    ///   - algorithm: One for which `canSign(using:)` says yes.
    ///   - handler: Gets the signature, or an error: `LAError.notInteractive` if the right is not authorised, `errSecParam` where
    ///     the key does not support the algorithm.
    public func sign(
        _ data: Data, algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        run({ try $0.signature(data, algorithm) }, handler)
    }

    /// Signs, without a prompt.
    ///
    /// - Parameters:
    ///   - data: The message or the digest.
    ///   - algorithm: One for which `canSign(using:)` says yes.
    /// - Returns: The signature.
    /// - Throws: The errors of the version with a completion handler.
    @discardableResult
    public func sign(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await run { try $0.signature(data, algorithm) }
    }

    /// Whether the key signs with an algorithm.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: Whether it does.
    @discardableResult
    public func canSign(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .sign, algorithm)
    }

    // MARK: - Decrypting

    /// Decrypts, without a prompt.
    ///
    /// - Parameters:
    ///   - data: The ciphertext.
    ///   - algorithm: The one that encrypted.
    ///   - handler: Gets the plaintext, or an error: `LAError.notInteractive` if the right is not authorised, `errSecParam` for
    ///     anything that was not encrypted to this key.
    public func decrypt(
        _ data: Data, algorithm: SecKeyAlgorithm,
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        run({ try $0.plaintext(data, algorithm) }, handler)
    }

    /// Decrypts, without a prompt.
    ///
    /// - Parameters:
    ///   - data: The ciphertext.
    ///   - algorithm: The one that encrypted.
    /// - Returns: The plaintext.
    /// - Throws: The errors of the version with a completion handler.
    @discardableResult
    public func decrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await run { try $0.plaintext(data, algorithm) }
    }

    /// Whether the key decrypts with an algorithm.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: Whether it does.
    @discardableResult
    public func canDecrypt(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .decrypt, algorithm)
    }

    // MARK: - Agreeing on a secret

    /// Agrees on a secret with the holder of another key, without a prompt.
    ///
    /// - Parameters:
    ///   - publicKey: The other's public key: `04 ‖ X ‖ Y`, of P-256.
    ///   - algorithm: One for which `canExchangeKeys(using:)` says yes.
    ///   - parameters: As those of `SecKeyCopyKeyExchangeResult`, by the parameter's `rawValue`.
    ///   - handler: Gets the secret, or an error: `LAError.notInteractive` if the right is not authorised, `errSecParam` where
    ///     something does not fit.
    public func exchangeKeys(
        publicKey: Data, algorithm: SecKeyAlgorithm, parameters: [AnyHashable: Any],
        completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        let parameters = KeyExchangeParameters(parameters)
        run({ try $0.sharedSecret(publicKey, algorithm, parameters) }, handler)
    }

    /// Agrees on a secret with the holder of another key, without a prompt.
    ///
    /// - Parameters:
    ///   - publicKey: The other's public key: `04 ‖ X ‖ Y`, of P-256.
    ///   - algorithm: One for which `canExchangeKeys(using:)` says yes.
    ///   - parameters: As those of `SecKeyCopyKeyExchangeResult`, by the parameter's `rawValue`.
    /// - Returns: The secret.
    /// - Throws: The errors of the version with a completion handler.
    @discardableResult
    public func exchangeKeys(
        publicKey: Data, algorithm: SecKeyAlgorithm, parameters: [AnyHashable: Any]
    ) async throws -> Data {
        let parameters = KeyExchangeParameters(parameters)
        return try await run { try $0.sharedSecret(publicKey, algorithm, parameters) }
    }

    /// Whether the key takes part in an exchange with an algorithm.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: Whether it does.
    @discardableResult
    public func canExchangeKeys(using algorithm: SecKeyAlgorithm) -> Bool {
        SecKeyIsAlgorithmSupported(right.privateKey, .keyExchange, algorithm)
    }

    // MARK: - Inside

    private func run(
        _ body: @escaping @Sendable (StoredRight) throws -> Data,
        _ handler: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        OwnThread.run(on: right.authorization.endpoint) { [right] in
            try body(right)
        } completion: { result in
            handler(result.value, result.failure)
        }
    }

    private func run(_ body: @escaping @Sendable (StoredRight) throws -> Data) async throws -> Data {
        try await OwnThread.run(on: right.authorization.endpoint) { [right] in try body(right) }
    }
}

/// The parameters of an exchange, as values that may go to another thread.
private struct KeyExchangeParameters: Sendable {
    private var numbers: [String: Int] = [:]
    private var data: [String: Data] = [:]
    /// Something that no parameter is: the call is refused.
    private var isMalformed = false

    init(_ parameters: [AnyHashable: Any]) {
        for (key, value) in parameters {
            let name: String? =
                switch key.base {
                case let parameter as SecKeyKeyExchangeParameter: parameter.rawValue as String
                case let name as String: name
                case let name as NSString: name as String
                default: nil
                }
            switch (name, value) {
            case (let name?, let value as Data): data[name] = value
            case (let name?, let value as NSData): data[name] = value as Data
            case (let name?, let value as Int): numbers[name] = value
            case (let name?, let value as NSNumber): numbers[name] = value.intValue
            default: isMalformed = true
            }
        }
    }

    func dictionary() throws -> CFDictionary {
        guard !isMalformed else { throw StoredRight.failure(errSecParam) }
        let result = NSMutableDictionary()
        for (name, number) in numbers { result[name as NSString] = NSNumber(value: number) }
        for (name, data) in data { result[name as NSString] = data as NSData }
        return result
    }
}

extension StoredRight {
    fileprivate func signature(_ data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try unsafe withPrivateKey { unsafe SecKeyCreateSignature($0, algorithm, data as NSData, &$1) }
    }

    fileprivate func plaintext(_ data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try unsafe withPrivateKey { unsafe SecKeyCreateDecryptedData($0, algorithm, data as NSData, &$1) }
    }

    fileprivate func sharedSecret(
        _ publicKey: Data, _ algorithm: SecKeyAlgorithm, _ parameters: KeyExchangeParameters
    ) throws -> Data {
        let parameters = try parameters.dictionary()
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
        ]
        let other = try unsafe Self.unwrapping {
            unsafe SecKeyCreateWithData(publicKey as NSData, attributes as CFDictionary, &$0)
        }
        return try unsafe withPrivateKey {
            unsafe SecKeyCopyKeyExchangeResult($0, algorithm, other, parameters, &$1)
        }
    }
}
