import Foundation
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// The one place where a device's answers become sentences and exit statuses.
extension Failure {
    static func of(_ error: any Error, _ paths: DevicePaths) -> Failure {
        switch error {
        case let failure as Failure: failure
        case let error as RemoteError: of(error, paths)
        case let error as TransportError: of(error, paths)
        case let error as PasscodeKeyError: of(error, paths)
        case AgentError.notBooted: notAnswering(paths)
        case AgentError.system(let code): system("the agent", code: code)
        default: Failure(.internalError, "\(paths.name): \(error)")
        }
    }

    private static func of(_ error: RemoteError, _ paths: DevicePaths) -> Failure {
        if error.as(DeviceInterface.NotSimulated.self) != nil {
            return Failure(
                .notSimulated, "\(paths.name), or its sensor, is not simulated, so it cannot be driven")
        }
        if let rejected = error.as(DeviceInterface.PasscodeRejected.self) {
            return Failure(
                .wrongPasscode,
                "the passcode was not accepted"
                    + (rejected.isErased
                        ? "; there were too many wrong ones, and \(paths.name) was erased, as its owner had set it"
                        : later(rejected.retryAfterSeconds)))
        }
        if let refused = error.as(DeviceInterface.Refused.self) {
            return of(refused.reason, paths)
        }
        if error.as(BackupInterface.NoSuchSession.self) != nil {
            return Failure(
                .refused,
                "\(paths.name) was locked meanwhile, or another backup began, or this one paused for ten minutes; try again"
            )
        }
        if error.as(BackupInterface.NotOwner.self) != nil {
            return Failure(.refused, "\(paths.name) belongs to somebody else")
        }
        if error.as(BackupInterface.Malformed.self) != nil {
            return Failure(.configuration, "the backup holds something that is not an item")
        }
        if let status = error.as(BackupInterface.Failed.self)?.status ?? error.as(KeychainInterface.Failed.self)?.status
            ?? error.as(KeyInterface.Failed.self)?.status
        {
            return of(Status(rawValue: status), paths)
        }
        if let unsupported = error.as(AgentInterface.UnsupportedVersion.self) {
            return Failure(
                .internalError,
                "\(paths.name) speaks version \(unsupported.supported) of io.touchstone.Agent, this program version "
                    + "\(AgentInterface.version); restart the older one")
        }
        if error.as(AgentInterface.NoSuchPrompt.self) != nil {
            return Failure(.no, "that prompt has already ended")
        }
        if error.name.hasPrefix("org.varlink.service.") {
            return Failure(
                .internalError,
                "\(paths.name) does not know this command (\(error.name)); does its touchstoned have another version?"
            )
        }
        return Failure(.internalError, "\(paths.name) answered \(PlainText.line(error.name))")
    }

    /// Nothing answers at the device's socket.
    static func notAnswering(_ paths: DevicePaths) -> Failure {
        guard paths.isSystem || SupervisorLock.holder(paths) == nil else {
            return Failure(
                .unavailable,
                "\(paths.name) is booted but does not answer; 'touchstone doctor --device \(paths.name)' says why")
        }
        return Failure(.unavailable, paths.advice)
    }

    private static func of(_ error: PasscodeKeyError, _ paths: DevicePaths) -> Failure {
        let path = paths.passcodeKey.path
        return switch error {
        case .unreadable(let code):
            Failure(
                .unavailable,
                "the enclave's public key cannot be read (\(path): \(describe(code))): is \(paths.name) booted?")
        case .writableByOthers:
            Failure(
                .configuration,
                "\(path) can be changed by other users, so a passcode sealed with it might not stay secret")
        case .malformed:
            Failure(.configuration, "\(path) is not a public key of \(PasscodeKeyFile.keyBytes) bytes")
        }
    }

    private static func of(_ error: TransportError, _ paths: DevicePaths) -> Failure {
        switch error {
        case .unreachable, .closed:
            Failure(
                .unavailable, "the connection to \(paths.name) was lost; see 'touchstone device status \(paths.name)'")
        case .tooLarge, .malformed:
            Failure(.internalError, "\(paths.name) sent something that is not an answer")
        }
    }

