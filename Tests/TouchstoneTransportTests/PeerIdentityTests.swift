import CTouchstoneSystem
import Crypto
import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneTransport

@testable import TouchstonePeers

/// Who the server says its peers are.
@Suite struct PeerIdentityTests {
    @Test(
        arguments: [
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox.1f2e.scope", "firefox"),
            ("/system.slice/snap.lxd.daemon.service", "lxd"),
            ("/system.slice/snap.hello-world.sh.service/inner", "hello-world"),
        ])
    func snapsAreNamedByTheirControlGroup(_ path: String, _ name: String) {
        #expect(PeerIdentities.snap(inControlGroup: path) == name)
    }

    @Test(
        arguments: [
            "", "/", "/user.slice/user-1000.slice/session-2.scope", "/system.slice/snapd.service",
            "/system.slice/snap.service", "/system.slice/snap-core-1.mount",
            "/system.slice/xsnap.firefox.firefox.scope",
        ])
    func othersAreNoSnaps(_ path: String) {
        #expect(PeerIdentities.snap(inControlGroup: path) == nil)
    }

    @Test(
        "AT: systemd's own unit says which snap it is, not a group that a service was delegated",
        arguments: [
            ("/system.slice/snap.lxd.daemon.service", "lxd"), ("/system.slice/snap.lxd.daemon.service/inner", "lxd"),
            ("/system.slice/snap.lxd.daemon.1f2e.scope", "lxd"),
            ("/system.slice/system-x.slice/snap.lxd.daemon.service", "lxd"),
            ("/system.slice/owner.service/snap.lxd.daemon.service", nil),
            ("/system.slice/owner.service/x.slice/snap.lxd.daemon.service", nil),
            ("/system.slice/snap.lxd.daemon", nil), ("/system.slice/snap.lxd.mount", nil),
            ("/system.slice/snap.service", nil),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox.1f2e.scope", nil), ("", nil),
        ] as [(String, String?)])
    func snapServices(_ path: String, _ name: String?) {
        #expect(PeerIdentities.snap(ofServiceInControlGroup: path) == name)
    }

    @Test(
        arguments: [
            ("/system.slice/cups.service", "cups.service"),
            ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"),
            ("/system.slice/owner.service/inner", "owner.service"),
            // AT: what lies in a delegated group is named by the service.
            ("/system.slice/owner.service/cups.service", "owner.service"),
            ("/system.slice/owner.service/x.slice/cups.service", "owner.service"),
            ("/system.slice/owner.service/snap.lxd.daemon.service", "owner.service"),
        ])
    func servicesAreNamedByTheirUnit(_ path: String, _ name: String) {
        #expect(PeerIdentities.unit(ofControlGroup: path) == name)
    }

    @Test(
        arguments: [
            "", "/", "/init.scope", "/user.slice/user-1000.slice/session-2.scope",
            "/user.slice/user-1000.slice/user@1000.service",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/backup.service",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-terminal-1.scope",
            "/system.slice/docker-1.scope/cups.service", "/system.slice/docker-1.scope/system.slice/cups.service",
        ])
    func whatAPersonStartsIsNoService(_ path: String) {
        #expect(PeerIdentities.unit(ofControlGroup: path) == nil)
    }

    // MARK: real processes

    @Test func thisProcessIsKnownByItsExecutable() throws {
        let server = try ProbeServer()
        #expect(try server.connect().echo("who") == "who")
        let identity = try #require(try server.peers.wait()[0])
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(identity.processID == getpid())
        #expect(identity.userID == getuid())
        #expect(identity.executableDigest == (try Self.digest(executable)))
        // In a container or a service the stronger evidence comes first; on a developer's machine there is none.
        if identity.evidence == .executable {
            #expect(identity.identifier == AppIdentifier(executable))
            #expect(identity.name == URL(fileURLWithPath: executable).lastPathComponent)
        }
    }

