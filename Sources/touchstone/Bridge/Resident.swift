import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// A bridge's program that stays, and what starts it: its manifest and its user units.
enum Resident: String, CaseIterable {
    case sshAgent = "touchstone-ssh-agent"
    case credentials = "touchstone-credentials"

    var program: Program { self == .sshAgent ? .sshAgent : .credentials }

    /// What prompts call it.
    private var name: String { self == .sshAgent ? "Touchstone's ssh agent" : "Touchstone's passwords" }

    /// For the units' descriptions.
    private var purpose: String {
        self == .sshAgent ? "its ssh agent" : "its passwords for git, docker and commands"
    }

    private var socketName: String { self == .sshAgent ? "ssh-agent.sock" : "credentials.sock" }

    /// Where clients find it: the directory that also has the sockets of this user's own devices.
    var socket: String {
        DevicePaths(name: DevicePaths.defaultName).runtime.deletingLastPathComponent().path + "/" + socketName
    }

    var socketUnit: String { "\(rawValue).socket" }
    var serviceUnit: String { "\(rawValue).service" }

    /// What runs it without systemd.
    var foreground: String { "\(rawValue) --socket \(socket)" }

    /// The manifest with which prompts name the program that asks (ND-2).
    func manifest(executable: String) -> String {
        "[Application]\nIdentity=\(executable)\nName=\(name)\nActsForClients=true\n"
    }

    /// Its user units by their names.
    ///
    /// system/systemd-user has the same ones for `/usr/bin`, which a package installs.
    func units(executable: String) -> [(name: String, text: String)] {
        [
            (
                socketUnit,
                """
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
            (
                serviceUnit,
                """
                [Unit]
                Description=Touchstone: \(purpose)
                Documentation=man:\(rawValue)(1)
                Requires=\(socketUnit)
                After=\(socketUnit)

                [Service]
                ExecStart=\(Self.quoted(executable))
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

                """
            ),
        ]
    }

    /// Beside the service's own unit: for which device it works.
    func deviceUnit(_ device: String) -> (name: String, text: String) {
        ("\(serviceUnit).d/device.conf", "[Service]\nEnvironment=TOUCHSTONE_DEVICE=\(device)\n")
    }

    /// As systemd.service(5) wants a path that may have spaces, `%` or `$`.
    static func quoted(_ path: String) -> String {
        let escaped = path.replacingOccurrences(of: "%", with: "%%").replacingOccurrences(of: "$", with: "$$")
        guard path.contains(where: { " \t'\"\\;".contains($0) }) else { return escaped }
        return "\""
            + escaped.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
    }

    /// Its executable, as the kernel names it.
    func executable() throws -> String { try program.realPath() }

    /// Whether a package's units start this very program.
    func hasPackagedUnits(executable: String) -> Bool {
        executable == "/usr/bin/\(rawValue)"
            && FileManager.default.fileExists(atPath: "/usr/lib/systemd/user/\(socketUnit)")
    }
}
