import Foundation
import Glibc
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// All that enabling a bridge comes to on this machine, before anything is done.
struct BridgePlan {
    let bridge: Bridge
    private(set) var changes = ChangePlan()
    /// Whether systemd has to be told.
    private(set) var startsUnit = false
    /// Whether another program may have passwords that are brought in first (SS-52).
    private var imports = false
    /// What is left to the owner: sentences.
    private(set) var remarks: [String] = []
    /// What stays as it is, and matters: lines.
    private var kept: [String] = []

    /// Looks at the machine, and changes nothing.
    ///
    /// - Parameters:
    ///   - bridge: What is enabled.
    ///   - paths: The device, which has to answer.
    ///   - replaces: Whether a foreign helper of git's or docker's gives way.
    ///   - bringsIn: Whether another program's passwords are brought in first.
    /// - Throws: `Failure` if there is no such device, or something else has the place (BR-5).
    init(_ bridge: Bridge, _ paths: DevicePaths, replaces: Bool, bringsIn: Bool = true) throws {
        self.bridge = bridge
        device = paths.name
        if !paths.isSystem { try DeviceDirectory.check(paths) }
        let isSimulated = try DeviceClient(paths).status.isSimulated
        let resident = bridge.resident
        let executable = try resident.executable()
        guard !resident.isRootsAlone || (paths.isSystem && resident.hasSystemUnits(executable: executable)) else {
            throw Failure(
                .refused,
                "passkeys need the system's device and the installed package, because root opens /dev/uhid for them; "
                    + "'sudo touchstone setup' makes the device")
        }
        if paths.isSystem, resident.hasSystemUnits(executable: executable) {
            // A unit of the user's would not be known from any other program of theirs.
            guard resident.isSystemService else {
                throw Failure(
                    .refused,
                    "your device is the system's, and root starts what asks it. Run this, then run this command again: "
                        + resident.rootCommand("enable"))
            }
        } else {
            guard paths.isSystem || !resident.isSystemService(for: paths) else {
                throw Failure(
                    .refused,
                    "git, docker and 'touchstone run' ask the system's \(resident.rawValue) first. To have them ask "
                        + "\(paths.name), run this, then run this command again: \(resident.rootCommand("disable"))")
            }
            try planProgram(resident, executable, paths, isSimulated)
        }
        switch bridge {
        case .ssh: try planSSH(resident.socket(for: paths))
        case .credentials: break
        case .git: try planGit(replaces)
        case .docker: try planDocker(replaces)
        case .secretService: try planSecretService(bringsIn)
        case .pkcs11: try planPKCS11(resident.socket(for: paths))
        case .fido: break
        }
        isDone = try changes.steps.isEmpty && !startsUnit && ChangeRecord.read().enabled.contains(.bridge(bridge))
    }

    private let device: String
    /// Whether there is nothing to do, and `disable` knows of it.
    private(set) var isDone = false

    /// What happens, line by line.
    var lines: [String] {
        if bridge == .fido { return Self.passkeys }
        if changes.steps.isEmpty, !startsUnit { return ["changes no file, because everything is in place"] }
        return (imports ? ["brings in the passwords of gnome-keyring, if it has some, and ends it"] : [])
            + changes.lines + kept
            + (startsUnit ? ["runs systemctl --user enable --now \(bridge.resident.firstUnit)"] : [])
    }

    /// What passkeys mean for their owner.
    private static let passkeys = [
        "programs on this computer see a security key; each use of it asks you for your finger or passcode",
        "which program asks is not known, so read the website's name in each prompt",
        "passkeys never leave this computer, and are lost with it; register a second security key at each website",
    ]

    /// What starts the resident program as one of the user's own, and says what it is.
    private mutating func planProgram(
        _ resident: Resident, _ executable: String, _ paths: DevicePaths, _ isSimulated: Bool
    ) throws {
        try planManifest(resident, executable, paths, isSimulated)
        if UserManager.isRunning {
            try planUnits(resident, executable, paths)
            startsUnit =
                changes.hasUnits || !UserManager.isEnabled(resident.firstUnit)
                || !BridgeProbe.answers(resident, for: paths)
        } else if !BridgeProbe.answers(resident, for: paths) {
            remarks.append("Your user systemd does not run here, so start it yourself: \(resident.foreground)")
        }
    }

