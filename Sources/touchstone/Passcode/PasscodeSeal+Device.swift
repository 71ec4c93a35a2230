import Foundation
import TouchstoneCore
import TouchstoneDevice
import TouchstoneTransport

extension PasscodeSeal {
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
        try self.init(enclaveKey: key)
    }

    /// Seals what was typed, in one message: as many as the purpose takes; nil for one that is none.
    func seal(typed passcodes: PasscodeBuffer?..., for purpose: SealedPasscode.Purpose, nonce: Data) throws
        -> SealedPasscode
    {
        let entries = passcodes.map { $0 ?? PasscodeBuffer() }
        guard !entries.contains(where: \.isTooLong) else {
            throw Failure(
                .refused, "the passcode is longer than \(SealedPasscode.maximumPasscodeLength) bytes")
        }
        return try seal(entries, for: purpose, nonce: nonce)
    }
}
