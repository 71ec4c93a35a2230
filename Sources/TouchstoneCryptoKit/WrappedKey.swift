internal import Crypto
internal import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneLocalAuthentication
internal import TouchstoneSecurity
internal import TouchstoneTransport

/// A private key of the enclave, of any kind: what an app keeps of it, its public half, and on which context its owner is asked.
struct WrappedKey: Sendable {
    let dataRepresentation: Data
    /// As `KeyInterface` encodes it.
    let publicKey: Data
    /// Immutable, and every member of a context may be used from any thread.
    nonisolated(unsafe) private let context: LAContext?

    /// Has the enclave make a key, of the app's first access group.
    init(_ kind: KeyInterface.Kind, _ accessControl: SecAccessControl, _ context: LAContext?) throws {
        let reply = try Self.call(KeyInterface.Create.self, context) {
            .init(
                kind: kind, accessControl: accessControl.value, accessGroup: nil, context: $0.context,
                options: $0.options)
        }
        dataRepresentation = reply.key
        publicKey = reply.publicKey
        unsafe self.context = context
    }

    /// Takes up a key of this kind; whether it is one says the enclave.
    init(_ kind: KeyInterface.Kind, _ dataRepresentation: Data, _ context: LAContext?) throws {
        guard dataRepresentation.count <= KeyInterface.Limits.keyBytes else { throw CryptoKitError.unwrapFailure }
        let reply = try Self.call(KeyInterface.Inspect.self, nil) { _ in .init(key: dataRepresentation) }
        guard reply.kind == kind else { throw CryptoKitError.unwrapFailure }
        self.dataRepresentation = dataRepresentation
        publicKey = reply.publicKey
        unsafe self.context = context
    }

    /// Has the enclave make a key of P-256.
    static func p256(
        _ isCompactRepresentable: Bool, _ accessControl: SecAccessControl, _ context: LAContext?
    ) throws -> WrappedKey {
        // Every second key is: one that is not was kept by nobody, and is gone.
        for _ in 0..<maximumTries {
            let key = try WrappedKey(.p256, accessControl, context)
            let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
            if !isCompactRepresentable || publicKey.compactRepresentation != nil { return key }
        }
        throw CryptoKitError.underlyingCoreCryptoError(error: Status.internalError.rawValue)
    }

    /// Signs a digest of 32 bytes.
    func signature(ofDigest digest: Data) throws -> Data {
        try unsafe Self.call(KeyInterface.Sign.self, context) {
            .init(key: dataRepresentation, data: digest, context: $0.context, options: $0.options)
        }.signature
    }

    func signature(for message: Data, context signatureContext: Data = Data()) throws -> Data {
        guard message.count <= KeyInterface.Limits.messageBytes,
            signatureContext.count <= KeyInterface.Limits.signatureContextBytes
        else { throw CryptoKitError.incorrectParameterSize }
        return try unsafe Self.call(KeyInterface.SignMessage.self, context) {
            .init(
                key: dataRepresentation, message: message, signatureContext: signatureContext, context: $0.context,
                options: $0.options)
        }.signature
    }

    func sharedSecret(with publicKey: Data) throws -> Data {
        try unsafe Self.call(KeyInterface.ExchangeKeys.self, context) {
            .init(
                key: dataRepresentation, publicKey: publicKey, operation: .useKeyKeyExchange, context: $0.context,
                options: $0.options)
        }.sharedSecret
    }

    func decapsulate(_ encapsulated: Data) throws -> SymmetricKey {
        var secret = try unsafe Self.call(KeyInterface.Decapsulate.self, context) {
            .init(key: dataRepresentation, encapsulated: encapsulated, context: $0.context, options: $0.options)
        }.sharedSecret
        defer { secret.resetBytes(in: 0..<secret.count) }
        return SymmetricKey(data: secret)
    }

    /// Calls the enclave, which has the owner asked; what is thrown is what an app catches.
    private static func call<M: VarlinkMethod>(
        _ method: M.Type, _ context: LAContext?, _ parameters: (CallAuthentication) -> M.Parameters
    ) throws -> M.Reply {
        do {
            // None of them changes anything that is kept.
            return try Authentication(context: context, operationPrompt: "use a key in the Secure Enclave")
                .call(method, as: "SecureEnclave key", isRepeatable: true, parameters)
        } catch {
            throw thrown(error)
        }
    }

    private static let maximumTries = 128
}
