import BridgeCore
internal import Foundation
internal import SSHAgentProtocol

/// What the command line of `ssh` names: a claim of whoever started it.
enum Destination {
    /// Options of ssh(1) that take a value.
    private static let valued = Set("BbcDEeFIiJLlmOopQRSWw")

    /// The host of a command line of `ssh`, as known_hosts writes it; nil if it names no host.
    static func host(ofCommandLine arguments: [String]) -> String? {
        guard arguments.first?.split(separator: "/").last == "ssh" else { return nil }
        var port: String?
        var rest = arguments.dropFirst().prefix(256)
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-"), argument.count > 1 else {
                return named(argument, port)
            }
            if argument == "--" { return rest.first.flatMap { named($0, port) } }
            // Letters without a value, then perhaps one with its value behind it, or in the next argument.
            let letters = argument.dropFirst()
            guard let index = letters.firstIndex(where: valued.contains) else { continue }
            let behind = letters[letters.index(after: index)...]
            let value = behind.isEmpty ? rest.popFirst() : String(behind)
            if letters[index] == "p" { port = value }
        }
        return nil
    }

    private static func named(_ destination: String, _ port: String?) -> String? {
        var host = Substring(destination)
        var port = port
        if host.hasPrefix("ssh://") {
            host = host.dropFirst(6).prefix { $0 != "/" }
            if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
                port = String(host[host.index(after: colon)...])
                host = host[..<colon]
            }
        }
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard (1...255).contains(host.count) else { return nil }
        let name = host.lowercased()
        return port == nil || port == "22" ? name : "[\(name)]:\(port ?? "")"
    }

    /// The host that a client's command line names.
    static func host(of client: Client) -> String? {
        guard let process = client.process, let executable = client.executable, executable.hasSuffix("/ssh"),
            let bytes = FileManager.default.contents(atPath: "/proc/\(process.processID)/cmdline")
        else { return nil }
        return host(ofCommandLine: bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The system's known_hosts and the user's.
    static func knownHosts() -> KnownHosts {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()
        return knownHosts(["/etc/ssh/ssh_known_hosts", "\(home)/.ssh/known_hosts", "\(home)/.ssh/known_hosts2"])
    }

    /// What these files say: bytes that are no text spoil their own line, and not the others.
    static func knownHosts(_ paths: [String]) -> KnownHosts {
        KnownHosts(
            paths.compactMap { FileManager.default.contents(atPath: $0) }.map { String(decoding: $0, as: UTF8.self) })
    }
}
