import ArgumentParser
import Foundation
import TouchstoneSystem

/// What `touchstone session` can have started with the owner's session.
enum SessionPart: String, CaseIterable, ExpressibleByArgument {
    case device, window

    static let socketTemplate = "touchstone@.socket"
    static let windowService = "touchstone-agent.service"

    /// The units of every device of one's own, by the path of this command.
    static func deviceUnits(executable: String) -> [UserUnit] {
        [
            UserUnit(
                name: socketTemplate,
                text: """
                    [Unit]
                    Description=Touchstone: the socket of the device %i
                    Documentation=man:touchstone(1)

                    [Socket]
                    ListenStream=%t/touchstone/%i/touchstoned.sock
                    SocketMode=0600
                    DirectoryMode=0700
                    Backlog=1024
                    # The kernel says of each message who sent it, also of one that came before the device ran.
                    PassCredentials=yes
                    RemoveOnStop=yes

                    [Install]
                    WantedBy=sockets.target

                    """
            ),
            UserUnit(
                name: "touchstone@.service",
                text: """
                    [Unit]
                    Description=Touchstone: the device %i
                    Documentation=man:touchstone(1)
                    Requires=touchstone@%i.socket
                    After=touchstone@%i.socket

                    [Service]
                    Type=notify
                    NotifyAccess=main
                    ExecStart=\(UserUnit.quoted(executable)) device boot --foreground %i
                    # The supervisor ends its daemons itself.
                    KillMode=mixed
                    TimeoutStartSec=30
                    TimeoutStopSec=10
                    # Nothing here makes a namespace: from inside one the device could not see which programs ask it.
                    NoNewPrivileges=yes
                    UMask=0077
                    LimitCORE=0
                    TasksMax=512
                    MemoryMax=1536M

                    """
            ),
        ]
    }

    /// The unit of the window, by the path of touchstone-agent.
    static func windowUnit(executable: String) -> UserUnit {
        UserUnit(
            name: windowService,
            text: """
                [Unit]
                Description=Touchstone: the window of its prompts
                PartOf=graphical-session.target
                After=graphical-session.target
                ConditionEnvironment=|WAYLAND_DISPLAY
                ConditionEnvironment=|DISPLAY

                [Service]
                ExecStart=\(UserUnit.quoted(executable))
                Restart=on-failure
                RestartSec=1
                Slice=session.slice
                LimitCORE=0

                [Install]
                WantedBy=graphical-session.target

                """)
    }

    /// The device whose prompts the window shows, by the user's own files; nil: nothing names one.
    static var windowDevice: String? {
        UserUnit.chosenDevice(for: windowService)
            ?? (try? ConfigurationFiles.read(autostartPath)).flatMap(device(ofAutostart:))
    }

    // MARK: desktops that systemd does not start

    static let autostartName = "io.touchstone.Agent.desktop"

    /// Where the user's own is.
    static var autostartPath: String { "\(ConfigurationFiles.directory)/autostart/\(autostartName)" }

    /// Whether a package starts this very program.
    static func isAutostartPackaged(for executable: String) -> Bool {
        executable.hasPrefix("/usr/bin/") && isAutostartPackaged
    }

    /// Whether a package starts the window for every user.
    static var isAutostartPackaged: Bool {
        FileManager.default.fileExists(atPath: "/etc/xdg/autostart/\(autostartName)")
    }

    /// Whether `disable` hid the package's entry from this user's desktop.
    static var isAutostartHidden: Bool {
        get throws { try ConfigurationFiles.read(autostartPath) == Data(hiddenAutostart.utf8) }
    }

    /// The window for desktops that systemd does not start.
    ///
    /// - Parameters:
    ///   - executable: touchstone-agent.
    ///   - device: The device, if it is not the one that is meant anyway.
    /// - Returns: The text of the desktop entry.
    static func autostart(executable: String, device: String?) -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=Touchstone
        Comment=Shows prompts for the fingerprint sensor and the passcode
        Exec=\(quotedForDesktop(executable))\(device.map { " --device \($0)" } ?? "")
        Icon=dialog-password
        NoDisplay=true
        # Sessions that systemd manages have the user unit.
        X-systemd-skip=true

        """
    }

    /// In the user's own place it hides the package's entry of the same name, as the Desktop Application Autostart Specification says.
    static let hiddenAutostart = """
        [Desktop Entry]
        Type=Application
        Name=Touchstone
        # Written by 'touchstone session disable window'; 'enable' removes it.
        Hidden=true

        """

    /// The device that the text of a desktop entry names.
    static func device(ofAutostart entry: Data) -> String? {
        let line = String(decoding: entry, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Exec=") }
        guard let line, let option = line.range(of: " --device ", options: .backwards) else { return nil }
        let name = String(line[option.upperBound...])
        return DevicePaths.isValid(name: name) ? name : nil
    }

    /// As the Desktop Entry Specification wants a path that may have spaces or `%`.
    static func quotedForDesktop(_ path: String) -> String {
        let escaped = path.replacingOccurrences(of: "%", with: "%%")
        guard escaped.contains(where: { " \t\n\"'\\><~|&;$*?#()`".contains($0) }) else { return escaped }
        // Once for the argument, and once for the string that it stands in.
        let argument = escaped.reduce(into: "") { $0 += "\"`$\\".contains($1) ? "\\\($1)" : "\($1)" }
        return "\"\(argument.replacingOccurrences(of: "\\", with: "\\\\"))\""
    }
}
