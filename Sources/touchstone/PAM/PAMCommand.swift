import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore

/// `touchstone pam`: sudo, login and screen locks take the owner's finger.
struct PAMCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pam",
        abstract: "Use a finger in place of a password for sudo, login and screen locks.",
        discussion: """
            This needs the package libpam-touchstone and a device of the system. First root enrols you. Then root \
            switches the module on for the programs that use PAM. Your password works as before. The next module \
            asks for it if you are not asked, if you say no, or if the device does not answer.

            EXAMPLE
              sudo touchstone pam enroll ada
              touchstone pam test sudo
              sudo pam-auth-update --enable touchstone
            """,
        subcommands: [PAMEnrollCommand.self, PAMRemoveCommand.self, PAMStatusCommand.self, PAMTestCommand.self])
}

/// `touchstone pam enroll`.
struct PAMEnrollCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll",
        abstract: "Enrol a user for PAM, with a new key in the enclave. For root.",
        discussion: """
            The key stays in the enclave of the user's device, which has to be unlocked. Its public half goes to \
            \(PAMEnrolment.directory)/UID. Only a signature of this key lets somebody in, so a device made anew has \
            to be enrolled again. Running it again makes a new key.

            With --same-passcode, the password that the user types at login is tried once as the device's passcode, \
            so that the keychain is open when the desktop starts. Use it only if the two are the same. After one that \
            is wrong it is switched off, because wrong passcodes count. It needs the profile touchstone-unlock: \
            sudo pam-auth-update --enable touchstone-unlock

            Exit status: 0 enrolled; 1 no such user; 5 not root, or the device is locked or has no passcode; 70 \
            libpam-touchstone is not installed; more in 'touchstone --help'.
            """)

    @Argument(help: ArgumentHelp("The user, by name or number.", valueName: "user")) var user: String
    @Flag(help: "The user's login password is the device's passcode, too.") var samePasscode = false

    func run() throws {
        let enrolment = try PAMEnrolment(user)
        try enrolment.make(samePasscode: samePasscode)
        StandardOutput.say("\(enrolment.user) is enrolled. Try it as \(enrolment.user): touchstone pam test sudo")
        if !PAMStacks.isInUse {
            StandardOutput.say("No program asks for it yet. To switch it on: sudo pam-auth-update --enable touchstone")
        }
    }
}

/// `touchstone pam remove`.
struct PAMRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget a user's key. For root.",
        discussion: """
            From then on the user's password alone counts. The device and what is in it stay as they are.
            """)

    @Argument(help: ArgumentHelp("The user, by name or number.", valueName: "user")) var user: String

    func run() throws {
        let enrolment = try PAMEnrolment(user)
        guard try enrolment.remove() else {
            throw Failure(.no, "\(enrolment.user) was not enrolled; nothing was changed")
        }
        StandardOutput.say("\(enrolment.user) is not enrolled any more")
    }
}

/// `touchstone pam status`.
struct PAMStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show who is enrolled, and which programs ask.",
        discussion: """
            Root also hears whether the keys still are the device's. With --json the output is one object: isInstalled, \
            services (the PAM services that ask), and users, each with userID, name, state (enrolled, works or broken) \
            and samePasscode.

            Exit status: 0 what is enrolled works, or nobody is; 1 an enrolment does not work.
            """)

    @Flag(help: "As JSON.") var json = false

    func run() throws {
        let status = PAMStatus()
        if json {
            try StandardOutput.json(status)
        } else {
            StandardOutput.say(
                status.isInstalled
                    ? "module: installed" : "module: not installed; the package libpam-touchstone has it")
            StandardOutput.say(
                "asked by: "
                    + (status.services.isEmpty
                        ? "no service; to switch it on: sudo pam-auth-update --enable touchstone"
                        : status.services.joined(separator: ", ")))
            for user in status.users { StandardOutput.say(user.line) }
            if status.users.isEmpty { StandardOutput.say("enrolled: nobody; as root: touchstone pam enroll USER") }
        }
        guard status.users.allSatisfy({ $0.state != .broken }) else { throw Failure(.no, "an enrolment does not work") }
    }
}

/// `touchstone pam test`.
struct PAMTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Ask for your finger as a PAM service would, without any risk.",
        discussion: """
            It runs the service's own modules as they are configured now, for you, and answers no question for a \
            password. Without a service it asks the module alone, so that you can try it before you switch it on. \
            Keep another terminal open as root while you change PAM.

            Exit status: 0 you would be let in; 1 you would be asked for the password, or not be let in; 69 there is \
            no such service.
            """)

    @Argument(help: ArgumentHelp("The PAM service, such as sudo.", valueName: "service")) var service: String?

    func run() throws {
        let result = try PAMTrial(service).run()
        guard result == 0 else {
            throw Failure(
                .no,
                "the finger did not do; the service would now ask for the password, or refuse (\(PAMTrial.words(result))). "
                    + "'touchstone doctor' says what is missing, and the journal has the reason")
        }
        StandardOutput.say(service.map { "\($0) would let you in" } ?? "the module would let you in")
    }
}
