internal import Crypto
package import Foundation
package import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneTransport

/// Seals passcodes and application passwords for one enclave, so that touchstoned carries them and cannot read them.
package struct PasscodeSeal: Sendable {
    private let recipient: Curve25519.KeyAgreement.PublicKey

    /// - Parameter enclaveKey: The enclave's public key, 32 bytes, from where touchstoned could not have put its own (DEC-005).
    /// - Throws: swift-crypto's errors for an invalid key.
    package init(enclaveKey: Data) throws {
        recipient = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: enclaveKey)
    }

    /// Seals for one purpose: good for nothing else, and with the enclave's nonce for one use.
    ///
    /// - Parameters:
    ///   - passcodes: As many as the purpose takes. One longer than `SealedPasscode.maximumPasscodeLength` the enclave refuses.
    ///   - purpose: What they are typed for.
    ///   - nonce: The enclave's; empty for a credential, since the name of a context never comes again.
    /// - Returns: What touchstoned carries.
    /// - Throws: swift-crypto's errors for a key with which nothing can be agreed.
    package func seal<Passcode: Collection<UInt8>>(
        _ passcodes: [Passcode], for purpose: SealedPasscode.Purpose, nonce: Data
    ) throws -> SealedPasscode {
        var payload = SealedPasscode.payload(passcodes)
        defer { payload.resetBytes(in: 0..<payload.count) }
        var sender = try HPKE.Sender(
            recipientKey: recipient, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info)
        let ciphertext = try sender.seal(payload, authenticating: SealedPasscode.context(purpose, nonce: nonce))
        return SealedPasscode(
            encapsulatedKey: sender.encapsulatedKey, ciphertext: ciphertext, key: recipient.rawRepresentation)
    }

    /// Has `send` seal what was typed and send it; once more where the enclave was booted meanwhile and has another key.
    ///
    /// Once more only where `key` gives another one then: a touchstoned that says so of the right key gets no second entry for it.
    ///
    /// - Throws: What `key` and `send` throw; swift-crypto's errors for an invalid key.
    package static func entering<Reply>(
        key: () throws -> Data, _ send: (PasscodeSeal) throws -> Reply
    ) throws -> Reply {
        let first = try key()
        do {
            return try send(PasscodeSeal(enclaveKey: first))
        } catch let error as RemoteError where error.as(DeviceInterface.Refused.self)?.reason == .staleKey {
            let second = try key()
            guard second != first else { throw error }
            return try send(PasscodeSeal(enclaveKey: second))
        }
    }
}
