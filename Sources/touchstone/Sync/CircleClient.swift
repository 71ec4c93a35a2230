import Foundation
import Glibc
import TouchstoneCircle
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// The owner's half of a circle's changes: the passcode, sealed here for exactly one change (DEC-461).
struct CircleClient {
    let device: DeviceClient
    var paths: DevicePaths { device.paths }

    /// A device that is unlocked and has a passcode: what can be said before anybody types anything.
    init(_ paths: DevicePaths) throws {
        device = try DeviceClient(paths)
        let status = try device.status
        guard status.isPasscodeSet else {
            throw Failure(
                .refused,
                "\(paths.name) has no passcode, which a circle needs: set one with 'touchstone device passcode set\(paths.option)'"
            )
        }
        guard !status.isLocked else {
            throw Failure(.refused, "\(paths.name) is locked; unlock it with 'touchstone device unlock\(paths.option)'")
        }
        try device.checkPasscodeKey()
    }

    func call<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        do {
            return try device.client.call(method, parameters)
        } catch {
            throw Failure.ofSync(error, paths)
        }
    }

    func call<M: VarlinkMethod>(_ method: M.Type) throws -> M.Reply where M.Parameters == Empty {
        try call(method, Empty())
    }

    /// What the circle is now.
    ///
    /// - Throws: `Failure` (`no`) if the device is in none.
    func circle() throws -> SyncInterface.GetStatus.Reply {
        let status = try call(SyncInterface.GetStatus.self)
        guard status.circle != nil else { throw Failure.noCircle(paths) }
        return status
    }

    /// Asks for the passcode, seals it for one change, and has the enclave make the change.
    ///
    /// `secret` is sealed with it, and touchstoned can read neither.
    @discardableResult
    func change<M: VarlinkMethod>(
        _ method: M.Type, for purpose: SealedPasscode.Purpose, with secret: PasscodeBuffer? = nil,
        _ parameters: (SealedPasscode) -> M.Parameters
    ) throws -> M.Reply {
        let typed = [try PasscodeEntry.current()] + (secret.map { [$0] } ?? [])
        do {
            return try PasscodeSeal.entering(key: { try PasscodeKeyFile(paths.passcodeKey).read() }) { seal in
                let nonce = try device.client.call(SyncInterface.GetNonce.self, Empty()).nonce
                return try device.client.call(
                    method, parameters(seal.seal(typed: typed, for: purpose, nonce: nonce)))
            }
        } catch {
            throw Failure.ofSync(error, paths)
        }
    }

    /// What other devices call this one.
    static func usualName() -> String {
        var name = [CChar](repeating: 0, count: 65)
        guard unsafe gethostname(&name, 64) == 0 else { return "linux" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// What a new device and its approver compute, each for itself: the store and touchstoned have no say in it (SY-10).
struct Joining {
    let name: String
    /// Six.
    let digits: String
    /// What the passcodes are sealed for, on both devices.
    let digest: String

    /// - Throws: `Failure` if these three do not belong together.
    init(application: Data, challenge: Data, reveal: Data) throws {
        guard let application = try? JoinApplication(application), let challenge = try? JoinChallenge(challenge),
            let digits = JoinDigits(application, challenge, number: reveal)
        else {
            throw Failure(
                .refused,
                "what came from the store does not fit together: somebody else may have written there. Nothing changed")
        }
        name = PlainText.line(application.name)
        self.digits = digits.description
        digest = JoinDigits.digest(application, challenge, number: reveal)
    }
}

extension Failure {
    static func noCircle(_ paths: DevicePaths) -> Failure {
        Failure(
            .no,
            "\(paths.name) is in no circle: 'touchstone sync create STORE' makes one, 'touchstone sync join STORE' joins one"
        )
    }

    /// The answers of `io.touchstone.Sync`.
    static func ofSync(_ error: any Error, _ paths: DevicePaths) -> Failure {
        guard let error = error as? RemoteError else { return of(error, paths) }
        if error.as(SyncInterface.NoCircle.self) != nil { return noCircle(paths) }
        if error.as(SyncInterface.NotOwner.self) != nil {
            return Failure(.refused, "\(paths.name) belongs to somebody else")
        }
        if let rejected = error.as(SyncInterface.PasscodeRejected.self) {
            let wait = rejected.retryAfterSeconds
            return Failure(
                .wrongPasscode,
                "the passcode was not accepted; nothing changed"
                    + (wait > 0 ? ", and the next try is possible in \(PlainText.seconds(wait)) s" : ""))
        }
        if let refused = error.as(SyncInterface.Refused.self) {
            return Failure(
                refused.reason == .noVersion ? .no : .refused, sentence(refused.reason, paths))
        }
        return of(error, paths)
    }

    private static func sentence(_ reason: SyncInterface.Reason, _ paths: DevicePaths) -> String {
        switch reason {
        case .inCircle: "\(paths.name) is in a circle already; 'touchstone sync leave' ends that"
        case .invalidName: "a name has 1 to 64 bytes of text, and is no other member's"
        case .invalidApplication, .invalidChallenge, .invalidReveal:
            "what came from the store is not what a device of yours writes; somebody else may have written there"
        case .invalidLink: "the store has a change of the circle that no member signed"
        case .noApplication, .noChallenge: "the device was restarted meanwhile: begin again on both devices"
        case .otherChallenge:
            "another circle answered than the one whose digits were shown. Do not join here: somebody may be between your devices"
        case .nameTaken: "another member has that name already; join with --name and another one"
        case .noMember: "the circle has no such member; 'touchstone sync members' lists them"
        case .removed: "this device was removed from the circle before; run 'touchstone sync join' there again"
        case .full: "the circle has as many members as it can; remove one first"
        case .tooOften: "too many devices asked to join since the passcode was last used; unlock with it, and try again"
        case .forked: "the store has another circle than this device"
        case .passcodeNotSet:
            "\(paths.name) has no passcode; set one with 'touchstone device passcode set\(paths.option)'"
        case .locked: "\(paths.name) is locked; unlock it with 'touchstone device unlock\(paths.option)'"
        case .busy: "\(paths.name) is busy with another passcode; try again"
        case .staleNonce: "the passcode came too late, because the device had moved on; try again"
        case .unreadablePasscode: "the enclave could not open what was sealed for it; try again"
        case .wrongRecoveryKey:
            "these words are not a recovery key of this circle: they may be of another one, see --circle"
        case .noVersion: "there is no such version, or it can no longer be read; 'touchstone sync history' lists them"
        case .removedRecoveryKey: "this recovery key was removed from the circle, and opens nothing any more"
        }
    }
}
