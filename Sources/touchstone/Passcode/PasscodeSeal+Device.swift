import Foundation
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

extension PasscodeSeal {
    /// Reads the enclave's public key from the enclave's own directory, because touchstoned could substitute its own.
    ///
    /// - Throws: `Failure` if the file is not there, is not a key, or could have been written by somebody else.
    fileprivate static func key(_ paths: DevicePaths) throws -> Data {
        do {
            return try PasscodeKeyFile(paths.passcodeKey).read()
        } catch {
            throw Failure.of(error, paths)
        }
    }

    /// Seals what was typed, in one message: as many as the purpose takes.
    func seal(typed entries: [PasscodeBuffer], for purpose: SealedPasscode.Purpose, nonce: Data) throws
        -> SealedPasscode
    {
        guard !entries.contains(where: \.isTooLong) else {
            throw Failure(
                .refused, "the passcode is longer than \(SealedPasscode.maximumPasscodeLength) bytes")
        }
        return try seal(entries, for: purpose, nonce: nonce)
    }
}

extension DeviceClient {
    /// Says, before anybody types anything, whether it could be sealed.
    ///
    /// The device is asked first. If that starts its daemons, the key is published by then.
    func checkPasscodeKey() throws {
        _ = try status
        _ = try PasscodeSeal.key(paths)
    }

    /// Seals what was typed, with a nonce and the enclave's current key, and sends it with `method`.
    ///
    /// If the enclave has another key by then, it is sealed and sent once more. `nonce` is a prompt's; nil: a new one is requested.
    func enter<M: VarlinkMethod>(
        _ method: M.Type, typed passcodes: PasscodeBuffer?..., for purpose: SealedPasscode.Purpose, nonce: Data? = nil,
        _ parameters: (SealedPasscode) -> M.Parameters
    ) throws -> M.Reply {
        let entries = passcodes.map { $0 ?? PasscodeBuffer() }
        do {
            return try PasscodeSeal.entering(key: { try PasscodeSeal.key(paths) }) { seal in
                let nonce = try nonce ?? client.call(DeviceInterface.GetNonce.self, Empty()).nonce
                return try client.call(method, parameters(seal.seal(typed: entries, for: purpose, nonce: nonce)))
            }
        } catch {
            throw Failure.of(error, paths)
        }
    }
}
