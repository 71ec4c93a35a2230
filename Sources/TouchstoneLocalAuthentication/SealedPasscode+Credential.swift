internal import Crypto
internal import Foundation
internal import TouchstoneCore

extension SealedPasscode {
    /// Seals an app's password for one of its contexts, so that touchstoned carries it and cannot read it.
    ///
    /// - Parameters:
    ///   - password: At most 256 bytes.
    ///   - context: The name of the context.
    ///   - enclaveKey: The enclave's public key.
    /// - Throws: `AuthenticationFailure` for a longer one; swift-crypto's errors for a key that is none.
    init(_ password: Data, for context: String, enclaveKey: Data) throws {
        guard password.count <= Self.maximumPasscodeLength else { throw AuthenticationFailure.authenticationFailed }
        var payload = Self.payload([password])
        defer { payload.resetBytes(in: 0..<payload.count) }
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: enclaveKey),
            ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Self.info)
        // The name of a context never comes again: it is the nonce.
        let ciphertext = try sender.seal(
            payload, authenticating: Self.context(.credential(context: context), nonce: Data()))
        self.init(encapsulatedKey: sender.encapsulatedKey, ciphertext: ciphertext)
    }
}
