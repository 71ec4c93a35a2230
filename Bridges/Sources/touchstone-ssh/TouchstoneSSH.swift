public import ArgumentParser
import BridgeCommands
import BridgeCore
import BridgeProcesses
import Foundation
import SSHAgent
import SSHAgentProtocol

/// Makes ssh keys in the enclave, and says what they may be used for.
@main
struct TouchstoneSSH: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-ssh",
        abstract: "Makes ssh keys that stay in Touchstone's enclave and ask for your finger.",
        discussion: """
            touchstone-ssh-agent has to run. It is found by --socket, else by TOUCHSTONE_SSH_SOCKET, else where 'touchstone bridge \
            enable ssh' puts its socket, else by SSH_AUTH_SOCK.

            EXAMPLE
              touchstone-ssh create laptop --for github.com
            """,
        version: BridgeVersion.current,
        subcommands: [Create.self, List.self, Remove.self, Set.self])
}

struct AgentSocket: KeysOfBridge {
    static let program = "touchstone-ssh-agent"

    @Option(help: ArgumentHelp("The agent's socket.", valueName: "path"))
    var socket: String?

    /// - Throws: A sentence for the person who typed it.
    func ask(_ request: ManagementRequest) throws -> [ManagementAnswer.Key] {
        let environment = ProcessInfo.processInfo.environment
        // Where 'touchstone bridge enable ssh' puts it; another agent may have SSH_AUTH_SOCK.
        let enabled = environment["XDG_RUNTIME_DIR"].map { "\($0)/touchstone/ssh-agent.sock" }
        let found = enabled.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }
        guard let path = socket ?? environment["TOUCHSTONE_SSH_SOCKET"] ?? found ?? environment["SSH_AUTH_SOCK"] else {
            throw Problem("no agent is found; run 'touchstone bridge enable ssh', or name its socket with --socket")
        }
        let message = AgentExtension.request(ManagementRequest.name, Array(try JSONEncoder().encode(request)))
        let frame = try exchange(message, at: path, longest: AgentRequest.longest + 4, AgentRequest.frameLength)
        guard let answer = AgentExtension.contents(frame) else {
            throw Problem(
                "another agent listens on \(path), or this touchstone-ssh is not "
                    + "beside its touchstone-ssh-agent; name the socket with --socket")
        }
        switch try JSONDecoder().decode(ManagementAnswer.self, from: Data(answer)) {
        case .keys(let keys): return keys
        case .failed("invalid"):
            throw Problem("there is a key of this name already, or there are too many; see: touchstone-ssh list")
        case .failed(let word): throw Problem(sentence(word))
        }
    }

    func names() throws -> [String] { try ask(.list).map(\.name) }

    func key(_ name: String) throws -> ManagementAnswer.Key {
        guard let key = try ask(.list).first(where: { $0.name == name }) else { throw Problem(sentence("gone")) }
        return key
    }
}

/// Where public halves are kept, for `IdentityFile` and `user.signingkey`.
enum PublicFile {
    static func url(_ name: String) -> URL {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? "\(environment["HOME"] ?? NSHomeDirectory())/.config"
        return URL(fileURLWithPath: base).appendingPathComponent("touchstone/ssh/\(name).pub")
    }

    static func check(_ name: String) throws {
        let allowed = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || [0x2D, 0x2E, 0x5F].contains(byte)
        }
        guard allowed, (1...64).contains(name.utf8.count), !name.hasPrefix("."), !name.hasPrefix("-") else {
            throw ValidationError(
                "a name has 1 to 64 letters, digits, '-', '_' and '.', and does not begin with a dot or '-'")
        }
    }
}

struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a key.",
        discussion: """
            EXAMPLE
              touchstone-ssh create laptop --for github.com
            """)

    @Argument(help: "What you call it.")
    var name: String
    @Option(name: .customLong("for"), help: ArgumentHelp("Sign logins for this host only.", valueName: "host"))
    var host: String?
    @Flag(exclusivity: .exclusive, help: "What using it takes (default: a finger or a face, or the passcode).")
    var asks: Asks = .userPresence
    @OptionGroup var socket: AgentSocket

    func validate() throws { try PublicFile.check(name) }

    func run() throws {
        let file = PublicFile.url(name)
        // Of another device's, or of one that was erased.
        if FileManager.default.fileExists(atPath: file.path),
            try !socket.ask(.list).contains(where: { $0.name == name })
        {
            throw Problem("\(file.path) is of another key: move that file away, or choose another name")
        }
        let keys = try socket.ask(.create(name: name, protection: asks.protection, host: host?.lowercased()))
        guard let key = keys.first else { throw Problem("the agent made no key") }
        let line = P256Key.line(blob: Array(key.blob), comment: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("\(line)\n".utf8).write(to: file, options: .atomic)
        print(line)
        print("public half: \(file.path)")
        asks.warn()
    }
}

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists keys, and what they may be used for.")
    @OptionGroup var socket: AgentSocket

    func run() throws {
        for key in try socket.ask(.list) {
            let settings = key.settings
            print(P256Key.line(blob: Array(key.blob), comment: key.name))
            let hosts = [settings.host].compactMap { $0 } + settings.pins
            print("  asks for:    \(key.protection.rawValue)")
            print(
                "  logins:      \(hosts.isEmpty ? "any host" : hosts.joined(separator: ", ")), again without asking for \(Int(settings.loginReuse)) s"
            )
            print(
                "  signatures:  \(settings.namespaces.joined(separator: ", ")), again without asking for \(Int(settings.messageReuse)) s"
            )
            print("  forwarded:   \(settings.forwarding.rawValue)")
            print("  other data:  \(settings.unknown.rawValue)")
        }
    }
}

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes a key for ever.")
    @Argument(help: "What you call it.", completion: .keys(of: AgentSocket.self))
    var name: String
    @OptionGroup var socket: AgentSocket

    func validate() throws { try PublicFile.check(name) }

    func run() throws {
        _ = try socket.key(name)
        _ = try socket.ask(.remove(name: name))
        try? FileManager.default.removeItem(at: PublicFile.url(name))
    }
}

struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what a key may be used for.",
        discussion: """
            EXAMPLE
              touchstone-ssh set laptop --forwarding ask --signature-reuse 300
            """)

    @Argument(help: "What you call it.", completion: .keys(of: AgentSocket.self))
    var name: String
    @Option(
        help: ArgumentHelp(
            "Host keys, as ssh-keygen -l writes them, separated by commas, or none.", valueName: "fingerprints"))
    var pin: String?
    @Option(help: ArgumentHelp("Namespaces of signatures, separated by commas, or none, or any.", valueName: "names"))
    var namespaces: String?
    @Option(help: "Requests from other hosts: refuse or ask.")
    var forwarding: KeySettings.Answer?
    @Option(help: "Data that is neither a login nor a signature of a namespace: refuse or ask.")
    var unknown: KeySettings.Answer?
    @Option(
        help: ArgumentHelp("Seconds for which a login may be repeated without asking, 0 to 300.", valueName: "seconds"))
    var loginReuse: Int?
    @Option(help: ArgumentHelp("Seconds for which signatures need no new approval, 0 to 300.", valueName: "seconds"))
    var signatureReuse: Int?
    @OptionGroup var socket: AgentSocket

    func validate() throws {
        try PublicFile.check(name)
        for seconds in [loginReuse, signatureReuse].compactMap({ $0 }) where !(0...300).contains(seconds) {
            throw ValidationError("an approval can be good for 0 to 300 seconds")
        }
    }

    func run() throws {
        var settings = try socket.key(name).settings
        func list(_ text: String) -> [String] {
            text == "none" ? [] : text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        if let pin {
            settings.pins = list(pin)
            if settings.pins.isEmpty { settings.host = nil }
        }
        if let namespaces { settings.namespaces = list(namespaces) }
        if let forwarding { settings.forwarding = forwarding }
        if let unknown { settings.unknown = unknown }
        if let loginReuse { settings.loginReuse = Double(loginReuse) }
        if let signatureReuse { settings.messageReuse = Double(signatureReuse) }
        _ = try socket.ask(.set(name: name, settings: settings))
    }
}

extension KeySettings.Answer: ExpressibleByArgument {}
