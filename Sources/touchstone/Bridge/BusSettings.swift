import Foundation

/// Which program the session's bus starts for desktop passwords, and whether gnome-keyring starts with the session (SS-50).
enum BusSettings {
    /// Stands before the file of the same name in `/usr/share`.
    static var path: String {
        let data = ConfigurationFiles.absolute("XDG_DATA_HOME") ?? "\(ConfigurationFiles.home)/.local/share"
        return "\(data)/dbus-1/services/org.freedesktop.secrets.service"
    }

    static let activation = Data(
        """
        [D-BUS Service]
        Name=org.freedesktop.secrets
        Exec=/bin/false
        SystemdService=touchstone-secret-service.service

        """.utf8)

    /// What starts gnome-keyring's part for passwords in a session.
    static let keyringAutostart = "/etc/xdg/autostart/gnome-keyring-secrets.desktop"

    /// Stands before it.
    static var autostartPath: String { "\(ConfigurationFiles.directory)/autostart/gnome-keyring-secrets.desktop" }

    static let hidden = Data("[Desktop Entry]\nType=Application\nName=Secret Storage Service\nHidden=true\n".utf8)
}
