import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// A bridge's program that stays, and what starts it: its manifest and its user units.
enum Resident: String, CaseIterable {
    case sshAgent = "touchstone-ssh-agent"
    case credentials = "touchstone-credentials"
    case secretService = "touchstone-secret-service"
    case pkcs11 = "touchstone-pkcs11"
    case fido = "touchstone-fido"

    /// All that differs from program to program.
    private struct Row {
        /// What prompts call it.
        var name: String
        /// For the units' descriptions.
        var purpose: String
        /// Under which its changes are recorded.
        var bridge: Bridge
        /// What it is asked to see whether it answers.
        var probe = Data(#"{"method":"org.varlink.service.GetInfo","parameters":{}}"#.utf8)
    }

    private var row: Row {
        switch self {
        // The list of ssh keys, whose answer begins with a length, so that its first byte ends it as a message of Varlink's.
        case .sshAgent:
            Row(
                name: "Touchstone's ssh agent", purpose: "its ssh agent", bridge: .ssh, probe: Data([0, 0, 0, 1, 11]))
        case .credentials:
            Row(
                name: "Touchstone's passwords", purpose: "its passwords for git, docker and commands",
                bridge: .credentials)
        case .secretService:
            Row(
                name: "Touchstone's Secret Service", purpose: "the Secret Service of desktop programs",
                bridge: .secretService)
        // The version that this client would speak; the answer is one zero, which ends it as a message.
        case .pkcs11:
            Row(
                name: "Touchstone's PKCS#11 token", purpose: "its PKCS#11 token", bridge: .pkcs11, probe: Data([0]))
        case .fido: Row(name: "Touchstone's passkeys", purpose: "its passkeys", bridge: .fido)
        }
    }

    private var name: String { row.name }
    private var purpose: String { row.purpose }
    /// Under which its changes are recorded, whichever bridge was enabled first.
    var bridge: Bridge { row.bridge }
    /// What shows no prompt, and has an answer.
    var probe: Data { row.probe }

    var program: Program { .ofBridges(rawValue) }

    /// Whether clients find it on the session's bus, where it is from the session's start on (SS-45); else at a socket, which starts it.
    var isOnBus: Bool { self == .secretService }

    private var socketName: String { rawValue.dropFirst("touchstone-".count) + ".sock" }

    /// Where clients find it: the socket of the system's service if it is theirs, else the one of this user's own.
    func socket(for device: DevicePaths) -> String { isSystemService(for: device) ? systemSocket : ownSocket }

    /// Whether clients ask the system's service.
    ///
    /// ssh asks the socket that it is told, so this depends on the device. Programs that want passwords ask the system's service first.
    func isSystemService(for device: DevicePaths) -> Bool {
        isSystemService && (device.isSystem || self == .credentials)
    }

    /// In the directory that also has the sockets of this user's own devices.
    private var ownSocket: String {
        DevicePaths(name: DevicePaths.defaultName).runtime.deletingLastPathComponent().path + "/" + socketName
    }

    /// Where it is as a service of the system's, which no other program of the user can act as (BR-2).
    private var systemSocket: String { "/run/touchstone/\(getuid())/\(socketName)" }

    /// Whether root has enabled it for this user.
    var isSystemService: Bool { unsafe access(systemSocket, F_OK) == 0 }

    /// What root runs to enable it for this user, or to disable it.
    ///
    /// Passkeys have to be there before anybody asks, so the service itself is enabled, and brings its socket.
    func rootCommand(_ verb: String) -> String {
        "sudo systemctl \(verb) --now \(rawValue)@\(getuid()).\(isRootsAlone ? "service" : "socket")"
    }

    /// Whether only root can start it, because it is handed what no program of the user's may open (FD-3).
    var isRootsAlone: Bool { self == .fido }

    /// Whether a package brought the system's units of this very program.
    func hasSystemUnits(executable: String) -> Bool {
        executable == "/usr/bin/\(rawValue)" && hasSystemUnits
    }

    /// Whether a package brought the system's units of any such program.
    var hasSystemUnits: Bool {
        FileManager.default.fileExists(atPath: "/usr/lib/systemd/system/\(rawValue)@.socket")
    }

