package import Crypto
package import Foundation
package import TouchstoneMemory

/// A device is not moved to another root of trust; nothing changed.
package enum RecoveryError: Error, Hashable, CustomStringConvertible {
    case wrongPasscode
    /// Ten wrong ones erase it: that does not end by moving.
    case erasureDue
    case notRecoverable

    package var description: String {
        switch self {
        case .wrongPasscode: "the passcode is wrong; nothing changed"
        case .erasureDue: "after ten wrong passcodes the device is erased at its next boot; nothing changed"
        case .notRecoverable: "the device's passcode was not kept for this recovery key; nothing changed"
        }
    }
}

extension Enclave {
    /// Whether the device has a passcode, which recovery then wants.
    package static func hasPasscode(stateFile: Data, root: any RootOfTrust) throws -> Bool {
        try decoded(stateFile, root).state.passcode != nil
    }

    /// The state of a device whose root of trust has the same secret in another TPM, as the bytes of its file.
    ///
    /// The passcode, as its owner types it and nil where none is set, gets a new gate around its old secret: every class key opens as
    /// before. `revision` is where the new counter stands; it is called when all the rest is done.
    ///
    /// - Throws: `RecoveryError`, `EnclaveStateError`, and what the root of trust throws.
    package static func recovered(
        stateFile: Data, root: any RootOfTrust, recoveryKey: Curve25519.KeyAgreement.PrivateKey, passcode: SecretBytes?,
        revision: () throws -> UInt64
    ) throws -> Data {
        var (state, deviceKey) = try decoded(stateFile, root)
        if let kept = state.passcode {
            guard kept.erasesData != true || state.passcodeFailures < PasscodePolicy().maximumFailures else {
                throw RecoveryError.erasureDue
            }
            guard let passcode else { throw RecoveryError.wrongPasscode }
            guard let recovery = kept.gate?.recovery,
                let secret = try? Sealed.open(recovery, with: recoveryKey, PasscodeGate.recoveryPurpose)
            else { throw RecoveryError.notRecoverable }
            state.passcode?.gate = try PasscodeDerivation(
                passcode: passcode, salt: kept.salt, cost: kept.cost, root: root
            ).remake(secret, recovery: recovery) { key in
                guard ClassKeys(kept.classKeys, under: key) != nil else { throw RecoveryError.wrongPasscode }
            }
        }
        state.revision = try revision()
        return try EnclaveStateFile.encode(state, key: deviceKey.derive("state"))
    }

    private static func decoded(_ file: Data, _ root: any RootOfTrust) throws -> (
        state: EnclaveState, deviceKey: SecretBytes
    ) {
        let deviceKey = try root.derive("device key", Data())
        return (try EnclaveStateFile.decode(file, key: deviceKey.derive("state")), deviceKey)
    }
}
