import BridgeCore
import Foundation
import Glibc
import PAMChallenge
import TouchstoneDevice

/// Unlocks the device at login with the password that was typed there, if its owner said that they are the same (PM-24).
struct SamePasscode {
    private let userID: UInt32

    init(_ userID: UInt32) { self.userID = userID }

    /// One try.
    ///
    /// After a wrong one nothing is tried until root says again that they are the same, because a wrong passcode counts (PC-01).
    func tryOnce(_ host: HostChannel) {
        // Only root's hosts, such as login, can take the consent away before the try.
        let file = EnrolmentFile(of: userID)
        guard let password = host.secret(), geteuid() == 0, let keys = try? file.read(),
            let device = try? OwnersDevice(of: userID), let surroundings = try? device.surroundings(),
            surroundings.isLocked, !surroundings.isSimulated,
            let consent = Consent(file.sameSecret, noting: NotedTry(failures: surroundings.passcodeFailures, keys))
        else { return }
        let ended = attempt(password, device)
        consent.end(ended)
        let again = "until: touchstone pam enroll --same-passcode"
        switch ended {
        case nil: host.log("the device was unlocked with the password")
        case .notTried: host.log("the device did not look at the password; a later login tries it")
        case .wrong: host.log("the password is not the device's passcode; not tried any more \(again)")
        case .unknown:
            host.log(
                "the device did not say whether the password is its passcode; if it counted one, not tried any more \(again)"
            )
        }
    }

    /// - Returns: Nil if the device is unlocked.
    private func attempt(_ password: PasscodeBuffer, _ device: OwnersDevice) -> PasscodeTry? {
        guard let sealed = try? device.sealed(password) else { return .notTried }
        do throws(DeviceError) {
            try device.unlock(sealed)
            return nil
        } catch {
            switch error {
            case .answered(let name, _): return PasscodeTry(error: name)
            case .malformedRequest: return .notTried
            default: return PasscodeTry(error: nil)
            }
        }
    }
}
