import Foundation

/// ssh's settings of this user: which agent it asks.
enum SSHSettings {
    static var path: String { "\(ConfigurationFiles.home)/.ssh/config" }
    static var environmentPath: String { "\(ConfigurationFiles.directory)/environment.d/touchstone-ssh-agent.conf" }

    private static let mark = "# From 'touchstone bridge enable ssh'; 'touchstone bridge disable ssh' removes it."

    /// The settings with the agent for all hosts, behind what is there: an agent named above for one host stays.
    static func naming(_ socket: String, in settings: Data) -> Data {
        let block = "\(mark)\nHost *\n    IdentityAgent \(quoted(socket))\n"
        guard settings.range(of: Data(block.utf8)) == nil else { return settings }
        let gap = settings.isEmpty ? "" : settings.last == UInt8(ascii: "\n") ? "\n" : "\n\n"
        return settings + Data((gap + block).utf8)
    }

    /// ssh takes `%` for a token of its own.
    private static func quoted(_ socket: String) -> String { "\"\(socket.replacingOccurrences(of: "%", with: "%%"))\"" }

    /// The line that names another agent for all hosts, counted from 1; nil if there is no such line.
    static func otherAgent(than socket: String, in settings: Data) -> Int? {
        var isForAll = true
        for (index, line) in settings.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            let words = String(decoding: line, as: UTF8.self)
                .split(whereSeparator: { $0.isWhitespace || $0 == "=" }).map(String.init)
            guard let keyword = words.first?.lowercased(), words.count > 1 else { continue }
            switch keyword {
            case "host": isForAll = words.dropFirst().contains("*")
            case "match": isForAll = words[1].lowercased() == "all"
            case "identityagent" where isForAll:
                guard words.dropFirst().joined(separator: " ") != quoted(socket) else { return nil }
                return index + 1
            default: break
            }
        }
        return nil
    }

    static func environment(_ socket: String) -> Data { Data("SSH_AUTH_SOCK=\(socket)\n".utf8) }
}
