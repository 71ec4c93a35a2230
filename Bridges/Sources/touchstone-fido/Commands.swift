import ArgumentParser
import BridgeCore
import CTAP
import Foundation
import Glibc

/// Where the service answers its owner's commands.
struct ServiceSocket: ParsableArguments {
    @Option(help: ArgumentHelp("The socket of the service.", valueName: "path"))
    var socket: String?

    private struct Call: Encodable { var method: String; var parameters: [String: String] }

    /// - Throws: A sentence for whoever typed the command.
    func call(_ method: String, _ parameters: [String: String] = [:]) throws -> PasskeysReply.Parameters {
        let environment = ProcessInfo.processInfo.environment
        let path = socket ?? environment["TOUCHSTONE_FIDO"] ?? "/run/touchstone/\(getuid())/fido.sock"
        let request = Array(
            try JSONEncoder().encode(Call(method: "io.touchstone.Passkeys.\(method)", parameters: parameters)))
        let answer: [UInt8]
        do {
            answer = try ServiceConnection(path: path).exchange(request + [0], longest: 1 << 20) { bytes in
                bytes.firstIndex(of: 0).map { .bytes($0 + 1) } ?? .unknown
            }
        } catch {
            throw Problem("touchstone-fido does not answer; run 'touchstone bridge enable fido'")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let reply = try? decoder.decode(PasskeysReply.self, from: Data(answer.dropLast())) else {
            throw Problem("touchstone-fido answered something else; is it of another version?")
        }
        guard reply.error == nil else { throw Problem(Self.words(reply.parameters.reason)) }
        return reply.parameters
    }

    private static func words(_ reason: String?) -> String {
        switch reason {
        case "cancelled": "nothing was removed, because you said no"
        case "denied": "nothing was removed, because the passcode was not entered"
        case "locked": "nothing was removed, because the device is locked"
        case "gone": "there is no such passkey; 'touchstone fido list' shows them"
        case "unavailable": "the device does not answer, or no agent shows prompts; 'touchstone doctor' says what to do"
        default: "it was refused: \(Sentence.printable(reason ?? "nobody says why"))"
        }
    }
}

/// A sentence for whoever typed the command.
struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// `touchstone fido list`.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List passkeys: what to call each of them, its site and its account.",
        discussion:
            "With --json the output is an array of objects with id, site, account if it has one, created and isDiscoverable."
    )

    @OptionGroup var service: ServiceSocket
    @Flag(help: "As JSON.") var json = false

    func run() throws {
        let passkeys = try service.call("List").passkeys ?? []
        guard !json else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .iso8601
            print(String(decoding: try encoder.encode(passkeys), as: UTF8.self))
            return
        }
        if passkeys.isEmpty { print("no passkeys") }
        for passkey in passkeys {
            let day = passkey.created.formatted(.iso8601.year().month().day())
            let account = passkey.account.map { "  \(Sentence.printable($0))" } ?? ""
            print("\(passkey.id.prefix(8))  \(day)  \(Sentence.printable(passkey.site))\(account)")
        }
    }
}

/// `touchstone fido remove`.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove a passkey for ever, after your passcode.",
        discussion: """
            The website still knows the passkey. Make sure that you can sign in there in another way, and remove it there too.

            EXAMPLE
              touchstone-fido remove example.com
            """)

    @Argument(help: "A site, if it has one passkey; else the beginning of an id, as 'list' shows it.") var passkey:
        String
    @OptionGroup var service: ServiceSocket

    func run() throws {
        let all = try service.call("List").passkeys ?? []
        let found = all.filter { $0.site == passkey || (passkey.count >= 4 && $0.id.hasPrefix(passkey)) }
        guard let one = found.first else {
            throw Problem("there is no such passkey; 'touchstone fido list' shows them")
        }
        guard found.count == 1 else {
            throw Problem(
                "\(found.count) passkeys are called that; name one by its id, as 'touchstone fido list' shows it")
        }
        _ = try service.call("Remove", ["id": one.id])
        print("removed the passkey of \(Sentence.printable(one.site))")
    }
}
