import Crypto
import Foundation
import SSHAgentProtocol
import Testing

@testable import SSHAgent

@Suite struct KnownHostsTests {
    let server = Server(), other = Server()

    func line(_ hosts: String, _ server: Server) -> String {
        "\(hosts) ssh-ed25519 \(Data(server.blob).base64EncodedString()) a comment\n"
    }

    @Test("SA-16: a plain line, a pattern and a hashed line confirm a name") func known() throws {
        let key = try #require(HostKey(blob: server.blob))
        let salt = Data(repeating: 5, count: 20)
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data("hidden.example".utf8), using: SymmetricKey(data: salt))
        let hosts = KnownHosts(
            "# nothing\n\n" + line("example.org,[example.org]:2222", server)
                + line("*.example.com,!bad.example.com", server)
                + line("|1|\(salt.base64EncodedString())|\(Data(code).base64EncodedString())", server))
        for name in ["example.org", "EXAMPLE.org", "[example.org]:2222", "a.example.com", "hidden.example"] {
            #expect(hosts.verdict(of: name, key) == .known, "\(name)")
        }
        for name in ["example.net", "[example.org]:22", "bad.example.com", "example.com", "hidden.example2"] {
            #expect(hosts.verdict(of: name, key) == .unknown, "\(name)")
        }
    }

    @Test("SA-16: no file spoils what another one revokes") func files() throws {
        let key = try #require(HostKey(blob: server.blob))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("known-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let system = folder.appendingPathComponent("system").path
        let users = folder.appendingPathComponent("users").path
        try Data(line("@revoked *", server).utf8).write(to: URL(fileURLWithPath: system))
        let endless = Data(repeating: UInt8(ascii: "\n"), count: 30_000)
        for spoiler in [Data(repeating: UInt8(ascii: "#"), count: 5 << 20), Data([0xFF, 0xFE, 10]), endless] {
            try (spoiler + Data(line("example.org", server).utf8)).write(to: URL(fileURLWithPath: users))
            #expect(Destination.knownHosts([users, system]).verdict(of: "example.org", key) == .revoked)
            #expect(Destination.knownHosts([users]).verdict(of: "example.org", key) != .revoked)
        }
        // The twin: bytes that are no text spoil their own line, and not the others of the file.
        try (Data([0xFF, 10]) + Data(line("@revoked *", server).utf8)).write(to: URL(fileURLWithPath: users))
        #expect(Destination.knownHosts([users]).verdict(of: "example.org", key) == .revoked)
    }

    @Test("SA-16: another key confirms nothing, and a revoked one is refused") func revoked() throws {
        let key = try #require(HostKey(blob: server.blob))
        #expect(KnownHosts(line("example.org", other)).verdict(of: "example.org", key) == .unknown)
        let both = line("example.org", server) + line("@revoked example.org", server)
        #expect(KnownHosts(both).verdict(of: "example.org", key) == .revoked)
        #expect(KnownHosts(line("@cert-authority example.org", server)).verdict(of: "example.org", key) == .unknown)
        #expect(KnownHosts(line("@revoked *", server)).verdict(of: "example.org", key) == .revoked)
        // Names are claims: what is revoked under one name is so under each, and without one.
        let elsewhere = KnownHosts(line("@revoked example.net", server) + line("example.org", server))
        #expect(elsewhere.verdict(of: "example.org", key) == .revoked && elsewhere.verdict(of: nil, key) == .revoked)
        #expect(KnownHosts(line("example.org", server)).verdict(of: nil, key) == .unknown)
        // With the ends of lines of Windows.
        let lines = both.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(KnownHosts(lines).verdict(of: "example.org", key) == .revoked)
    }
}
