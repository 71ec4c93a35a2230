import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The program that stays, as a service of the user's systemd.
enum SyncService {
    static let name = "touchstone-sync.service"

    /// The packages install the same one, of system/systemd-user.
    static func unit(executable: String) -> UserUnit {
        UserUnit(
            name: name,
            text: """
                [Unit]
                Description=Touchstone: synchronizable items on all your devices
                Documentation=man:touchstone-sync(8)

                [Service]
                ExecStart=\(UserUnit.quoted(executable))
                Restart=on-failure
                RestartSec=5
                # No store, which a new start does not change.
                RestartPreventExitStatus=78
                # Nothing here makes a namespace: from inside one the device could not see which program asks it.
                SystemCallFilter=@system-service
                SystemCallFilter=~@privileged @resources
                SystemCallFilter=prlimit64 setrlimit
                SystemCallArchitectures=native
                SystemCallErrorNumber=EPERM
                NoNewPrivileges=yes
                RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
                RestrictNamespaces=yes
                RestrictRealtime=yes
                RestrictSUIDSGID=yes
                LockPersonality=yes
                MemoryDenyWriteExecute=yes
                UMask=0077
                LimitCORE=0
                TasksMax=64
                MemoryMax=1G

                [Install]
                WantedBy=default.target

                """)
    }

    /// What starts it.
    static func startCommand(_ paths: DevicePaths) -> String {
        isUnit(paths) ? "systemctl --user start \(name)" : "TOUCHSTONE_DEVICE=\(paths.name) touchstone-sync &"
    }

    private static func isUnit(_ paths: DevicePaths) -> Bool {
        UserManager.isRunning && UserUnit.chosenDevice(for: name) == paths.name
    }

    /// Has the user's systemd run it from now on and after each login; without one says what to type.
    static func start(_ paths: DevicePaths) throws {
        guard UserManager.isRunning else {
            return StandardOutput.say("Now start synchronizing: \(startCommand(paths))")
        }
        if let other = UserUnit.chosenDevice(for: name), other != paths.name {
            return StandardOutput.say(
                "touchstone-sync runs for the device \(other) already. Start it for this one: \(startCommand(paths))")
        }
        let executable = try Program.ofSync.realPath()
        let choice = UserUnit.choosing(paths.name, for: name)
        let isPackaged = UserUnit.arePackaged(name, for: executable)
        for unit in [choice] + (isPackaged ? [] : [unit(executable: executable)]) {
            _ = try ConfigurationFiles.makeDirectories(above: unit.path)
            try ConfigurationFiles.write(Data(unit.text.utf8), unit.path)
        }
        try UserManager.control("daemon-reload")
        try UserManager.control("enable", name)
        try UserManager.control("restart", name)
        StandardOutput.say("touchstone-sync runs now, and after each login: systemctl --user status \(name)")
    }

    /// Ends it, and has it start no more.
    static func stop(_ paths: DevicePaths) throws {
        guard isUnit(paths) else { return }
        try UserManager.control("disable", "--now", name)
    }

    /// Whether one runs for this device.
    static func isRunning(_ paths: DevicePaths) -> Bool {
        let folder = DevicePaths.devices().deletingLastPathComponent().path
        let lock = unsafe open("\(folder)/sync/\(paths.name).json.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        return flock(lock, LOCK_SH | LOCK_NB) != 0
    }
}