    var socketUnit: String { "\(rawValue).socket" }
    var serviceUnit: String { "\(rawValue).service" }
    /// What is enabled, and starts all else.
    var firstUnit: String { isOnBus ? serviceUnit : socketUnit }

    /// What runs it without systemd.
    var foreground: String { "\(rawValue) --socket \(ownSocket)" }

    /// The manifests by their files' names: its own, with which prompts name the program that asks (ND-2), and for passwords that of
    /// this command, so that both have what `touchstone item` keeps (EX-10).
    ///
    /// system/apps has the same ones for `/usr/bin`, which the packages install.
    func manifests(executable: String, command: String) -> [(name: String, text: String)] {
        guard !isRootsAlone else { return [] }
        let own = "[Application]\nIdentity=\(executable)\nName=\(name)\nActsForClients=true\n"
        guard self == .credentials else { return [("\(rawValue).conf", own)] }
        let group = "Family=touchstone\napplication-groups=\(ItemStore.sharedGroup)\n"
        return [
            ("\(rawValue).conf", own + group),
            ("touchstone.conf", "[Application]\nIdentity=\(command)\nName=Touchstone\n" + group),
        ]
    }

    /// Its user units by their names.
    func units(executable: String) -> [UserUnit] {
        isRootsAlone ? [] : isOnBus ? [busUnit(executable)] : socketUnits(executable)
    }

    private static let confinement = """
        # Nothing here makes a namespace: from inside one the program could not see which programs ask it.
        SystemCallFilter=@system-service
        SystemCallFilter=~@privileged @resources
        SystemCallFilter=prlimit64 setrlimit
        SystemCallArchitectures=native
        SystemCallErrorNumber=EPERM
        NoNewPrivileges=yes
        RestrictAddressFamilies=AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        UMask=0077
        LimitCORE=0
        TasksMax=512
        MemoryMax=512M

        """

    private func busUnit(_ executable: String) -> UserUnit {
        UserUnit(
            name: serviceUnit,
            text: """
                [Unit]
                Description=Touchstone: \(purpose)
                Documentation=man:\(rawValue)(1)
                Requires=dbus.socket
                After=dbus.socket
                # A program that does not find it may throw away what it had encrypted: it is started again for ever.
                StartLimitIntervalSec=0

                [Service]
                # Not by its name on the bus: systemd would end it together with the program whose name it takes.
                Type=notify
                ExecStart=\(UserUnit.quoted(executable)) --bus unix:path=%t/bus --replace
                Restart=always
                RestartSec=1

                """ + Self.confinement + """

                    [Install]
                    WantedBy=default.target

                    """)
    }

    private func socketUnits(_ executable: String) -> [UserUnit] {
        [
            UserUnit(
                name: socketUnit,
                text: """
                    [Unit]
                    Description=Touchstone: the socket of \(purpose)
                    Documentation=man:\(rawValue)(1)

                    [Socket]
                    ListenStream=%t/touchstone/\(socketName)
                    SocketMode=0600
                    DirectoryMode=0700
                    # The kernel says of each message who sent it, also of one that came before the program ran.
                    PassCredentials=yes
                    RemoveOnStop=yes

                    [Install]
                    WantedBy=sockets.target

                    """
            ),
            UserUnit(
                name: serviceUnit,
                text: """
                    [Unit]
                    Description=Touchstone: \(purpose)
                    Documentation=man:\(rawValue)(1)
                    Requires=\(socketUnit)
                    After=\(socketUnit)

                    [Service]
                    ExecStart=\(UserUnit.quoted(executable))

                    """ + Self.confinement
            ),
        ]
    }

    /// Runs one of its own commands, which says by itself what it did.
    func run(_ command: String, for device: String) throws -> Child.Ending {
        unsafe setenv("TOUCHSTONE_DEVICE", device, 1)
        return try Child.start(
            try executable(), [command],
            inheriting: [
                (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDOUT_FILENO)),
                (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0
        ).wait()
    }

    /// Its executable, as the kernel names it.
    func executable() throws -> String { try program.realPath() }
}
