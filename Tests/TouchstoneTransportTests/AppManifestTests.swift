import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneTransport

@testable import TouchstonePeers

/// A directory of manifests, and what is said of those that are refused.
final class ManifestDirectory: Sendable {
    let path: String
    let reports = Events<String>()
    private let parent: URL

    init() throws {
        parent = FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(UUID().uuidString.prefix(8))")
        let url = parent.appendingPathComponent("apps.d")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(at: parent) }

    var directory: AppManifests.Directory { .init(path: path, owner: getuid()) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ text: String, mode: mode_t = 0o644) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        chmod(file(name), mode)
    }

    /// A manifest for the app `snap:NAME`.
    func writeSnap(
        _ file: String, _ name: String, family: String = "F", groups: String = "F.a", applicationGroups: String = ""
    ) throws {
        try write(
            file,
            """
            [Application]
            Identity=snap:\(name)
            Name=\(file)
            Family=\(family)
            keychain-access-groups=\(groups)
            application-groups=\(applicationGroups)
            """)
    }

    func manifests(_ more: [AppManifests.Directory] = []) -> AppManifests {
        AppManifests([directory] + more) { [reports] in reports.append($0) }
    }
}

/// What a manifest may say, and which are refused.
@Suite struct AppManifestTests {
    private static let header = "[Application]\nIdentity=flatpak:org.example.App\nName=Example\n"

    private static func manifest(_ text: String) throws -> AppManifest { try AppManifest(KeyFile(Data(text.utf8))) }

    @Test("KC-40: every key of a manifest, groups in their order") func everyKey() throws {
        let manifest = try Self.manifest(
            """
            # A comment

            [Application]
            Identity = /usr/bin/example
            Name=Beispiel für alle
            Family=ABCDE12345
            SHA256=\(String(repeating: "0a", count: 32));\(String(repeating: "f9", count: 32));
            keychain-access-groups=ABCDE12345.z;ABCDE12345.a
            application-groups=group.org.example;ABCDE12345.files;
            NSFaceIDUsageDescription=Opens the safe = quickly; really
            X-Example-Note=nobody's

            [X-Example]
            any=thing
            """)
        #expect(manifest.identity == "/usr/bin/example")
        #expect(manifest.name == "Beispiel für alle")
        #expect(manifest.family == "ABCDE12345")
        #expect(manifest.digests.count == 2)
        #expect(manifest.keychainAccessGroups == ["ABCDE12345.z", "ABCDE12345.a"])
        #expect(manifest.applicationGroups == ["group.org.example", "ABCDE12345.files"])
        #expect(manifest.faceIDUsageDescription == "Opens the safe = quickly; really")
    }

