import ArgumentParser
import Foundation
import Glibc
import TouchstoneCircle
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone sync recovery-key`.
struct SyncRecoveryKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-key",
        abstract: "Make a recovery key, which brings your items back if all your devices are lost.",
        discussion: """
            The command asks for this device's passcode, and prints 13 words on standard output. They are shown only \
            this once, and stored nowhere. Write them down, and keep them away from your devices. Anybody who has them \
            and can read the store reads your items. An earlier recovery key stays valid until you remove it with \
            'touchstone sync remove'. Without a terminal the passcode is a line of standard input.

            Example:
              touchstone sync recovery-key

            Exit status: 0 it is made; 1 this device is in no circle; 5 another device changed the circle just now; 6 \
            the passcode is wrong; 69 the store does not answer.
            """)

    @Option(help: ArgumentHelp("What the members' list calls it (default: recovery key).", valueName: "name"))
    var name: String?
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        let members = try circle.circle().members
        let conversation = try StoreConversation(circle.paths, ["change"])
        try conversation.hear("ready")
        let name = self.name ?? Self.freeName(members.map(\.name))
        let secret = RecoveryWords.newSecret()
        try circle.change(SyncInterface.AddRecoveryKey.self, for: .addRecoveryKey(name: name), with: secret) {
            .init(name: name, passcode: $0)
        }
        try conversation.say("changed")
        try conversation.hear("done")
        try print(RecoveryWords.words(of: secret))
        StandardError.say(
            "Write these words down, in this order. They are \(PlainText.line(name)), are shown only this once, and are stored nowhere.\n"
                + "If all your devices are lost: touchstone sync recover STORE")
        let earlier = members.filter(\.isRecoveryKey).map { PlainText.line($0.name) }
        guard !earlier.isEmpty else { return }
        StandardError.say(
            "Still valid, until you remove it with 'touchstone sync remove': \(earlier.joined(separator: ", ")).")
    }

    /// A name that no member has.
    static func freeName(_ names: [String]) -> String {
        let usual = "recovery key"
        guard names.contains(usual) else { return usual }
        return (2...).lazy.map { "\(usual) \($0)" }.first { !names.contains($0) } ?? usual
    }

    /// Past the library's buffers, which nobody wipes.
    private func print(_ words: PasscodeBuffer) throws {
        words.append(UInt8(ascii: "\n"))
        var written = 0
        while written < words.count {
            let count = unsafe words.withUnsafeBytes {
                unsafe write(STDOUT_FILENO, $0.baseAddress! + written, $0.count - written)  // there are words
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw Failure.system(
                    "the words could not be shown. Nobody has seen them: remove this recovery key, and make another one"
                )
            }
            written += count
        }
    }
}

/// `touchstone sync recover`.
struct SyncRecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Bring your items back with the recovery key, if no other device is left.",
        discussion: """
            This device has to be in no circle. The command asks for the words of the recovery key, and then for this \
            device's passcode. If the store needs a password or the secret of an access key, the command asks for it \
            first. Without a terminal each is a line of standard input. Afterwards remove the devices that you lost.

            The store decides how much comes back. A new device cannot know whether the store is an old copy.

            Example:
              touchstone sync recover /mnt/share/keychain --name 'new laptop'

            Exit status: 0 this device is in the circle; 5 the words are wrong, or not those of this circle; 6 \
            the passcode is wrong; 69 the store does not answer; 78 the store's address or credentials are wrong.
            """)

    @OptionGroup var store: StoreArguments
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        guard try circle.call(SyncInterface.GetStatus.self).circle == nil else {
            throw Failure(.refused, "\(circle.paths.name) is in a circle already; 'touchstone sync leave' ends that")
        }
        let conversation = try StoreConversation(circle.paths, ["recover"] + store.arguments)
        let links = try conversation.hear("links").links ?? []
        guard let chain = try? CircleChain(links) else {
            throw Failure(.refused, "the store has a change of the circle that no member signed")
        }
        guard chain.members.values.contains(where: \.isRecoveryKey) else {
            throw Failure(
                .refused,
                "this circle has no recovery key. If a device of it is left: 'touchstone sync join'. Else only a backup has your items"
            )
        }
        let secret = try RecoveryEntry.secret()
        let name = store.called
        let head = chain.head.map { String(format: "%02x", $0) }.joined()
        try circle.change(
            SyncInterface.Recover.self, for: .recoverCircle(head: head, name: name), with: secret
        ) { .init(links: links, name: name, passcode: $0) }
        try conversation.say("changed")
        try conversation.hear("done")
        StandardOutput.say("This device is in the circle, as \(PlainText.line(name)).")
        try SyncService.start(circle.paths)
        let others = chain.members.values.filter { !$0.isRecoveryKey }.map { PlainText.line($0.name) }.sorted()
        guard !others.isEmpty else { return }
        StandardOutput.say(
            "If you lost them, remove the other devices: \(others.map { "touchstone sync remove '\($0)'" }.joined(separator: "; "))"
        )
    }
}

/// Asks for the words: at a terminal without echo and up to three times, else one line of standard input.
private enum RecoveryEntry {
    private static let tries = 3

    static func secret() throws -> PasscodeBuffer {
        for left in (0..<(Terminal.isInput ? tries : 1)).reversed() {
            let typed = try words()
            do throws(RecoveryWords.Mistake) {
                return try RecoveryWords.secret(of: typed)
            } catch {
                guard left > 0 else { throw Failure(.refused, "\(error.text); nothing changed") }
                StandardError.say("\(error.text). Try again.")
            }
        }
        throw Failure(.cancelled, "no recovery key was entered")
    }

    private static func words() throws -> PasscodeBuffer {
        guard Terminal.isInput else { return try line() }
        return try Terminal.withoutEcho {
            StandardError.write("The \(RecoveryWords.count) words of the recovery key: ")
            defer { StandardError.write("\n") }
            return try line()
        }
    }

    private static func line() throws -> PasscodeBuffer {
        guard let line = PasscodeBuffer(lineFrom: STDIN_FILENO) else {
            throw Failure(
                .cancelled,
                "no recovery key was entered: give its words on a line of standard input, before the passcode")
        }
        return line
    }
}