    @Test func aCopiedProgramIsAnotherApp() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        let identity = try #require(try copy.identity(server, number: 1))
        #expect(identity.identifier == AppIdentifier(copy.path))
        #expect(identity.evidence == .executable)
        #expect(identity.executableDigest == (try Self.digest(copy.path)))
    }

    @Test func anUnlinkedProgramIsNotTheOneAtItsPath() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        try copy.start()
        try FileManager.default.moveItem(atPath: copy.path, toPath: copy.path + ".old")
        try FileManager.default.copyItem(atPath: copy.path + ".old", toPath: copy.path)
        try FileManager.default.removeItem(atPath: copy.path + ".old")
        let identity = try #require(try copy.whoAmI(server, number: 1))
        #expect(identity.identifier.rawValue.hasSuffix(" (replaced)"))
        #expect(identity.identifier.rawValue != copy.path)
        // The digest is of what runs, not of what lies there now; here they are the same bytes.
        #expect(identity.executableDigest == (try Self.digest(copy.path)))
    }

    @Test func aProgramRewrittenInPlaceHasAnotherDigestWhateverItsDateSays() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        try copy.setLastByte(1)
        let before = try #require(try copy.identity(server, number: 1))
        try copy.setLastByte(2)
        let after = try #require(try copy.identity(server, number: 2))
        #expect(before.identifier == after.identifier)
        #expect(before.executableDigest != after.executableDigest)
        #expect(after.executableDigest == (try Self.digest(copy.path)))
    }

    @Test("AT: without descriptors a peer is nobody, never the app that it would be outside its sandbox or its unit")
    func withoutDescriptors() async {
        // The limit is of a process, so that the test has one of its own.
        await #expect(processExitsWith: .success) {
            let manifests = AppManifests([], report: { _ in })
            let identities = PeerIdentities(
                ownerID: getuid(), manifests: manifests, readsElsewhere: true, report: { _ in })
            var ends: [Int32] = [-1, -1]
            #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let peer = try #require(identities.peer(ofSocket: ends[0]))
            let limit = try DescriptorLimit()
            limit.leave(0)
            #expect(peer.identify() == nil)
            limit.leave(8)
            #expect(peer.identify()?.processID == getpid())
        }
    }

    // MARK: usage description

    private static func infoPropertyList(_ description: String, executable: String? = nil) -> Data {
        let name = executable.map { "<key>CFBundleExecutable</key><string>\($0)</string>" } ?? ""
        return Data(
            "<plist version=\"1.0\"><dict>\(name)<key>NSFaceIDUsageDescription</key><string>\(description)</string></dict></plist>"
                .utf8)
    }

    @Test(
        "CE-11: the Info.plist beside the executable says what for, else the one in Resources; the manifest comes before both"
    )
    func usageDescription() throws {
        let manifests = try ManifestDirectory()
        let server = try ProbeServer(manifests: [manifests.directory])
        let program = try CopiedProgram(server.path)
        let folder = URL(fileURLWithPath: program.path).deletingLastPathComponent()
        let resources = folder.appendingPathComponent("Resources")
        #expect(try program.identity(server, number: 1)?.faceIDUsageDescription == nil)
        try FileManager.default.createDirectory(at: resources, withIntermediateDirectories: true)
        try Self.infoPropertyList("resources").write(to: resources.appendingPathComponent("Info.plist"))
        #expect(try program.identity(server, number: 2)?.faceIDUsageDescription == "resources")
        let beside = folder.appendingPathComponent("Info.plist")
        try Self.infoPropertyList("beside", executable: "program").write(to: beside)
        #expect(try program.identity(server, number: 3)?.faceIDUsageDescription == "beside")
        try manifests.write(
            "a.conf", "[Application]\nIdentity=\(program.path)\nName=One\nNSFaceIDUsageDescription=manifest\n")
        #expect(try program.identity(server, number: 4)?.faceIDUsageDescription == "manifest")
    }

    @Test(
        "CE-11: another executable's Info.plist, one too large, a link, a pipe and an empty one are not used",
        arguments: ["other", "large", "long", "link", "linked directory", "pipe", "empty", "directory"])
    func usageDescriptionNotUsed(_ kind: String) throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        let file = URL(fileURLWithPath: program.path).deletingLastPathComponent().appendingPathComponent("Info.plist")
        switch kind {
        case "other": try Self.infoPropertyList("a", executable: "neighbour").write(to: file)
        case "large": try (Self.infoPropertyList("a") + Data(repeating: 0x20, count: 64 << 10)).write(to: file)
        case "long": try Self.infoPropertyList(String(repeating: "a", count: 1025)).write(to: file)
        case "link":
            try Self.infoPropertyList("a").write(to: file.appendingPathExtension("real"))
            try FileManager.default.createSymbolicLink(
                at: file, withDestinationURL: file.appendingPathExtension("real"))
        case "linked directory":
            // AT: above the file, too.
            let folder = file.deletingLastPathComponent()
            let real = folder.appendingPathComponent("real")
            try FileManager.default.createDirectory(at: real, withIntermediateDirectories: false)
            try Self.infoPropertyList("a").write(to: real.appendingPathComponent("Info.plist"))
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("Resources"), withDestinationURL: real)
        case "pipe": #expect(mkfifo(file.path, 0o600) == 0)
        case "empty": try Self.infoPropertyList("").write(to: file)
        default: try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        }
        let identity = try #require(try program.identity(server, number: 1))
        #expect(identity.identifier == AppIdentifier(program.path))
        #expect(identity.faceIDUsageDescription == nil)
    }

    // MARK: descriptions

    @Test("KC-40, CE-11: a description of an executable says what a process of it is, and which file says so")
    func description() throws {
        let manifests = try ManifestDirectory()
        let server = try ProbeServer(manifests: [manifests.directory])
        let program = try CopiedProgram(server.path)
        let path = program.path
        func describe() -> AppDescription {
            PeerIdentities(ownerID: getuid(), manifests: manifests.manifests(), report: { _ in })
                .description(ofExecutable: path, userID: getuid())
        }
        func check(number: Int) throws -> AppDescription {
            let description = describe()
            let identity = try #require(try program.identity(server, number: number))
            #expect(description.identifier == identity.identifier.rawValue)
            #expect(description.name.value == identity.name)
            #expect(description.accessGroups.map(\.value) == identity.accessGroups.map(\.rawValue))
            #expect(description.faceIDUsageDescription?.value == identity.faceIDUsageDescription)
            #expect(description.executableDigest == identity.executableDigest)
            #expect(description.refusal == nil)
            return description
        }
        let plain = try check(number: 1)
        #expect(plain.name.origin == .executable)
        #expect(plain.accessGroups == [.init(path, .identifier)])
        let beside = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("Info.plist").path
        try Self.infoPropertyList("beside").write(to: URL(fileURLWithPath: beside))
        #expect(try check(number: 2).faceIDUsageDescription == .init("beside", .infoPropertyList, file: beside))
        let head = "[Application]\nIdentity=\(path)\nName=One\nFamily=F\nkeychain-access-groups=F.a\n"
        try manifests.write("a.conf", head + "application-groups=group.b\n")
        let file = manifests.file("a.conf")
        let named = try check(number: 3)
        #expect(named.name == .init("One", .manifest, file: file))
        #expect(
            named.accessGroups == [
                .init("F.a", .manifest, file: file), .init(path, .identifier), .init("group.b", .manifest, file: file),
            ])
        #expect(named.faceIDUsageDescription?.origin == .infoPropertyList)
        try manifests.write("a.conf", head + "NSFaceIDUsageDescription=manifest\n")
        #expect(try check(number: 4).faceIDUsageDescription == .init("manifest", .manifest, file: file))
        // A manifest that speaks of another file at this path.
        try manifests.write("a.conf", head + "SHA256=\(String(repeating: "0a", count: 32))\n")
        let other = try check(number: 5)
        #expect(other.identifier == "\(path) (other digest)")
        #expect(other.otherManifest == file)
        #expect(other.accessGroups == [.init("\(path) (other digest)", .identifier)])
        #expect(other.name.origin == .executable)
    }

    @Test("a program that nobody may read, and one whose path is too long, is said not to be served")
    func descriptionOfWhatIsNotServed() {
        let identities = PeerIdentities(ownerID: getuid(), manifests: AppManifests([]) { _ in }, report: { _ in })
        let missing = identities.description(ofExecutable: "/nonexistent", userID: getuid())
        #expect(missing.refusal == PeerIdentities.isUnreadable)
        #expect(PeerIdentities.refusal(of: AppIdentifier("/" + String(repeating: "a", count: 1023))) == nil)
        #expect(
            PeerIdentities.refusal(of: AppIdentifier("/" + String(repeating: "a", count: 1024)))?.contains("1024 bytes")
                == true)
    }

    // MARK: attacks

    @Test("AT: a program whose path is another spelling of the same characters is another app, with another manifest")
    func spellings() throws {
        let manifests = try ManifestDirectory()
        let server = try ProbeServer(manifests: [manifests.directory])
        let one = try CopiedProgram(server.path, in: "caf\u{e9}")
        let other = try CopiedProgram(server.path, besides: one, in: "cafe\u{301}")
        #expect(one.path == other.path)
        try manifests.write(
            "a.conf",
            "[Application]\nIdentity=\(one.path)\nName=One\nFamily=F\nkeychain-access-groups=F.a\n")
        let first = try #require(try one.identity(server, number: 1))
        #expect(first.accessGroups == ["F.a", AccessGroup(one.path)])
        let second = try #require(try other.identity(server, number: 2))
        #expect(second.identifier == AppIdentifier(other.path) && second.identifier != first.identifier)
        #expect(second.accessGroups == [AccessGroup(other.path)])
    }

    @Test("AT: a path of more than 1024 bytes is no identifier")
    func longPath() throws {
        let server = try ProbeServer()
        let short = try CopiedProgram(server.path, in: String(repeating: "d/", count: 300) + "d")
        #expect(try short.identity(server, number: 1)?.identifier == AppIdentifier(short.path))
        let long = try CopiedProgram(server.path, in: String(repeating: "d/", count: 600) + "d")
        #expect(try long.identity(server, number: 2) == nil)
        #expect(server.reports.all.count == 1)
        #expect(server.reports.all.first?.contains("1024 bytes") == true)
    }

    private static let refusal = "org.varlink.service.PermissionDenied closed"

    @Test("AT: a process that connects and then executes another program is refused, told so once, and cut off")
    func connectThenExec() throws {
        let server = try ProbeServer()
        let attacker = try CopiedProgram(server.path)
        try attacker.start()
        try attacker.send("exec")
        // What another process of the attacker's asks over the same connection, once the program at the other end is not the attacker's any more.
        #expect(try attacker.line() == Self.refusal)
        #expect(server.peers.all.isEmpty)
        #expect(server.reports.all.count == 1)
        #expect(
            server.reports.all.first?.contains("process \(attacker.processID) of user \(getuid()) is refused") == true)
    }

    @Test("AT: a request that was read before the process executed another program is not answered")
    func execBetweenRequestAndAnswer() throws {
        let server = try ProbeServer()
        let attacker = try CopiedProgram(server.path)
        try attacker.start()
        try attacker.send("wait")
        let call = try server.calls.wait()[0]
        #expect(try call.connection.identity().identifier == AppIdentifier(attacker.path))
        try attacker.send("exec")
        #expect(try attacker.line() == "executed")
        call.reply(Empty())
        #expect(try attacker.line() == Self.refusal)
        #expect(server.reports.all.count == 1)
    }

    @Test("AT: a connection that outlives its process is nobody's")
    func passedOn() throws {
        let server = try ProbeServer()
        let attacker = try CopiedProgram(server.path)
        try attacker.start()
        try attacker.send("die")
        #expect(try attacker.line() == Self.refusal)
        #expect(server.peers.all.isEmpty)
        #expect(server.reports.all.count == 1)
    }

    @Test(
        "AT: a connection is not that of the process that later gets the number of the one that made it",
        .enabled(
            if: getuid() == 0 && access("/proc/sys/kernel/ns_last_pid", W_OK) == 0,
            "needs to choose the numbers of processes"))
    func numberUsedAgain() throws {
        let server = try ProbeServer()
        let attacker = try CopiedProgram(server.path)
        try attacker.start()
        try attacker.send("reuse")
        #expect(try attacker.line() == "\(attacker.processID) again")
        #expect(try attacker.line() == Self.refusal)
        #expect(server.peers.all.isEmpty)
    }

    @Test("A process that keeps what it is keeps its connection, however long")
    func unchanged() throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        try program.start()
        try program.send("wait")
        let call = try server.calls.wait()[0]
        // An upgrade puts another file at its path: what runs is what ran.
        try FileManager.default.moveItem(atPath: program.path, toPath: program.path + ".old")
        try FileManager.default.copyItem(atPath: program.path + ".old", toPath: program.path)
        call.reply(Empty())
        try program.send("receive")
        #expect(try program.line() == "reply open")
        #expect(server.reports.all.isEmpty)
    }

    @Test(
        "A program that is not dumpable is refused with an error that says so, and its connection stays",
        .enabled(if: getuid() != 0, "root sees through it"))
    func notDumpable() throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        try program.start()
        try program.send("hide")
        #expect(try server.peers.wait()[0] == nil)
        #expect(try program.line() == "reply open")
        #expect(server.reports.all.count == 1)
        #expect(server.reports.all.first?.contains("not dumpable") == true)
    }

    // MARK: Flatpak

    @Test(
        "A root directory with a .flatpak-info makes no Flatpak of a program",
        .enabled(if: getuid() == 0, "needs to change the root directory"))
    func fakeFlatpak() throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        try program.start()
        try program.send("chroot")
        let identity = try #require(try server.peers.wait()[0])
        #expect(identity.evidence == .executable)
        #expect(identity.identifier == AppIdentifier(program.path))
    }

    @Test(
        "A program in a sandbox of Flatpak's kind is known by its application id",
        .enabled(if: getuid() == 0, "needs to make a mount namespace"),
        arguments: ["writable", "privileged", "sandbox"])
    func flatpak(_ kind: String) throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        try program.start()
        try program.send(kind)
        let identity = try #require(try server.peers.wait()[0])
        // The twins: the file can be written, or the program could still gain privileges.
        #expect((identity.evidence == .flatpak) == (kind == "sandbox"))
        #expect((identity.identifier == "flatpak:org.example.App") == (kind == "sandbox"))
    }

    @Test(
        "AT: a sandbox of Flatpak's kind whose file cannot be parsed is nobody: the app can have Flatpak write such a line",
        .enabled(if: getuid() == 0, "needs to make a mount namespace"))
    func malformedFlatpak() throws {
        let server = try ProbeServer()
        let program = try CopiedProgram(server.path)
        try program.start()
        try program.send("malformed")
        #expect(try server.peers.wait()[0] == nil)
    }

    @Test func theApplicationInFlatpakInfo() {
        func name(_ text: String) -> String? { PeerIdentities.application(inFlatpakInfo: Data(text.utf8)) }
        #expect(name("[Application]\nname=org.example.App\nruntime=x\n\n[Instance]\nname=other\n") == "org.example.App")
        #expect(name("# first\n[Instance]\nname=other\n[Application]\n name = org.example.App \n") == "org.example.App")
        #expect(name("[Runtime]\nname=org.example.App\n") == nil)
        #expect(name("[Application]\nname=\n") == nil)
        #expect(name("[Application]\nruntime=x\n") == nil)
        #expect(name("name=org.example.App\n[Application]\n") == nil)
        #expect(name("[Application]\nname=a\nname=b\n") == nil)
        #expect(name("[Application]\nname=a\n[Application]\nname=b\n") == nil)
        #expect(name("") == nil)
        #expect(PeerIdentities.application(inFlatpakInfo: Data([0x5B, 0xFF, 0x5D])) == nil)
    }

    @Test(
        arguments: [
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.example.App-4711.scope",
                "org.example.App"
            ),
            ("/app.slice/app-flatpak-org.example.my\\x2dapp-1.scope", "org.example.my-app"),
            ("/app.slice/app-gnome-org.example.App-1.scope", nil), ("/app.slice/app-flatpak-.scope", nil),
            ("/app.slice/app-flatpak-1.scope", nil), ("/app-flatpak-org.example.App-1.scope/inner", nil), ("", nil),
        ] as [(String, String?)])
    func scopesOfFlatpak(_ path: String, _ name: String?) {
        #expect(PeerIdentities.flatpak(inControlGroup: path) == name)
    }

    @Test(
        arguments: [
            ("snap.firefox.firefox (enforce)", true), ("snap.firefox.hook.install (complain)\n", true),
            ("unconfined\n", false), ("snap.firefox", false), ("snap.firefoxx.a (enforce)", false),
            ("/usr/bin/snap.firefox.firefox (enforce)", false), ("", false),
        ])
    func labelsOfSnaps(_ label: String, _ isOne: Bool) {
        #expect(PeerIdentities.isLabel(label, ofSnap: "firefox") == isOne)
    }

    // MARK: manifests

    @Test("KC-40: a program has the groups that its manifest gives to its path, then its own, then application groups")
    func manifestOfAProgram() throws {
        let manifests = try ManifestDirectory()
        let server = try ProbeServer(manifests: [manifests.directory])
        let copy = try CopiedProgram(server.path)
        #expect(try copy.identity(server, number: 1)?.accessGroups == [AccessGroup(copy.path)])
        try manifests.write(
            "a.conf",
            "[Application]\nIdentity=\(copy.path)\nName=Copy\nFamily=F\nkeychain-access-groups=F.b;F.a;\napplication-groups=group.x\n"
        )
        let identity = try #require(try copy.identity(server, number: 2))
        #expect(identity.identifier == AppIdentifier(copy.path))
        #expect(identity.name == "Copy")
        #expect(identity.accessGroups == ["F.b", "F.a", AccessGroup(copy.path), "group.x"])
        #expect(identity.keychainAccessGroups == ["F.b", "F.a"] && identity.applicationGroups == ["group.x"])
        #expect(identity.hasPinnedDigest == nil)
        #expect(server.reports.all.isEmpty)
    }

    @Test("A manifest with a digest is for the program of that digest, and another at its path is another app")
    func pinnedProgram() throws {
        let manifests = try ManifestDirectory()
        let server = try ProbeServer(manifests: [manifests.directory])
        let copy = try CopiedProgram(server.path)
        try manifests.write(
            "a.conf",
            "[Application]\nIdentity=\(copy.path)\nName=Copy\nFamily=F\nkeychain-access-groups=F.a\nSHA256=\(try Self.digest(copy.path))\n"
        )
        let identity = try #require(try copy.identity(server, number: 1))
        #expect(identity.identifier == AppIdentifier(copy.path))
        #expect(identity.accessGroups == ["F.a", AccessGroup(copy.path)])
        #expect(identity.hasPinnedDigest == true)
        try copy.setLastByte(1)
        let other = try #require(try copy.identity(server, number: 2))
        #expect(other.identifier == "\(copy.path) (other digest)")
        #expect(other.accessGroups == [other.identifier])
        #expect(other.hasPinnedDigest == false)
    }

    @Test("An executable is read before its process is identified only where a manifest names digests")
    func readsNoExecutableForNothing() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let manifests = try ManifestDirectory()
        func peer() throws -> Peer {
            let identities = PeerIdentities(
                ownerID: getuid(), manifests: manifests.manifests(), readsElsewhere: true, report: { _ in })
            return try #require(identities.peer(ofSocket: ends[0]))
        }
        let digest = try Self.digest("/proc/self/exe")
        let plain = try peer()
        #expect(plain.isReady { Issue.record("it was ready before") })
        #expect(try #require(plain.identify()).executableDigest == nil)
        // Whoever is told of it hears the digest all the same.
        let told = Events<String?>()
        if let known = plain.digest({ told.append($0.value) }) { told.append(known.value) }
        #expect(try told.wait() == [digest])
        try manifests.write(
            "a.conf", "[Application]\nIdentity=/usr/bin/other\nName=Other\nFamily=F\nSHA256=\(digest)\n")
        let pinned = try peer()
        let ready = Events<Void>()
        if pinned.isReady({ ready.append(()) }) { ready.append(()) }
        _ = try ready.wait()
        #expect(try #require(pinned.identify()).executableDigest == digest)
    }

    @Test(.enabled(if: getuid() != 0, "root is every device's user"))
    func anotherUsersProcessIsNoApp() throws {
        let server = try ProbeServer(ownerID: getuid() + 1)
        #expect(try server.connect().echo("who") == "who")
        #expect(try server.peers.wait()[0] == nil)
    }

    // MARK: whom bridges ask for

    private static func identities(owner: UInt32 = getuid()) -> PeerIdentities {
        PeerIdentities(ownerID: owner, manifests: AppManifests([], report: { _ in }), report: { _ in })
    }

    private static func start(of process: Int32) throws -> Int64 {
        Int64(try #require(ProcessStatus(directory: "/proc/\(process)")).started)
    }

    @Test("ND-1: a process is known by its number and its start, as a peer is; with another start it is not found")
    func clients() throws {
        let program = try CopiedProgram("")
        try program.start()
        let (identities, process) = (Self.identities(), program.processID)
        let start = try Self.start(of: process)
        let client = try #require(identities.client(.init(processID: process, startTicks: start)))
        #expect(client.processID == process)
        #expect(client.identify()?.executableDigest == (try Self.digest(program.path)))
        for other in [start - 1, start + 1, 0, -1, .max] {
            #expect(identities.client(.init(processID: process, startTicks: other)) == nil)
        }
        for number in [0, -1, Int32.min] {
            #expect(identities.client(.init(processID: number, startTicks: start)) == nil)
        }
        kill(process, SIGKILL)
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while client.isUnchanged(), Date() < limit { usleep(1000) }
        #expect(!client.isUnchanged())
        #expect(identities.client(.init(processID: process, startTicks: start)) == nil)
    }

    @Test("ND-1: a process of another user is no client, whoever asks") func anothersClient() throws {
        let process = Process()
        // As root another user's is begun; else this one is another's to somebody else's device.
        process.executableURL = URL(fileURLWithPath: getuid() == 0 ? "/usr/bin/setpriv" : "/bin/sleep")
        process.arguments =
            getuid() == 0 ? ["--reuid=4242", "--clear-groups", "/bin/sleep", "60"] : ["60"]
        try process.run()
        defer { process.terminate() }
        let number = process.processIdentifier
        let user = getuid() == 0 ? UInt32(4242) : getuid()
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while ProcessStatus.effectiveUserID(directory: "/proc/\(number)") != user, Date() < limit { usleep(1000) }
        let client = ClientProcess(processID: number, startTicks: try Self.start(of: number))
        #expect(Self.identities(owner: user + 1).client(client) == nil)
        #expect(Self.identities(owner: user).client(client) != nil)
    }

    @Test("ND-1: touchstone-peers watches a client that is who it is said to be, and no other") func remoteClients()
        throws
    {
        var ends: [Int32] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        let (near, far) = (ends[0], ends[1])
        defer { close(near) }
        let turns = PeerTurns(manifests: AppManifests([], report: { _ in }), report: { _ in })
        Thread.detachNewThread { answerPeerQuestions(on: far, turns: turns, report: { _ in }) }
        func watch(_ start: Int64, owner: UInt32 = getuid()) throws -> Bool {
            var question = PeerQuestion(kind: .watch, processID: getpid(), userID: owner, ownerID: owner)
            question.startTicks = start
            let descriptor = touchstone_pidfd_of(getpid())
            defer { close(descriptor) }
            #expect(PeerMessage.send(question, descriptor, to: near))
            let answer = try #require(PeerMessage.receive(PeerAnswer.self, from: near))
            if answer.descriptor >= 0 { close(answer.descriptor) }
            if answer.descriptor >= 0 { #expect(answer.value.userID == getuid()) }
            return answer.descriptor >= 0
        }
        let start = try Self.start(of: getpid())
        #expect(try watch(start))
        #expect(try !watch(start + 1))
        if getuid() != 0 { #expect(try !watch(start, owner: getuid() + 1)) }
    }

    private static func digest(_ path: String) throws -> String {
        SHA256.hash(data: try Data(contentsOf: URL(fileURLWithPath: path))).map { String(format: "%02x", $0) }.joined()
    }
}
