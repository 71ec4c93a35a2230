import AgePlugin
import ArgumentParser
import BridgeCore
import BridgeProcesses
import Foundation
import TouchstoneDevice

/// `age-plugin-touchstone`: what age starts for recipients and identities of Touchstone's.
@main enum Program {
    /// How age says which half of the protocol it wants.
    private static let option = "--age-plugin="
    /// As age-plugin-yubikey calls its commands.
    private static let synonyms = ["--generate": "keygen", "-g": "keygen", "--list": "recipients", "-l": "recipients"]

    static func main() {
        _ = BridgeProcess.harden()
        var arguments = Array(CommandLine.arguments.dropFirst())
        if let wish = arguments.first, wish.hasPrefix(option) {
            switch wish.dropFirst(option.count) {
            case "recipient-v1": exit(Plugin.wrap())
            case "identity-v1": exit(Plugin.unwrap())
            default:
                BridgeProcess.log("age-plugin-touchstone: age wants what this version does not have: \(wish)")
                exit(1)
            }
        }
        if let command = arguments.first.flatMap({ synonyms[$0] }) { arguments[0] = command }
        AgePluginTouchstone.main(arguments)
    }
}

struct AgePluginTouchstone: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "age-plugin-touchstone",
        abstract: "Encrypts files to a key that stays in Touchstone's enclave and asks for your finger.",
        discussion: """
            age and similar programs start this program themselves, so it has to be in PATH. Make a key once, and keep the \
            file. It holds no secret, and works only on this device.

            EXAMPLE
              age-plugin-touchstone keygen -o key.txt
              age -r age1touchstone1… -o notes.age notes.txt
              age -d -i key.txt notes.age

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device to use (default: "system" where you have it, else "default")
            """,
        version: BridgeVersion.current,
        subcommands: [Keygen.self, Recipients.self])
}

extension AccessControl: ExpressibleByArgument {}

struct Keygen: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a key, and prints its identity and its recipient.",
        discussion: """
            EXAMPLE
              age-plugin-touchstone keygen --access-control any-biometry -o key.txt
            """)

    @Option(help: "What decrypting takes.")
    var accessControl: AccessControl = .anyBiometryOrPasscode
    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make (default: standard output).", valueName: "file"))
    var output: String?

    func run() throws {
        let identity: PluginIdentity
        do throws(BridgeFailure) { identity = try Enclave.selected().create(accessControl) } catch {
            throw ValidationError(
                "no key was made: "
                    + (error == .unavailable
                        ? "the device does not answer; 'touchstone doctor' says why"
                        : error.sentence))
        }
        let recipient = identity.recipient
        let text = """
            # created: \(Date.now.formatted(.iso8601))
            # access control: \(accessControl.rawValue)
            # public key: \(recipient)
            # public key, for age 1.3 and later without this program: \(recipient.native)
            \(identity)

            """
        guard let output else {
            BridgeProcess.say(String(text.dropLast()))
            return
        }
        // Nothing is written over: it may be the only way to old files.
        let descriptor = unsafe open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ValidationError("\(output) cannot be made; it may be there already")
        }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
        BridgeProcess.say("Public key: \(recipient)")
    }
}

struct Recipients: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the public keys of identity files.",
        discussion: """
            EXAMPLE
              age-plugin-touchstone recipients key.txt
            """)

    @Argument(help: ArgumentHelp("Identity files (default: standard input).", valueName: "file"))
    var files: [String] = []
    @Flag(help: "As age 1.3 and later take them without this program.")
    var native = false

    func run() throws {
        for file in files.isEmpty ? ["/dev/stdin"] : files {
            guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw ValidationError("\(file) cannot be read")
            }
            for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
                guard let identity = PluginIdentity(String(line)) else {
                    throw ValidationError("\(file) has a line that is not an identity of this program")
                }
                BridgeProcess.say(native ? identity.recipient.native : identity.recipient.description)
            }
        }
    }
}
