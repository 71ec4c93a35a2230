import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// Where the store is, and what the circle and this device are called.
struct StoreArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A directory that all devices see, postgresql://USER@HOST/DATABASE, or https://HOST/BUCKET?region=REGION.",
            valueName: "store"), completion: .directory)
    var store: String
    @Option(help: ArgumentHelp("The circle's name in the store: a-z and 0-9.", valueName: "name"))
    var circle = "keychain"
    @Option(
        name: .customLong("key-id"),
        help: ArgumentHelp("The name of the access key, for an object store.", valueName: "id"))
    var keyID: String?
    @Option(help: ArgumentHelp("What your other devices call this one (default: the host's name).", valueName: "name"))
    var name: String?

    func validate() throws {
        guard (1...64).contains(circle.utf8.count),
            circle.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
        else { throw ValidationError("--circle takes 1 to 64 of the characters a-z and 0-9") }
        guard !store.hasPrefix("-") else { throw ValidationError("name a store") }
    }

    var called: String { name ?? CircleClient.usualName() }

    /// For `touchstone-sync`.
    var arguments: [String] {
        // From the home directory of whoever types it, also where the shell did not put it in.
        let path = store.contains("://") ? store : URL(fileURLWithPath: store).path
        return ["--circle", circle] + (keyID.map { ["--key-id", $0] } ?? []) + ["--", path]
    }
}

/// `touchstone sync create`.
struct SyncCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a circle at a store, with this device as its first member.",
        discussion: """
            The device has to be unlocked, and the command asks for its passcode. If the store needs a password or the \
            secret of an access key, the command asks for it first. It is kept in the keychain. Without a terminal both \
            are lines of standard input.

            Examples:
              touchstone sync create /mnt/share/keychain
              touchstone sync create postgresql://ada@db.example/keychain --name laptop
              touchstone sync create 'https://s3.example/my-bucket?region=eu-central-1' --key-id AKIAEXAMPLE

            Exit status: 0 it is made; 5 there is one already; 6 the passcode is wrong; 69 the store does not answer; \
            78 the store's address or credentials are wrong.
            """)

    @OptionGroup var store: StoreArguments
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        guard try circle.call(SyncInterface.GetStatus.self).circle == nil else {
            throw Failure(
                .refused, "\(circle.paths.name) is in a circle already; 'touchstone sync leave' ends that")
        }
        let conversation = try StoreConversation(circle.paths, ["create"] + store.arguments)
        try conversation.hear("ready")
        let name = store.called
        try circle.change(SyncInterface.Found.self, for: .foundCircle(name: name)) { .init(name: name, passcode: $0) }
        try conversation.say("changed")
        try conversation.hear("done")
        StandardOutput.say("The circle is made, and this device is its first member, \(PlainText.line(name)).")
        try SyncService.start(circle.paths)
        StandardOutput.say("On your next device: touchstone sync join \(PlainText.line(store.store))")
    }
}

/// `touchstone sync join`.
struct SyncJoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the circle at a store; another device of it has to approve.",
        discussion: """
            The command shows six digits. Type them on a device of the circle, where 'touchstone sync approve' asks for \
            them. Then it asks for this device's passcode. If the store needs a password or the secret of an access key, \
            the command asks for it first. Without a terminal both are lines of standard input.

            Example:
              touchstone sync join /mnt/share/keychain --name desktop

            Exit status: 0 it joined; 5 it was turned away; 6 the passcode is wrong; 69 the store does not answer; 78 \
            the store's address or credentials are wrong.
            """)

    @OptionGroup var store: StoreArguments
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        let conversation = try StoreConversation(circle.paths, ["join"] + store.arguments)
        try conversation.hear("ready")
        let application = try circle.call(SyncInterface.Apply.self, .init(name: store.called)).application
        try conversation.say(StoreStep(step: "application", application: application))
        try conversation.hear("waiting")
        StandardOutput.say("Now, on a device of the circle: touchstone sync approve")
        guard let challenge = try conversation.hear("challenge").challenge else {
            throw Failure(.internalError, "touchstone-sync gave no challenge")
        }
        let reveal = try circle.call(SyncInterface.Reveal.self, .init(challenge: challenge)).reveal
        let joining = try Joining(application: application, challenge: challenge, reveal: reveal)
        try conversation.say(StoreStep(step: "reveal", reveal: reveal))
        StandardOutput.say("Type these digits there:")
        for line in LargeDigits.lines(joining.digits) { StandardOutput.say(line) }
        let links = try conversation.hear("links").links ?? []
        StandardOutput.say(
            "The other device accepted the digits. If you typed them there, type this device's passcode to join.")
        try circle.change(SyncInterface.Join.self, for: .joinCircle(digest: joining.digest)) {
            .init(links: links, passcode: $0)
        }
        try conversation.say("changed")
        try conversation.hear("done")
        StandardOutput.say("This device is in the circle, as \(PlainText.line(store.called)).")
        try SyncService.start(circle.paths)
    }
}

