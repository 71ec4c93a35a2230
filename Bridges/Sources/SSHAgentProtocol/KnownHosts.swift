internal import Crypto
internal import Foundation

/// The lines of `known_hosts` files: they confirm a name, and any program of the user's can write them (SA-16).
public struct KnownHosts: Sendable {
    /// What the lines say of one name and one key.
    public enum Verdict: Hashable, Sendable {
        /// A line has both.
        case known
        /// A line says that the key is to be refused.
        case revoked
        /// No line has both.
        case unknown
    }

    private struct Line: Sendable {
        var marker: Substring?
        var hosts: Substring
        var key: [UInt8]
    }

    private let lines: [Line]

    private static let longest = 4 << 20
    private static let most = 20_000

    /// - Parameter files: Each whole, and each with a limit of its own: of one that is larger than 4 MiB, nothing counts.
    public init(_ files: String...) { self.init(files) }

    /// - Parameter files: Each whole, and each with a limit of its own: of one that is larger than 4 MiB, nothing counts.
    public init(_ files: [String]) { lines = files.flatMap(Self.lines) }

    private static func lines(_ text: String) -> [Line] {
        guard text.utf8.count <= longest else { return [] }
        // Bytes, since a line's end of Windows is one character, and so is a space with an accent.
        return text.utf8.split(separator: UInt8(ascii: "\n")).prefix(most).compactMap { line in
            var fields = line.split(whereSeparator: { " \t\r".utf8.contains($0) }).prefix(4).map { Substring($0) }
            guard let first = fields.first, !first.hasPrefix("#") else { return nil }
            var marker: Substring?
            if first.hasPrefix("@") { marker = fields.removeFirst() }
            guard fields.count >= 3, let hosts = fields.first,
                let blob = Data(base64Encoded: String(fields[fields.startIndex + 2])),
                let key = HostKey(blob: Array(blob))
            else { return nil }
            return Line(marker: marker, hosts: hosts, key: key.blob)
        }
    }

    /// - Parameters:
    ///   - name: As the client's command line has it; with another port than 22, `[name]:port`. nil: nobody knows it.
    ///   - key: The key that the host proved to have.
    /// - Returns: What the lines say. A revoked key is revoked under every name, since names are claims. A line of an authority says
    ///   nothing about a host's own key.
    public func verdict(of name: String?, _ key: HostKey) -> Verdict {
        let lines = lines.filter { $0.key == key.blob }
        if lines.contains(where: { $0.marker == "@revoked" }) { return .revoked }
        guard let name = name?.lowercased() else { return .unknown }
        return lines.contains { $0.marker == nil && Self.matches($0.hosts, name) } ? .known : .unknown
    }

    private static func matches(_ hosts: Substring, _ name: String) -> Bool {
        if hosts.hasPrefix("|1|") {
            let parts = hosts.split(separator: "|", omittingEmptySubsequences: false)
            guard parts.count == 4, let salt = Data(base64Encoded: String(parts[2])),
                let digest = Data(base64Encoded: String(parts[3]))
            else { return false }
            let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(name.utf8), using: SymmetricKey(data: salt))
            return Data(code) == digest
        }
        var isMatch = false
        for pattern in hosts.lowercased().split(separator: ",").prefix(64) {
            if pattern.hasPrefix("!") {
                if matches(Array(pattern.dropFirst().utf8), Array(name.utf8)) { return false }
            } else if matches(Array(pattern.utf8), Array(name.utf8)) {
                isMatch = true
            }
        }
        return isMatch
    }

    /// Whether a pattern with `*` and `?` matches: in steps at most the product of the lengths.
    private static func matches(_ pattern: [UInt8], _ name: [UInt8]) -> Bool {
        var (p, n, star, mark) = (0, 0, -1, 0)
        while n < name.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                (star, mark, p) = (p, n, p + 1)
            } else if p < pattern.count, pattern[p] == name[n] || pattern[p] == UInt8(ascii: "?") {
                (p, n) = (p + 1, n + 1)
            } else if star >= 0 {
                (p, mark) = (star + 1, mark + 1)
                n = mark
            } else {
                return false
            }
        }
        return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
