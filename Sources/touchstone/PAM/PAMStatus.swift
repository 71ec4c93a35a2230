import Foundation
import Glibc
import TouchstoneCore

/// Who is enrolled, and which services ask.
struct PAMStatus: Encodable {
    struct User: Encodable {
        /// enrolled: nobody looked, because only root can.
        enum State: String, Encodable { case enrolled, works, broken }

        var userID: UInt32
        /// Nil if nobody has this number any more.
        var name: String?
        var state: State
        var samePasscode: Bool

        var line: String {
            let who = name ?? "user \(userID), who is gone"
            let words =
                switch state {
                case .enrolled: "enrolled; as root, this says whether the key still is the device's"
                case .works: "enrolled, and the key is the device's"
                case .broken: "enrolled, but the key cannot be used; as root: touchstone pam enroll \(name ?? "USER")"
                }
            return "\(who): \(words)" + (samePasscode ? "; the login password is tried as the passcode" : "")
        }
    }

    var isInstalled: Bool
    var services: [String]
    var users: [User]

    init() {
        isInstalled = PAMStacks.isInstalled
        services = PAMStacks.services
        let files = (try? FileManager.default.contentsOfDirectory(atPath: PAMEnrolment.directory)) ?? []
        users = files.compactMap(UInt32.init).sorted().map { userID in
            let entry = unsafe getpwuid(userID)
            let works =
                geteuid() == 0
                ? (try? Child.output(PAMEnrolment.helper, ["check", "\(userID)"]).ending) == .exited(0) : nil
            return User(
                userID: userID, name: unsafe entry.map { unsafe String(cString: $0.pointee.pw_name) },
                state: works.map { $0 ? .works : .broken } ?? .enrolled,
                samePasscode: unsafe access(PAMEnrolment.samePasscode(userID), F_OK) == 0)
        }
    }

    /// For the doctor: of the one who runs it.
    static func finding(isSystem: Bool) -> Finding {
        let topic = Finding.Topic.pam
        guard PAMStacks.isInstalled else {
            return Finding(
                .good, topic, "not installed; with the package libpam-touchstone a finger does for a password")
        }
        guard isSystem else {
            return Finding(.good, topic, "they use devices of the system alone, so passwords are asked for")
        }
        let isEnrolled = unsafe access("\(PAMEnrolment.directory)/\(getuid())", F_OK) == 0
        switch (isEnrolled, PAMStacks.isInUse) {
        case (true, true):
            return Finding(
                .good, topic,
                "they ask for your finger first, and for your password if you are not there (\(PAMStacks.services.joined(separator: ", ")))"
            )
        case (true, false):
            return Finding(
                .warning, topic, "you are enrolled, but no service asks for your finger",
                fix: "sudo pam-auth-update --enable touchstone")
        case (false, true):
            return Finding(
                .warning, topic, "they would ask for a finger, but you are not enrolled, so your password is asked for",
                fix: "sudo touchstone pam enroll \(getuid())")
        case (false, false):
            return Finding(
                .good, topic, "not switched on; 'sudo touchstone pam enroll \(getuid())' is the first step")
        }
    }
}

/// The configuration of PAM on this machine.
enum PAMStacks {
    private static let module = "pam_touchstone.so"
    private static let directory = "/etc/pam.d"

    static var isInstalled: Bool { unsafe access(PAMEnrolment.helper, F_OK) == 0 }

    static var isInUse: Bool { !services.isEmpty }

    /// The files that name the module, by their names, sorted.
    static var services: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted().filter { name in
            guard let text = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8) else { return false }
            return text.split(separator: "\n").contains { !$0.hasPrefix("#") && $0.contains(module) }
        }
    }
}
