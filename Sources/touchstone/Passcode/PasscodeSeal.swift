import Crypto
import Foundation
import TouchstoneCore
import TouchstoneTransport

/// Seals passcodes for one enclave, so that touchstoned carries them and cannot read them.
struct PasscodeSeal {
    private let recipient: Curve25519.KeyAgreement.PublicKey

    init(rawPublicKey: Data) throws {
        recipient = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: rawPublicKey)
    }

    /// Reads the enclave's public key from the enclave's own directory: touchstoned could put its own in its place.
    ///
    /// - Throws: `Failure` where the file is not there, is no key, or could have been written by somebody else.
    init(_ paths: DevicePaths) throws {
        let path = paths.passcodeKey.path
        let key: Data
        do throws(PasscodeKeyError) {
            key = try PasscodeKeyFile(paths.passcodeKey).read()
        } catch {
            switch error {
            case .unreadable(let code):
                throw Failure(
                    .unavailable,
                    "the enclave's public key cannot be read (\(path): \(Failure.describe(code))): "
                        + "is \(paths.name) booted?")
            case .writableByOthers:
                throw Failure(
                    .configuration,
                    "\(path) can be written by others: a passcode sealed with it might not stay secret")
            case .malformed:
                throw Failure(
                    .configuration, "\(path) is not a public key of \(PasscodeKeyFile.keyBytes) bytes")
            }
        }
        try self.init(rawPublicKey: key)
    }

    /// Seals what was typed for one purpose: it is good for nothing else, and with the enclave's nonce for one use.
    func seal(_ passcode: PasscodeBuffer, for purpose: SealedPasscode.Purpose, nonce: Data) throws -> SealedPasscode {
        try seal([passcode], for: purpose, nonce: nonce)
    }

    /// Both passcodes of a change, in one message.
    func seal(current: PasscodeBuffer?, new: PasscodeBuffer?, nonce: Data) throws -> SealedPasscode {
        try seal([current ?? PasscodeBuffer(), new ?? PasscodeBuffer()], for: .change, nonce: nonce)
    }

    /// The passcode and the key of a backup, in one message.
    func seal(_ passcode: PasscodeBuffer, backupKey: PasscodeBuffer, _ direction: BackupDirection, nonce: Data) throws
        -> SealedPasscode
    {
        try seal([passcode, backupKey], for: .backup(direction), nonce: nonce)
    }

    private func seal(_ passcodes: [PasscodeBuffer], for purpose: SealedPasscode.Purpose, nonce: Data) throws
        -> SealedPasscode
    {
        guard !passcodes.contains(where: \.isTooLong) else {
            throw Failure(
                .refused, "the passcode is longer than \(SealedPasscode.maximumPasscodeLength) bytes")
        }
        var payload = SealedPasscode.payload(passcodes)
        defer { payload.resetBytes(in: 0..<payload.count) }
        var sender = try HPKE.Sender(
            recipientKey: recipient, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info)
        let ciphertext = try sender.seal(payload, authenticating: SealedPasscode.context(purpose, nonce: nonce))
        return SealedPasscode(encapsulatedKey: sender.encapsulatedKey, ciphertext: ciphertext)
    }
}