    private mutating func planManifest(
        _ resident: Resident, _ executable: String, _ paths: DevicePaths, _ isSimulated: Bool
    ) throws {
        let manifests = resident.manifests(executable: executable, command: try Program.ownPath())
        guard !isSimulated || paths.isSystem else {
            for manifest in manifests {
                try changes.change(
                    paths.state.appendingPathComponent("apps.d/\(manifest.name)").path, for: .resident(resident),
                    manifest.name == "touchstone.conf"
                        ? "'touchstone item' and 'touchstone run' then have the same secrets"
                        : "prompts then name the program that asks"
                ) { _ in Data(manifest.text.utf8) }
            }
            return
        }
        guard try !AppReport(ExecutedFile(executable), paths).actsForClients else { return }
        let commands = manifests.map { manifest in
            let line = manifest.text.split(separator: "\n")
                .map { "'\($0.replacingOccurrences(of: "'", with: "'\\''"))'" }.joined(separator: " ")
            return "printf '%s\\n' \(line) | sudo install -D -m 644 /dev/stdin /etc/touchstone/apps.d/\(manifest.name)"
        }
        remarks.append(
            "Prompts name \(resident.rawValue) until root writes its manifest. They name the program that asks after "
                + "this: \(commands.joined(separator: "; "))")
    }

    private mutating func planUnits(_ resident: Resident, _ executable: String, _ paths: DevicePaths) throws {
        if !UserUnit.arePackaged(resident.firstUnit, for: executable) {
            try changes.write(
                resident.units(executable: executable), for: .resident(resident),
                "systemd starts the program " + (resident.isOnBus ? "with your session" : "when it is used"))
        }
        try changes.write(
            [.choosing(paths.name, for: resident.serviceUnit)], for: .resident(resident),
            "it uses the device \(paths.name)")
    }

    // MARK: who asks it

    private mutating func planSSH(_ socket: String) throws {
        let settings = try ConfigurationFiles.read(SSHSettings.path) ?? Data()
        if let line = SSHSettings.otherAgent(than: socket, in: settings) {
            throw Failure(
                .refused,
                "\(ConfigurationFiles.shown(SSHSettings.path)) names another agent for all hosts in line \(line); remove "
                    + "that line, or put it behind a 'Host' of its own, and run this again")
        }
        try changes.change(
            SSHSettings.path, for: .bridge(.ssh),
            "ssh, scp and git ask Touchstone's agent. Key files still work. ssh no longer asks another agent, such as gnome-keyring's or "
                + "ssh-agent"
        ) {
            SSHSettings.naming(socket, in: $0)
        }
        let other = ProcessInfo.processInfo.environment["SSH_AUTH_SOCK"] ?? ""
        if !other.isEmpty, other != socket {
            remarks.append(
                "SSH_AUTH_SOCK names another agent, and stays. ssh-add and 'git commit -S' ask that one. Before you use them, "
                    + "type this in that terminal: export SSH_AUTH_SOCK=\(socket)")
        } else if UserManager.isRunning {
            try changes.change(
                SSHSettings.environmentPath, for: .bridge(.ssh), "ssh-add and ssh-keygen find it after your next login"
            ) { _ in
                SSHSettings.environment(socket)
            }
            if other.isEmpty {
                remarks.append("Until your next login, in each terminal: export SSH_AUTH_SOCK=\(socket)")
            }
        } else if other.isEmpty {
            remarks.append("ssh-add and ssh-keygen find it after: export SSH_AUTH_SOCK=\(socket)")
        }
    }

    private mutating func planGit(_ replaces: Bool) throws {
        let helper = GitSettings.helper(try Program.gitHelper.realPath())
        let path = GitSettings.path
        let found = try GitSettings.helpers(in: ConfigurationFiles.read(path) ?? Data())
        let others = try GitSettings.otherHelpers(than: path)
        for other in others where !other.isForAll {
            let place = PlainText.line(String(other.key.dropFirst("credential.".count).dropLast(".helper".count)))
            kept.append(
                other.name.isEmpty
                    ? "does not change \(ConfigurationFiles.shown(other.origin)): git does not ask Touchstone for \(place)"
                    : "does not change \(ConfigurationFiles.shown(other.origin)): git also gives passwords of \(place) to "
                        + "'\(PlainText.line(other.name))'")
        }
        guard found != [helper], found != ["", helper] else {
            return remarks += kept
        }
        try mind(
            // An empty one says that the machine's helpers are not asked.
            found.filter { !GitSettings.isOurs($0) }.map { $0.isEmpty ? "(empty)" : $0 }.joined(separator: ", "),
            "git's credential.helper", path, replaces)
        // git would ask these first, and give them each password to keep. An empty helper turns them off.
        let general = others.filter { $0.isForAll && !GitSettings.isOurs($0.name) }
        try mind(
            found.contains("") ? "" : general.map(\.name).joined(separator: ", "), "git's credential.helper",
            general.first?.origin ?? path, replaces)
        try changes.change(path, for: .bridge(.git), "git asks Touchstone for passwords", kind: .git, previous: found) {
            try GitSettings.setting(general.isEmpty ? [helper] : ["", helper], in: $0)
        }
    }

