import BridgeCore
import CTouchstoneSystem
import Foundation
import Glibc
import PAMChallenge

/// `touchstone-pam-helper`: what pam_touchstone.so starts, and `touchstone pam`, for root.
@main enum Program {
    static func main() {
        _ = BridgeProcess.harden()
        _ = touchstone_become_undumpable()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let request = ModuleRequest(arguments) {
            // Whoever started the host may not act on this process: it is the host's effective user's alone.
            let (user, group) = (geteuid(), getegid())
            guard setregid(group, group) == 0, setreuid(user, user) == 0 else { exit(1) }
            let host = HostChannel()
            host.watch()
            host.end(Conversation(request, host).run())
        }
        guard geteuid() == 0, arguments.count == 2, let userID = UInt32(arguments[1]) else { usage() }
        switch arguments[0] {
        case "enroll": exit(Enrolment(userID).make())
        case "check": exit(Enrolment(userID).check())
        default: usage()
        }
    }

    private static func usage() -> Never {
        BridgeProcess.log(
            "touchstone-pam-helper: pam_touchstone.so and 'touchstone pam' start this program; see pam_touchstone(8)")
        exit(64)
    }
}