/// `touchstone sync approve`.
struct SyncApproveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Approve a device that wants to join, by the six digits that it shows.",
        discussion: """
            The command waits until a device asks, and says its name. Type the digits that the device shows, then this \
            device's passcode. If the digits are not right, the device is turned away. Without a terminal the digits and \
            the passcode are lines of standard input.

            Example:
              touchstone sync approve

            Exit status: 0 the device is in the circle; 1 this device is in no circle; 5 the digits were not the same, or \
            another device was faster; 6 the passcode is wrong; 69 the store does not answer.
            """)

    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        _ = try circle.circle()
        let conversation = try StoreConversation(circle.paths, ["approve"])
        var step = try conversation.hear()
        if step.step == "waiting" {
            StandardOutput.say("No device asks yet. On the new device: touchstone sync join STORE")
            step = try conversation.hear()
        }
        guard step.step == "application", let application = step.application else {
            throw Failure(.internalError, "touchstone-sync said '\(step.step)'")
        }
        let challenge = try circle.call(SyncInterface.Challenge.self, .init(application: application)).challenge
        try conversation.say(StoreStep(step: "challenge", challenge: challenge))
        guard let reveal = try conversation.hear("compare").reveal else {
            throw Failure(.internalError, "touchstone-sync gave no reveal")
        }
        let joining = try Joining(application: application, challenge: challenge, reveal: reveal)
        StandardOutput.say("\(joining.name) asks to join the circle.")
        guard try Self.digits() == joining.digits else {
            throw Failure(
                .refused,
                "the digits are not those of this device, so nothing changed. Somebody may be between your devices; if you did not "
                    + "mistype, do not try again with this store")
        }
        try circle.change(SyncInterface.Approve.self, for: .approveDevice(digest: joining.digest)) {
            .init(application: application, reveal: reveal, passcode: $0)
        }
        try conversation.say("changed")
        try conversation.hear("done")
        StandardOutput.say("\(joining.name) was approved. Type its passcode there, which completes it.")
    }

    /// Typed, so that they were compared.
    private static func digits() throws -> String {
        if Terminal.isInput { StandardError.write("Digits that it shows: ") }
        guard let line = readDigits() else { throw Failure(.cancelled, "no digits were entered; nothing changed") }
        return line.filter { !$0.isWhitespace }
    }

    /// Not by the library, which would take the passcode's line with it.
    private static func readDigits() -> String? {
        var line: [UInt8] = []
        while line.count < 64 {
            var byte: UInt8 = 0
            let count = unsafe read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// `touchstone sync remove`.
struct SyncRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a device from the circle, such as a lost one.",
        discussion: """
            It reads nothing that is written from then on. It still has what it had, so change the passwords that matter. \
            The command asks for this device's passcode.

            Example:
              touchstone sync remove old-laptop

            Exit status: 0 it is removed; 1 there is no such device; 5 another device was faster; 6 the passcode is \
            wrong; 69 the store does not answer.
            """)

    @Argument(help: "Its name, or the beginning of its identifier.", completion: .members) var name: String
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        let found = try circle.circle().members.filter { member in
            member.name == name || name.utf8.count >= 8 && member.member.hasPrefix(name)
        }
        guard let member = found.first else {
            throw Failure(.no, "the circle has no such device; 'touchstone sync members' lists them")
        }
        guard found.count == 1 else {
            throw Failure(
                .usage,
                "several devices have that name; give the beginning of one's identifier: 'touchstone sync members'")
        }
        guard !member.isThisDevice else { throw Failure(.usage, "that is this device: use 'touchstone sync leave'") }
        let conversation = try StoreConversation(circle.paths, ["change"])
        try conversation.hear("ready")
        try circle.remove(member)
        try conversation.say("changed")
        try conversation.hear("done")
        guard !member.isRecoveryKey else {
            return StandardOutput.say("\(PlainText.line(member.name)) is removed, and no longer lets anybody in.")
        }
        StandardOutput.say(
            "\(PlainText.line(member.name)) is removed. It reads nothing that is written from now on. It keeps what it had, so change "
                + "the passwords that matter.")
    }
}

/// `touchstone sync leave`.
struct SyncLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Take this device out of its circle; its items stay here.",
        discussion: """
            The command asks for this device's passcode. If the store is gone for ever, --without-store only makes this \
            device forget the circle; then remove it on another device, too.

            Example:
              touchstone sync leave

            Exit status: 0 it left; 1 it is in no circle; 6 the passcode is wrong; 69 the store does not answer.
            """)

    @Flag(help: "Do not tell the other devices, because the store is gone.") var withoutStore = false
    @OptionGroup var option: DeviceOption

    func run() throws {
        let circle = try CircleClient(option.paths)
        guard let member = try circle.circle().members.first(where: \.isThisDevice) else {
            throw Failure.noCircle(circle.paths)
        }
        let conversation = try StoreConversation(circle.paths, ["leave"] + (withoutStore ? ["--forget"] : []))
        try conversation.hear("ready")
        try circle.remove(member)
        // Once more: what cannot come back from the store is forgotten at once.
        if withoutStore, try circle.call(SyncInterface.GetStatus.self).circle != nil { try circle.remove(member) }
        try conversation.say("changed")
        try conversation.hear("done")
        try SyncService.stop(circle.paths)
        StandardOutput.say("This device left the circle. Its items stay here, and no longer change with the others.")
    }
}

extension CircleClient {
    fileprivate func remove(_ member: SyncInterface.Member) throws {
        try change(SyncInterface.Remove.self, for: .removeDevice(member: member.member, name: member.name)) {
            .init(member: member.member, name: member.name, passcode: $0)
        }
    }
}

extension CompletionKind {
    /// The circle's other devices; nothing if the device does not answer.
    static var members: CompletionKind {
        .custom { _, _, _ in
            guard let device = try? DeviceClient(DeviceName.paths(nil)),
                let status = try? device.call(SyncInterface.GetStatus.self)
            else { return [] }
            return status.members.filter { !$0.isThisDevice }.map(\.name)
        }
    }
}
