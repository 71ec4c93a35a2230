import Foundation
import Glibc
import PAMChallenge
import TouchstoneDevice

/// Unlocks the device at login with the password that was typed there, if its owner said that they are the same (PM-24).
struct SamePasscode {
    private let userID: UInt32
    private let consent: String

    init(_ userID: UInt32) {
        self.userID = userID
        consent = EnrolmentFile(of: userID).sameSecret
    }

    /// One try.
    ///
    /// After one that fails, nothing is tried until root says again that they are the same: a wrong passcode counts (PC-01).
    func tryOnce(_ host: HostChannel) {
        // Only root's hosts, such as login, can take the consent away before the try.
        guard let password = host.secret(), geteuid() == 0, unsafe access(consent, F_OK) == 0,
            let device = try? OwnersDevice(of: userID), let surroundings = try? device.surroundings(),
            surroundings.isLocked, !surroundings.isSimulated
        else { return }
        // Away first: whatever ends this program in between, a wrong passcode is tried once.
        let aside = "\(consent).tried"
        guard unsafe rename(consent, aside) == 0 else { return }
        do throws(DeviceError) {
            try device.unlock(password)
            _ = unsafe rename(aside, consent)
            host.log("the device was unlocked with the password")
        } catch {
            _ = unsafe unlink(aside)
            host.log(
                "the password is not the device's passcode, or was not tried; not tried any more until: touchstone pam enroll --same-passcode"
            )
        }
    }
}