    private mutating func planDocker(_ replaces: Bool) throws {
        let helper = try Program.dockerHelper.realPath()
        let path = DockerSettings.path
        let found = try ConfigurationFiles.read(path).flatMap { DockerSettings.store(in: $0) }
        if found != DockerSettings.name {
            try mind(found ?? "", "docker's credsStore", path, replaces)
            try changes.change(
                path, for: .bridge(.docker), "docker keeps passwords in Touchstone", kind: .docker,
                previous: found.map { [$0] } ?? []
            ) {
                guard let changed = try DockerSettings.setting(DockerSettings.name, in: $0) else {
                    throw Failure(
                        .refused,
                        "\(ConfigurationFiles.shown(path)) cannot be changed safely; put \"credsStore\": \"touchstone\" into it yourself"
                    )
                }
                return changed
            }
        }
        if Program.onPath(Program.dockerHelper.name) == nil {
            let directory = (helper as NSString).deletingLastPathComponent
            remarks.append("docker finds \(Program.dockerHelper.name) after: export PATH=\(directory):$PATH")
        }
    }

    private mutating func planSecretService(_ bringsIn: Bool) throws {
        guard UserManager.isRunning else {
            throw Failure(.refused, "the Secret Service is started by your user systemd, which does not run here")
        }
        // While this service runs, or once the bus starts it, no other program is asked.
        if !UserManager.isActive(bridge.resident.serviceUnit) {
            try mindOwner()
            imports = try bringsIn && ConfigurationFiles.read(BusSettings.path) != BusSettings.activation
        }
        try changes.change(BusSettings.path, for: .bridge(bridge), "programs find Touchstone on the session's bus") {
            _ in
            BusSettings.activation
        }
        let portal = PortalSettings()
        if let remark = portal.remark {
            remarks.append(remark)
        } else {
            kept.append("answers Flatpak apps, too, which ask for the key of their passwords")
        }
        if FileManager.default.fileExists(atPath: BusSettings.keyringAutostart) {
            try changes.change(
                BusSettings.autostartPath, for: .bridge(bridge), "gnome-keyring does not start for passwords"
            ) { _ in BusSettings.hidden }
        }
    }

    private mutating func planPKCS11(_ socket: String) throws {
        try changes.change(
            PKCS11Settings.path, for: .bridge(bridge), "programs that use p11-kit's modules find the token"
        ) { _ in PKCS11Settings.module(socket) }
        let address = PKCS11Settings.address(socket)
        let other = ProcessInfo.processInfo.environment["P11_KIT_SERVER_ADDRESS"] ?? ""
        let here = "export P11_KIT_SERVER_ADDRESS=\(address)"
        if !other.isEmpty, other != address {
            remarks.append(
                "P11_KIT_SERVER_ADDRESS names another token, and stays. For a program that loads p11-kit-client.so, type this "
                    + "in its terminal: \(here)")
        } else if UserManager.isRunning {
            try changes.change(
                PKCS11Settings.environmentPath, for: .bridge(bridge),
                "programs that load p11-kit-client.so find it after your next login"
            ) { _ in PKCS11Settings.environment(socket) }
            if other.isEmpty { remarks.append("Until your next login, in each terminal: \(here)") }
        } else if other.isEmpty {
            remarks.append("Programs that load p11-kit-client.so find it after: \(here)")
        }
        if !PKCS11Settings.hasClient {
            remarks.append("Programs need p11-kit-client.so, which is in the package p11-kit-modules")
        }
    }

    /// gnome-keyring gives way to the Secret Service; nobody else does (BR-5).
    private func mindOwner() throws {
        let (ending, output) = try Child.output(bridge.resident.executable(), ["owner"])
        guard ending != .exited(0) else { return }
        let name = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !name.isEmpty else { throw Failure(.refused, "your session's bus does not answer") }
        throw Failure(
            .refused,
            "\(PlainText.line(name)) keeps the passwords of desktop programs now. Turn that off in its settings, or end it, and "
                + "run this again")
    }

    /// Something else is never replaced silently (BR-5).
    private func mind(_ other: String, _ place: String, _ path: String, _ replaces: Bool) throws {
        guard other.isEmpty || replaces else {
            throw Failure(
                .refused,
                "\(place) in \(ConfigurationFiles.shown(path)) is '\(PlainText.line(other))'. To use Touchstone in its place, add "
                    + "--replace; 'touchstone bridge disable \(bridge.rawValue)' puts it back")
        }
    }

    // MARK: doing it

    /// Does all of it.
    ///
    /// What fails in the middle leaves a record with which `disable` puts back what was done.
    func carryOut() throws {
        let resident = bridge.resident
        if imports {
            guard try resident.run("import", for: device) == .exited(0) else {
                throw Failure(.refused, "no setting was changed, because not every password could be brought in")
            }
            // The bus may have started one to be asked.
            try mindOwner()
        }
        try changes.carryOut(enabling: .bridge(bridge))
        guard startsUnit else { return }
        try UserManager.control("daemon-reload")
        try UserManager.control(["stop", resident.serviceUnit] + (resident.isOnBus ? [] : [resident.socketUnit]))
        try UserManager.control("enable", "--now", resident.firstUnit)
    }
}