    private static func of(_ status: Status, _ paths: DevicePaths) -> Failure {
        switch status {
        case .interactionNotAllowed:
            Failure(
                .refused, "\(paths.name) was locked meanwhile; unlock it with 'touchstone device unlock\(paths.option)'"
            )
        case .diskFull: Failure(.internalError, "the disk of \(paths.name) is full; free some space and try again")
        case .readOnly: Failure(.internalError, "the disk of \(paths.name) can only be read")
        case .io: Failure(.internalError, "the disk of \(paths.name) failed")
        default:
            Failure(
                .internalError,
                "the keychain of \(paths.name) is damaged (\(status)); run 'touchstone keychain check'")
        }
    }

    private static func of(_ reason: DeviceInterface.RefusalReason, _ paths: DevicePaths) -> Failure {
        let message =
            switch reason {
            case .passcodeNotSet:
                "\(paths.name) has no passcode; set one with 'touchstone device passcode set\(paths.option)'"
            case .passcodeAlreadySet:
                "\(paths.name) already has a passcode; use 'touchstone device passcode change\(paths.option)'"
            case .passcodeDisabled:
                "after ten wrong passcodes \(paths.name) has to be erased, but its disk could not be written; "
                    + "the next boot erases it, or 'touchstone device erase \(paths.name)'"
            case .passcodeTooShort:
                "the new passcode is too short, because it needs at least four characters; nothing changed"
            case .passcodeNotOfKind: "the new passcode does not have the kind that --kind names"
            case .passcodeTooLong:
                "the passcode is longer than \(SealedPasscode.maximumPasscodeLength) bytes"
            case .busy: "\(paths.name) is busy with another passcode; try again"
            case .noFaceID: "\(paths.name) has no Face ID (create one with --biometry faceid)"
            case .noSensor:
                "\(paths.name) has no sensor that works now. 'touchstone device sensor connect\(paths.option)' plugs its simulated one in, if "
                    + "it was made with one; 'touchstone device sensor add --help' says how to add a reader"
            case .hasSensor: "\(paths.name) already has a sensor; 'touchstone device status\(paths.option)' shows it"
            case .tooManyFingers:
                "no more fingers can be enrolled; remove one with 'touchstone device remove FINGER\(paths.option)'"
            case .fingerAlreadyEnrolled: "that finger is already enrolled"
            case .noSuchFinger:
                "that finger is not enrolled; 'touchstone device fingers\(paths.option)' lists the enrolled ones"
            case .invalidName: "\(paths.name) does not accept that name; use 1 to 64 bytes of text"
            case .staleNonce: "the passcode came too late, because the device had moved on; try again"
            case .unreadablePasscode:
                "the enclave could not open what was sealed for it: \(paths.passcodeKey.path) is not its key"
            case .staleKey:
                "\(paths.passcodeKey.path) is from an earlier boot of \(paths.name), because the new key could not be written to its disk; "
                    + "free some space and run 'touchstone device reboot\(paths.option)'"
            case .locked: "\(paths.name) is locked; unlock it with 'touchstone device unlock\(paths.option)'"
            case .tpmUnavailable:
                "the TPM of \(paths.name) does not say whether the passcode is right; the reason is in "
                    + "\(paths.state.path)/supervisor.log, or where the device was booted"
            case .tpmLockedOut:
                "the TPM of \(paths.name) accepts no passcode now, because this device or another program sent it wrong ones; wait, because "
                    + "it forgets them one by one"
            case .notOwner: "\(paths.name) belongs to somebody else"
            case .notListed:
                "root has not listed this program in \(OwnerPrograms.system[0]), so it may not use the owner's interface of "
                    + "\(paths.name)"
            case .lockedTooOften:
                "programs locked \(paths.name) three times within two minutes; lock your session, or try again in five minutes"
            case .notKept: "\(paths.state.path) cannot be written, so nothing changed; is the disk full or read-only?"
            }
        return Failure(.refused, message)
    }

    private static func later(_ seconds: Double?) -> String {
        guard let seconds, seconds > 0 else { return "; nothing changed" }
        return "; nothing changed, and the next try is possible in \(PlainText.seconds(seconds)) s"
    }
}