    @Test("ND-2: a bridge's manifest says that it acts for clients, in one word of two")
    func actsForClients() throws {
        #expect(try Self.manifest(Self.header + "ActsForClients=true\n").actsForClients)
        #expect(try !Self.manifest(Self.header + "ActsForClients=false\n").actsForClients)
        #expect(try !Self.manifest(Self.header).actsForClients)
        for value in ["yes", "True", "1", ""] {
            #expect(throws: AppManifest.Refused.self) {
                try Self.manifest(Self.header + "ActsForClients=\(value)\n")
            }
        }
    }

    @Test(
        "ND-9: a template's manifest speaks for its instances, one for the instance itself wins, and no other unit is one"
    )
    func templates() throws {
        let directory = try ManifestDirectory()
        try directory.write(
            "a.conf", "[Application]\nIdentity=unit:bridge@.service\nName=Bridge\nActsForClients=true\n")
        try directory.write("b.conf", "[Application]\nIdentity=unit:bridge@7.service\nName=Seven\n")
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "unit:bridge@1000.service")?.actsForClients == true)
        #expect(try manifests.manifest(for: "unit:bridge@a@b.service")?.name == "Bridge")
        #expect(try manifests.manifest(for: "unit:bridge@7.service")?.name == "Seven")
        for other in [
            "unit:bridge.service", "unit:xbridge@1.service", "unit:bridge@1.socket", "snap:bridge@1.service",
            "/usr/bin/bridge@1.service",
        ] {
            #expect(try manifests.manifest(for: AppIdentifier(other)) == nil)
        }
    }

    @Test func onlyAnIdentityAndANameAreNeeded() throws {
        let manifest = try Self.manifest(Self.header)
        #expect(manifest.identity == "flatpak:org.example.App")
        #expect(manifest.keychainAccessGroups == [])
        #expect(manifest.applicationGroups == [])
        #expect(manifest.digests == [])
        #expect(manifest.family == nil)
    }

    @Test(
        arguments: [
            "flatpak:org.example.App", "snap:firefox", "snap:hello_2", "unit:cups.service", "unit:getty@tty1.service",
            "unit:dev-disk-by\\x2did.service", "/usr/bin/x", "/opt/a b/c",
        ])
    func identities(_ identity: String) throws {
        #expect(try Self.manifest("[Application]\nIdentity=\(identity)\nName=x\n").identity == AppIdentifier(identity))
    }

    @Test(
        arguments: [
            "", "flatpak:", "flatpak:a b", "snap:a/b", "unit:cups", "unit:.service", "unit:a/b.service", "process:x",
            "usr/bin/x", "/", "/usr//bin", "/usr/./x", "/usr/../x", "/usr/bin/", "org.example.App", ":x",
        ])
    func otherIdentitiesAreRefused(_ identity: String) {
        #expect(throws: AppManifest.Refused.self) {
            try Self.manifest("[Application]\nIdentity=\(identity)\nName=x\n")
        }
    }

    @Test(
        arguments: [
            ("", "it has no [Application]"), ("[Applicaton]\n", "it has no [Application]"),
            ("[Application]\nName=x\n", "Identity is not"), ("[Application]\nIdentity=snap:x\n", "Name is missing"),
            ("[Application]\nIdentity=snap:x\nName=\n", "Name is missing"),
            (header + "keychain-access-group=F.a\n", "keychain-access-group is unknown"),
            (header + "[Other]\n", "[Other] is unknown"),
            (header + "SHA256=\(String(repeating: "0", count: 64))\n", "SHA256 is only for the path"),
            ("[Application]\nIdentity=/x\nName=x\nSHA256=0\n", "SHA256 is not"),
            ("[Application]\nIdentity=/x\nName=x\nSHA256=\n", "SHA256 is not"),
            ("[Application]\nIdentity=/x\nName=x\nSHA256=\(String(repeating: "A", count: 64))\n", "SHA256 is not"),
            (header + "Family=a.b\n", "Family is not"), (header + "Family=\n", "Family is not"),
            (header + "Family=group\n", "Family is not"),
            (header + "keychain-access-groups=F.a\n", "F.a is not of the app's family"),
            (header + "application-groups=group.a\n", "group.a is not of the app's family"),
            (header + "Family=F\nkeychain-access-groups=G.a\n", "G.a is not of the app's family"),
            (header + "Family=F\nkeychain-access-groups=FF.a\n", "FF.a is not of the app's family"),
            (header + "Family=F\nkeychain-access-groups=group.a\n", "group.a is not of the app's family"),
            (header + "Family=F\nkeychain-access-groups=F\n", "F is not of the app's family"),
            (header + "Family=F\nkeychain-access-groups=F.\n", "\"F.\" is not the name of a group"),
            (header + "Family=F\nkeychain-access-groups=F.a;;F.b\n", "\"\" is not the name of a group"),
            (header + "Family=F\nkeychain-access-groups=F.a b\n", "\"F.a b\" is not the name of a group"),
            (header + "Family=F\nkeychain-access-groups=F.ä\n", "\"F.ä\" is not the name of a group"),
            (header + "Family=F\nkeychain-access-groups=F.a;F.b;F.a\n", "F.a is named twice"),
            (header + "Family=F\nkeychain-access-groups=F.a\napplication-groups=F.a\n", "F.a is named twice"),
            (
                header + "Family=F\nkeychain-access-groups=" + (0...64).map { "F.\($0)" }.joined(separator: ";") + "\n",
                "more than 64 groups"
            ),
            (
                header + "Family=F\nkeychain-access-groups=F." + String(repeating: "a", count: 254) + "\n",
                "name of a group"
            ),
        ])
    func whatIsNotUnderstoodIsRefusedWithTheReason(_ text: String, _ reason: String) {
        #expect { try Self.manifest(text) } throws: { "\($0)".contains(reason) }
    }

    @Test(
        arguments: [
            ("[Application]\nName=a\nName=b\n", "line 3 says Name again"),
            ("[A]\n[B]\n[A]\n", "line 3 begins [A] again"),
            ("Name=a\n", "line 1 stands before the first group"), ("[A]\nName\n", "line 2 is not key=value"),
            ("[A]\n=x\n", "line 2 has no key"), ("[A]\r\nName=x\r\n", "line 1 has a control character"),
            ("[A]\nName=a\u{1B}[0m\n", "line 2 has a control character"),
            ("[A]\nName=a\u{85}\n", "line 2 has a control character"),
        ])
    func malformedFilesAreRefusedWithTheLine(_ text: String, _ reason: String) {
        #expect { try KeyFile(Data(text.utf8)) } throws: { "\($0)" == reason }
    }

    @Test func bytesThatAreNoTextAreRefused() {
        #expect { try KeyFile(Data([0x5B, 0x41, 0x5D, 0x0A, 0xFF])) } throws: { "\($0)" == "line 2 is not UTF-8" }
    }

    @Test("No bytes make the reader do anything but accept or refuse") func randomBytes() {
        var generator = SystemRandomNumberGenerator()
        let words = Array("[]=;#\n\n Application Identity=snap:x Name Family F. SHA256 \u{FF}\0".utf8)
        for _ in 0..<2000 {
            let bytes = Data((0..<Int.random(in: 0..<200, using: &generator)).map { _ in words.randomElement() ?? 0 })
            _ = try? AppManifest(KeyFile(bytes))
        }
    }

    // MARK: files

    @Test func theAdministratorsFileWinsOverThePackages() throws {
        let (etc, usr) = (try ManifestDirectory(), try ManifestDirectory())
        try etc.writeSnap("a.conf", "a", groups: "F.etc")
        try usr.writeSnap("a.conf", "a", groups: "F.usr")
        try usr.writeSnap("b.conf", "b", groups: "F.usr")
        let manifests = etc.manifests([usr.directory])
        #expect(try manifests.manifest(for: "snap:a")?.keychainAccessGroups == ["F.etc"])
        #expect(try manifests.manifest(for: "snap:b")?.keychainAccessGroups == ["F.usr"])
        #expect(try manifests.manifest(for: "snap:c") == nil)
        #expect(etc.reports.all == [])
        // Also where what it says is not understood: it hides the other all the same.
        try etc.write("b.conf", "")
        #expect(try manifests.manifest(for: "snap:b") == nil)
        #expect(try manifests.manifest(for: "snap:a")?.keychainAccessGroups == ["F.etc"])
        #expect(etc.reports.all == ["\(etc.file("b.conf")) is not used: it has no [Application]"])
    }

    @Test func changesAreSeenWithoutARestart() throws {
        let directory = try ManifestDirectory()
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "snap:a") == nil)
        try directory.writeSnap("a.conf", "a", groups: "F.1")
        #expect(try manifests.manifest(for: "snap:a")?.keychainAccessGroups == ["F.1"])
        // In place, to the same length, and with the date it had.
        let date = try FileManager.default.attributesOfItem(atPath: directory.file("a.conf"))[.modificationDate]
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.file("a.conf")))
        let text = try #require(try file.readToEnd().map { String(decoding: $0, as: UTF8.self) })
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(text.replacingOccurrences(of: "F.1", with: "F.2").utf8))
        try file.close()
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(date)], ofItemAtPath: directory.file("a.conf"))
        #expect(try manifests.manifest(for: "snap:a")?.keychainAccessGroups == ["F.2"])
        try FileManager.default.removeItem(atPath: directory.file("a.conf"))
        #expect(try manifests.manifest(for: "snap:a") == nil)
        try FileManager.default.removeItem(atPath: directory.path)
        #expect(try manifests.manifest(for: "snap:a") == nil)
        #expect(directory.reports.all == [])
    }

    @Test func aRefusedFileIsReportedOnceAndTheOthersWork() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a")
        try directory.write("b.conf", "nonsense")
        try directory.write("notes.txt", "nonsense")
        try directory.write(".c.conf", "nonsense")
        let manifests = directory.manifests()
        for _ in 0..<3 { #expect(try manifests.manifest(for: "snap:a") != nil) }
        #expect(directory.reports.all == ["\(directory.file("b.conf")) is not used: line 1 is not key=value"])
    }

    @Test("A file that others can write to, a symbolic link, a pipe and a file without end are refused")
    func unsafeFiles() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("good.conf", "good")
        for (name, mode) in [("group", 0o664), ("others", 0o646)] as [(String, mode_t)] {
            try directory.writeSnap("\(name).conf", name)
            chmod(directory.file("\(name).conf"), mode)
        }
        symlink(directory.file("good.conf"), directory.file("link.conf"))
        mkfifo(directory.file("pipe.conf"), 0o644)
        try directory.write("long.conf", String(repeating: "#\n", count: 40_000))
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "snap:good") != nil)
        #expect(try manifests.manifest(for: "snap:group") == nil)
        #expect(try manifests.manifest(for: "snap:others") == nil)
        let expected = [
            ("group", "others can write to it"), ("link", "it is a symbolic link"),
            ("long", "it is longer than 65536 bytes"), ("others", "others can write to it"),
            ("pipe", "it is not a regular file"),
        ].map { "\(directory.file($0.0 + ".conf")) is not used: \($0.1)" }
        #expect(directory.reports.all == expected)
    }

    @Test func aDirectoryThatOthersCanWriteToIsNotRead() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a")
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "snap:a") != nil)
        chmod(directory.path, 0o777)
        #expect(try manifests.manifest(for: "snap:a") == nil)
        #expect(directory.reports.all == ["\(directory.path) is not read: others can write to it"])
        chmod(directory.path, 0o755)
        #expect(try manifests.manifest(for: "snap:a") != nil)
    }

    @Test("Another user's file or directory is refused", .enabled(if: getuid() == 0, "needs to give files away"))
    func anotherUsersFile() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a")
        try directory.writeSnap("b.conf", "b")
        chown(directory.file("a.conf"), 12345, 0)
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "snap:a") == nil)
        #expect(try manifests.manifest(for: "snap:b") != nil)
        chown(directory.path, 12345, 0)
        #expect(try manifests.manifest(for: "snap:b") == nil)
        #expect(
            directory.reports.all == [
                "\(directory.file("a.conf")) is not used: it belongs to user 12345",
                "\(directory.path) is not read: it belongs to user 12345",
            ])
    }

    @Test(
        "What is the developer's own counts for a simulated device, and not for the system", .enabled(if: getuid() != 0)
    )
    func ownersFile() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a")
        #expect(try directory.manifests().manifest(for: "snap:a") != nil)
        #expect(try AppManifests([.init(path: directory.path)]) { _ in }.manifest(for: "snap:a") == nil)
    }

    @Test func theFirstFileSpeaksForAnApp() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a", groups: "F.first")
        try directory.writeSnap("b.conf", "a", groups: "F.second")
        #expect(try directory.manifests().manifest(for: "snap:a")?.keychainAccessGroups == ["F.first"])
        let (first, second) = (directory.file("a.conf"), directory.file("b.conf"))
        #expect(directory.reports.all == ["\(second) is not used: \(first) speaks for snap:a already"])
    }

    @Test("KC-43: an application group that two families name is neither's; one that apps of one family name is theirs")
    func groupsOfTwoFamilies() throws {
        let directory = try ManifestDirectory()
        try directory.writeSnap("a.conf", "a", family: "F", groups: "", applicationGroups: "group.x")
        try directory.writeSnap("b.conf", "b", family: "F", groups: "", applicationGroups: "group.x")
        let manifests = directory.manifests()
        #expect(try manifests.manifest(for: "snap:a")?.applicationGroups == ["group.x"])
        #expect(try manifests.manifest(for: "snap:b")?.applicationGroups == ["group.x"])
        try directory.writeSnap("c.conf", "c", family: "G", groups: "", applicationGroups: "group.x")
        for name in ["a", "b", "c"] { #expect(try manifests.manifest(for: "snap:\(name)") == nil) }
        let expected = ["a", "b", "c"].map {
            "\(directory.file($0 + ".conf")) is not used: group.x is named by more than one family"
        }
        #expect(directory.reports.all == expected)
    }

    @Test(
        "AT: without descriptors it is unknown what the manifests say, also where one of them could not be opened once")
    func withoutDescriptors() async {
        // The limit is of a process, so that the test has one of its own.
        await #expect(processExitsWith: .success) {
            let directory = try ManifestDirectory()
            try directory.writeSnap("a.conf", "a")
            let manifests = directory.manifests()
            let limit = try DescriptorLimit()
            // None; one, for the names and the directory; and one for a file, too.
            for left in 0...1 {
                limit.leave(left)
                #expect(throws: Shortage.self) { try manifests.manifest(for: "snap:a") }
                #expect(throws: Shortage.self) { try manifests.nameDigests() }
            }
            limit.leave(2)
            #expect(try manifests.manifest(for: "snap:a") != nil)
            #expect(directory.reports.all.isEmpty)
        }
    }
}
