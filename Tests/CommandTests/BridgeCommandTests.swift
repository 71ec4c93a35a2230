import Foundation
import Testing

@testable import touchstone

struct BridgeCommandTests {
    private func change(_ before: String?, _ after: String, kind: FileChange.Kind = .text, previous: [String] = [])
        throws
        -> FileChange
    {
        try #require(
            FileChange(
                "/file", kind: kind, previous: previous, before: before.map { Data($0.utf8) }, after: Data(after.utf8)))
    }

    private func undone(_ change: FileChange, _ now: String?) throws -> FileChange.Undone {
        try change.undone(in: now.map { Data($0.utf8) })
    }

    @Test(
        "BR-5: a file gets back every byte",
        arguments: [
            ("", "a\n"), ("a\n", "a\nb\n"), ("a", "a\n\nb\n"), ("a\nb\nc\n", "a\nB\nc\n"), ("a\na\n", "a\na\na\n"),
            ("a\r\nb", "b"), ("x store\n", "x touchstone\n"), ("a\nb\n", "c\nb\n"), ("\n\n", "\n"),
        ])
    func restored(before: String, after: String) throws {
        #expect(try undone(change(before, after), after) == .text(Data(before.utf8)))
        #expect(try undone(change(nil, after), after) == .nothing)
    }

    @Test("BR-5: lines that somebody added since stay") func changedSince() throws {
        let made = try change("a\n", "a\nours\n")
        #expect(try undone(made, "new\na\nours\nmore\n") == .text(Data("new\na\nmore\n".utf8)))
        #expect(try undone(made, "a\n") == .unchanged)
        #expect(try undone(made, nil) == .unchanged)
        // Which of them was written by us?
        #expect(try undone(made, "ours\na\nours\nb\n") == .unclear)
        #expect(try undone(change(nil, "ours\n"), "ours\nmore\n") == .text(Data("more\n".utf8)))
    }

    @Test func whatStaysTheSameIsNoChange() {
        #expect(FileChange("/file", before: Data("a".utf8), after: Data("a".utf8)) == nil)
        #expect(FileChange("/file", before: nil, after: Data()) != nil)
    }

    @Test("BR-5: the record keeps no line but those that were changed") func recordHasNoOtherLine() throws {
        let made = try change("secret\nb\nsecret\n", "secret\nc\nsecret\n")
        #expect(String(decoding: made.removed, as: UTF8.self) == "b\n")
        #expect(String(decoding: made.inserted, as: UTF8.self) == "c\n")
    }

    // MARK: docker

    @Test(
        "BR-5: docker's other settings stay as they are",
        arguments: [
            "", "{}", "{\n}\n", "{\"auths\": {\"a\": {}}}", "{\n\t\"auths\": {\n\t\t\"b\": {}\n\t},\n\t\"x\": 1\n}",
            "{\"credsStore\": \"pass\"}", "{\"a\": 1, \"credsStore\":\"pass\", \"b\": [2]}",
            "{ \"credsStore\" : \"\" }",
        ])
    func docker(settings: String) throws {
        let data = Data(settings.utf8)
        let old = DockerSettings.store(in: data)
        let named = try #require(try DockerSettings.setting("touchstone", in: data))
        #expect(DockerSettings.store(in: named) == "touchstone")
        let back = try #require(try DockerSettings.setting(nil, in: named))
        #expect(DockerSettings.store(in: back) == nil)
        if let old, !old.isEmpty {
            #expect(
                try DockerSettings.setting(old, in: named).map { String(decoding: $0, as: UTF8.self) }?.contains("pass")
                    == true)
        }
        let made = try change(
            settings, String(decoding: named, as: UTF8.self), kind: .docker, previous: old.map { [$0] } ?? [])
        #expect(try made.undone(in: named) == .text(data))
    }

    @Test(
        "BR-5: settings of docker's that cannot be changed safely are left alone",
        arguments: [
            "nonsense", "[]", "{\"nested\": {\"credsStore\": \"pass\"}}", "{\"credsStore\": 1}",
            "{\"credsStore\": \"a\\\"b\"}",
        ])
    func dockerRefuses(settings: String) throws {
        #expect(try DockerSettings.setting("touchstone", in: Data(settings.utf8)) == nil)
    }

    @Test("BR-5: docker wrote its settings anew meanwhile") func dockerRewrites() throws {
        let made = try change(
            "{\"credsStore\": \"pass\"}", "{\"credsStore\": \"touchstone\"}", kind: .docker, previous: ["pass"])
        let now = "{\n\t\"auths\": {\n\t\t\"r\": {}\n\t},\n\t\"credsStore\": \"touchstone\"\n}"
        #expect(try undone(made, now) == .text(Data(now.replacingOccurrences(of: "touchstone", with: "pass").utf8)))
        #expect(try undone(made, "{\"credsStore\": \"another\"}") == .unchanged)
    }

    // MARK: ssh

    @Test(
        "BR-5: another agent for all hosts is seen",
        arguments: [
            ("IdentityAgent /other\n", 1), ("Host x\n  User u\nHost *\n  identityagent=\"/other\"\n", 4),
            ("Match all\nIdentityAgent none\n", 2),
        ])
    func otherAgent(settings: String, line: Int) {
        #expect(SSHSettings.otherAgent(than: "/ours", in: Data(settings.utf8)) == line)
    }

    @Test(
        "BR-5: an agent for some hosts, or Touchstone's, is not in the way",
        arguments: [
            "", "Host x\n  IdentityAgent /other\n", "Match user u\nIdentityAgent /other\n",
            "Host *\n  IdentityAgent \"/ours\"\n",
            "# IdentityAgent /other\n", "Host *\n IdentityAgent \"/ours\"\nHost *\n IdentityAgent /other\n",
        ])
    func noOtherAgent(settings: String) {
        #expect(SSHSettings.otherAgent(than: "/ours", in: Data(settings.utf8)) == nil)
    }

    @Test func sshSettingsAreWrittenOnce() {
        let once = SSHSettings.naming("/run/a b%", in: Data("Host x".utf8))
        #expect(String(decoding: once, as: UTF8.self).hasPrefix("Host x\n\n# "))
        #expect(String(decoding: once, as: UTF8.self).hasSuffix("Host *\n    IdentityAgent \"/run/a b%%\"\n"))
        #expect(SSHSettings.naming("/run/a b%", in: once) == once)
    }

    // MARK: git and systemd

    @Test func helpersOfGitAreKnown() {
        #expect(GitSettings.helper("/usr/bin/git-credential-touchstone") == "touchstone")
        #expect(GitSettings.helper("/a/git-credential-touchstone") == "/a/git-credential-touchstone")
        #expect(GitSettings.helper("/a b'/git-credential-touchstone") == "'/a b'\\''/git-credential-touchstone'")
        for path in ["/usr/bin", "/a", "/a b'"] {
            #expect(GitSettings.isOurs(GitSettings.helper("\(path)/git-credential-touchstone")))
        }
        #expect(!["store", "", "!touchstone", "cache --timeout 3"].contains(where: GitSettings.isOurs))
    }

    @Test(arguments: Resident.allCases) func packagedFilesAreTheOnesThatAreWritten(resident: Resident) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("system")
        let executable = "/usr/bin/\(resident.rawValue)"
        for unit in resident.units(executable: executable) {
            #expect(
                try String(contentsOf: root.appendingPathComponent("systemd-user/\(unit.name)"), encoding: .utf8)
                    == unit.text)
        }
        for manifest in resident.manifests(executable: executable, command: "/usr/bin/touchstone") {
            #expect(
                try String(contentsOf: root.appendingPathComponent("apps/\(manifest.name)"), encoding: .utf8)
                    == manifest.text)
        }
    }

    @Test func packagedFilesOfTheSessionAreTheOnesThatAreWritten() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("system")
        let units =
            SessionPart.deviceUnits(executable: "/usr/bin/touchstone")
            + [SessionPart.windowUnit(executable: "/usr/bin/touchstone-agent")]
        for unit in units {
            #expect(
                try String(contentsOf: root.appendingPathComponent("systemd-user/\(unit.name)"), encoding: .utf8)
                    == unit.text)
        }
        #expect(
            try String(
                contentsOf: root.appendingPathComponent("autostart/\(SessionPart.autostartName)"), encoding: .utf8)
                == SessionPart.autostart(executable: "/usr/bin/touchstone-agent", device: nil))
    }

    @Test func pathsAreQuotedForDesktops() {
        #expect(SessionPart.quotedForDesktop("/usr/bin/a") == "/usr/bin/a")
        #expect(SessionPart.quotedForDesktop("/a b/50%$x") == "\"/a b/50%%\\\\$x\"")
        #expect(SessionPart.autostart(executable: "/a", device: "two").contains("\nExec=/a --device two\n"))
        for device in [nil, "two"] {
            let entry = SessionPart.autostart(executable: "/a --device b/c", device: device)
            #expect(SessionPart.device(ofAutostart: Data(entry.utf8)) == device)
        }
    }

    @Test func pathsAreQuotedForSystemd() {
        #expect(UserUnit.quoted("/usr/bin/a") == "/usr/bin/a")
        #expect(UserUnit.quoted("/a b/50%$x\"") == "\"/a b/50%%$$x\\\"\"")
    }
}
